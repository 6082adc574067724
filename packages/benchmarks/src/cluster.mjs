// npm run bench -- --cluster: a real cluster of three primaries, with batches per shard and with one call per request.
import { startCluster } from '@tollgate/testing/redis'
import { createLimiter, redisStore } from '@tollgate/core'
import { Cluster } from 'ioredis'
import { closedLoop } from './load.mjs'
import { median } from './statistics.mjs'

const ROUNDS = 7
const CELL_MS = 300
const PLANS = {
  'token-bucket': '1000000/min burst 1000000',
  'sliding-log 100/min': { quota: 1_000_000, window: 'min', precision: '500ms' },
  '3 limits': ['100000/s burst 100000', '1000000/min burst 1000000', '10000000/h burst 10000000'],
}

const cluster = await startCluster({ primaries: 3, replicas: 0 })
const client = new Cluster(
  cluster.nodes.map(({ port }) => ({ port, host: '127.0.0.1' })),
  {
    retryDelayOnFailover: 0,
    enableOfflineQueue: false,
    redisOptions: { autoResendUnfulfilledCommands: false },
  },
)
client.on('error', () => {})
if (client.status !== 'ready') await new Promise((resolve) => client.once('ready', resolve))

/** The same store with one call per request, like in a limiter without batches. */
function oneAtATime(store) {
  const apart = (how) => async (batch, call) =>
    (await Promise.all(batch.map((request) => store[how]([request], call)))).flat()
  return {
    synchronous: false,
    atomic: store.atomic,
    shards: store.shards,
    clock: store.clock,
    ready: () => store.ready(),
    consume: apart('consume'),
    peek: apart('peek'),
    refund: (batch) => store.refund(batch),
    reset: (keys, shard) => store.reset(keys, shard),
  }
}

function contender(limit, prefix, wrap = (store) => store) {
  const store = wrap(redisStore(client, { prefix }))
  const limiter = createLimiter({ limit, store, deadlineMs: 10_000, local: { instances: 1 } })
  return {
    decide: (id) => limiter.consume(id),
    isRight: ({ allowed, source }) => allowed && source === 'store',
  }
}

process.stdout.write(
  '| plan | in flight | batches, decisions/s | one at a time | batches / one at a time |\n|---|---|---|---|---|\n',
)
for (const [i, [plan, limit]] of Object.entries(PLANS).entries()) {
  const batches = contender(limit, `batches-${i}`)
  const single = contender(limit, `single-${i}`, oneAtATime)
  for (const inFlight of [1, 64, 512]) {
    const rates = { batches: [], single: [] }
    for (let round = -1; round < ROUNDS; round += 1) {
      const order =
        round % 2
          ? [
              ['batches', batches],
              ['single', single],
            ]
          : [
              ['single', single],
              ['batches', batches],
            ]
      for (const [name, one] of order) {
        const done = await closedLoop(one, inFlight, CELL_MS)
        // Round -1 warms up.
        if (round >= 0) rates[name].push((done / CELL_MS) * 1000)
      }
    }
    const ratio = median(rates.batches.map((rate, i) => rate / rates.single[i]))
    const [fast, slow] = [rates.batches, rates.single].map((all) => Math.round(median(all)))
    process.stdout.write(`| ${plan} | ${inFlight} | ${fast} | ${slow} | ${ratio.toFixed(2)} |\n`)
  }
}
client.disconnect()
await cluster.stop()
process.exit(0)
