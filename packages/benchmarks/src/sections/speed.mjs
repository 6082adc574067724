// Decisions a second with 1, 64 or 512 in flight: all allowed, one flooded tenant, and half of each. Beside it the CPU
// time of Node and of Redis and the bytes on the wire.
import { everybody, only, QUOTA } from '../kit/field.mjs'
import { checkDenied, closedLoop, MODES, useUp } from '../kit/load.mjs'
import { serverWork } from '../kit/redis.mjs'
import { takeTurns, timed } from '../kit/rounds.mjs'
import * as names from '../names.mjs'

/** A bare INCR denies nothing: it stays the reference of all modes, the others are compared with. */
const ONLY_ALLOWED = [
  ...[names.SCRIPT, names.SCRIPT_BATCHES, names.INCR_PIPELINED, names.INCR_NODE_REDIS],
  names.BUCKET_NODE_REDIS,
]
const DENY_NOTHING = [names.INCR, names.INCR_AGAIN, ...ONLY_ALLOWED]

/** Not all modes with all loads: 1 and 512 in flight need one to show what a flood does. */
const MODES_OF = { 1: ['allowed', 'flood'], 64: ['allowed', 'flood', 'half'], 512: ['allowed', 'flood'] }

export async function measure(context) {
  const all = await everybody(context.clients)
  const limiters = only(
    all,
    [...all.keys()].filter((name) => !ONLY_ALLOWED.includes(name)),
  )
  await warmUp(all, context)
  const grids = {}
  for (const mode of MODES_OF[context.inFlight]) {
    const contenders = mode === 'allowed' ? all : limiters
    grids[mode] = await takeTurns(contenders, context.rounds, cellOf(context, mode))
  }
  return grids
}

/**
 * A service decides millions of requests. With one in flight, all cells of a contender have some ten thousand: in these the
 * engine would still be learning the longer code of some, and not that of others.
 */
async function warmUp(contenders, { cellMs }) {
  for (const contender of contenders.values())
    await closedLoop(contender, MODES.allowed.idOf(), { inFlight: 64, ms: 3 * cellMs })
}

function cellOf({ clients, monitor, inFlight, cellMs }, mode) {
  let cells = 0
  return async (name, contender) => {
    await clients.client.flushdb()
    const hot = `hot-${(cells += 1)}`
    const limits = !DENY_NOTHING.includes(name)
    if (mode !== 'allowed' && limits) await useUp(contender, hot, 2 * QUOTA)
    const idOf = MODES[mode].idOf(hot)
    await closedLoop(contender, idOf, { inFlight, ms: cellMs / 2 })
    const before = await serverWork(monitor)
    const { result, wallUs, nodeUs } = await timed(() =>
      closedLoop(contender, idOf, { inFlight, ms: cellMs }),
    )
    const after = await serverWork(monitor)
    if (limits) checkDenied(mode, result)
    const each = (figure) => (after[figure] - before[figure]) / result.decisions
    return {
      perSecond: (result.decisions * 1e6) / wallUs,
      nodeUs: nodeUs / result.decisions,
      serverUs: each('cpuUs'),
      bytesIn: each('bytesIn'),
      bytesOut: each('bytesOut'),
    }
  }
}
