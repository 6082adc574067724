// Decisions on Memcached with 64 in flight: over 1000 tenants, of one hot tenant, and a flood of one that is denied.
import { startMemcached } from '@tollgate/testing/memcached'
import { pinTo } from '../../kit/cores.mjs'
import { checkDenied, closedLoop, useUp } from '../../kit/load.mjs'
import { deniersOf, fieldOf, openClients, openMonitor } from '../../kit/memcached.mjs'
import { takeTurns, timed } from '../../kit/rounds.mjs'

const IN_FLIGHT = 64
const TENANTS = Array.from({ length: 1000 }, (_, i) => `tenant-${i}`)
/** Once a second the counter of the window before is read, of every tenant: so long a cell has that in it once. */
const STEADY_MS = 1000
/** A quota that nobody uses up, and one that is used up at once and does not come back meanwhile. */
const OPEN = { quota: 1e9, windowMs: 60_000 }
const CLOSED = { quota: 1000, windowMs: 600_000 }

export async function measure({ placement, rounds, cellMs, isQuick }) {
  const server = await startMemcached({ args: ['-m', '256'] })
  if (placement === 'apart') pinTo(server.pid, 1)
  const clients = openClients(server.address)
  const monitor = await openMonitor(server.port)
  const grid = (contenders, cell) => takeTurns(contenders, rounds, cellOf({ monitor, cellMs, ...cell }))
  try {
    return {
      tenants: await grid(fieldOf(clients, OPEN), {
        idOf: (i) => TENANTS[i % TENANTS.length],
        cellMs: isQuick ? cellMs : STEADY_MS,
      }),
      hot: await grid(fieldOf(clients, OPEN), { idOf: () => 'hot', cellMs: 2 * cellMs }),
      flood: await grid(deniersOf(clients, CLOSED), { idOf: () => 'flood', isDenied: true }),
    }
  } finally {
    monitor.close()
    clients.close()
    await server.kill()
  }
}

function cellOf({ monitor, cellMs, idOf, isDenied = false }) {
  const load = (contender, ms) => closedLoop(contender, idOf, { inFlight: IN_FLIGHT, ms })
  return async (_name, contender, round) => {
    if (isDenied && round === 0) await useUp(contender, idOf(0), 2 * CLOSED.quota)
    await load(contender, Math.min(cellMs / 2, 200))
    const before = await monitor.work()
    const { result, wallUs, nodeUs } = await timed(() => load(contender, cellMs))
    const after = await monitor.work()
    checkDenied(isDenied ? 'flood' : 'allowed', result)
    const each = (figure) => (after[figure] - before[figure]) / result.decisions
    return {
      perSecond: (result.decisions * 1e6) / wallUs,
      nodeUs: nodeUs / result.decisions,
      serverUs: each('cpuUs'),
      changes: each('changes'),
      reads: each('reads'),
    }
  }
}
