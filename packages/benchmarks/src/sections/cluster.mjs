// A cluster of 1, 2 and 3 primaries: a decision beside a bare command to its slot. All of them share the cores that
// Redis has in this run, so more shards do not mean more computing power here.
import { startCluster } from '@tollgate/testing/redis'
import { Cluster } from 'ioredis'
import { incr, tollgate } from '../kit/contenders.mjs'
import { pinTo } from '../kit/cores.mjs'
import { LIMITS } from '../kit/field.mjs'
import { closedLoop, MODES } from '../kit/load.mjs'
import { takeTurns, timed } from '../kit/rounds.mjs'
import * as names from '../names.mjs'

export async function measure({ placement, rounds, cellMs, isQuick }) {
  const grids = {}
  for (const primaries of [1, 2, 3]) {
    // A node that never met another does not know its own address.
    const args = ['--cluster-announce-ip', '127.0.0.1']
    const cluster = await startCluster({ primaries, replicas: 0, args })
    try {
      if (placement === 'apart') for (const { pid } of cluster.nodes) pinTo(pid, 1)
      const client = await connect(cluster)
      for (const inFlight of [1, 64]) {
        const cell = cellOf({ inFlight, ms: cellMs })
        grids[`${primaries} x ${inFlight}`] = await takeTurns(field(client), isQuick ? 3 : rounds, cell)
      }
      client.disconnect()
    } finally {
      await cluster.stop()
    }
  }
  return grids
}

async function connect({ nodes }) {
  const client = new Cluster(
    nodes.map(({ port }) => ({ port, host: '127.0.0.1' })),
    {
      ...{ retryDelayOnFailover: 0, enableOfflineQueue: false, clusterRetryStrategy: () => 50 },
      redisOptions: { autoResendUnfulfilledCommands: false },
    },
  )
  client.on('error', () => {})
  if (client.status !== 'ready') await new Promise((resolve) => client.once('ready', resolve))
  return client
}

function field(client) {
  return new Map([
    [names.INCR, incr(client)],
    ...Object.entries(LIMITS).map(([name, limit]) => [name, tollgate(client, limit)]),
    [names.INCR_AGAIN, incr(client)],
  ])
}

function cellOf({ inFlight, ms }) {
  return async (_name, contender) => {
    const load = (lasting) => closedLoop(contender, MODES.allowed.idOf(), { inFlight, ms: lasting })
    await load(ms / 2)
    const { result, wallUs, nodeUs } = await timed(() => load(ms))
    if (result.denied > 0) throw new Error('A request was denied')
    return { perSecond: (result.decisions * 1e6) / wallUs, nodeUs: nodeUs / result.decisions }
  }
}
