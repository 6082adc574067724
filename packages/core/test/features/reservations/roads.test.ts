// Reservations among all that requests do, in memory, on one server and on a cluster.
import { startCluster, testPrefix, type RedisCluster, cases } from '@tollgate/testing'
import { Cluster, type Redis } from 'ioredis'
import { createLimiter, redisStore } from '../../../src/index.js'
import { benches, closeBenches, sharedRedis } from '../../support/benches.js'
import { describeLaws, forEachOf, playOn, seeds, type Played } from '../../roads/many.js'
import type { Road } from '../../roads/road.js'
import type { ScheduleOptions } from '../../roads/schedule.js'
import { Tally } from '../../roads/tally.js'

const tally = new Tally()
let cluster: RedisCluster
let client: Cluster
let reserved = 0

function onRedis(road: Pick<Road, 'name' | 'grouping'>, connect: () => Redis | Cluster): Road {
  return {
    ...road,
    limiter: (options, clock) => {
      const store = redisStore(connect(), { prefix: testPrefix(), now: () => clock.now })
      const local = { instances: 1 }
      return createLimiter({ ...options, store, deadlineMs: 10_000, onStoreFailure: 'closed', local })
    },
  }
}

const memory: Road = {
  name: 'memory',
  grouping: 'all',
  limiter: (options, clock) => (benches[0] as (typeof benches)[number]).limiter(options, clock),
}
const server = onRedis({ name: 'one server', grouping: 'all' }, sharedRedis)
const sharded = onRedis({ name: 'cluster', grouping: 'subjects' }, () => client)

/** Every other schedule has no bucket: those that have one give nothing back by refunds. */
function optionsOf(seed: number): ScheduleOptions {
  const kinds = ['log', 'coarse', 'window', 'fixed', 'hour', 'month'] as const
  return { reserves: true, ...(seed % 2 === 0 && { kinds }) }
}

async function play(road: Road, seed: number): Promise<Played> {
  const played = await playOn(road, seed, optionsOf(seed))
  reserved += played.case.reserved
  return played
}

/** Law 5: the server and memory give equal answers, up to the first race with a refund. */
async function playOnBoth(seed: number): Promise<void> {
  const here = await play(memory, seed)
  const { case: done, told } = await play(server, seed)
  const isWhole = done.isBroken || here.case.isBroken || told.length === here.told.length
  done.check(5, isWhole, () => `${told.length} answers here, ${here.told.length} in memory`)
  for (let i = 0; i < Math.min(told.length, here.told.length); i += 1) {
    done.check(5, told[i] === here.told[i], () => `${told[i]} here, ${here.told[i]} in memory`)
  }
  tally.add(server.name, done)
  tally.add(memory.name, here.case)
}

beforeAll(async () => {
  cluster = await startCluster({ primaries: 3, replicas: 0 })
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  client = new Cluster(nodes, { redisOptions: { disconnectTimeout: 100 } })
  await forEachOf(seeds(cases(18, 60)), playOnBoth)
  await forEachOf(seeds(cases(8, 25)), async (seed) =>
    tally.add(sharded.name, (await play(sharded, seed)).case),
  )
})

afterAll(async () => {
  tally.print()
  client?.disconnect()
  await cluster?.stop()
  await closeBenches()
})

const LAWS = [1, 2, 3, 4, 7, 9, 10, 11]
describeLaws(tally, { road: memory.name, laws: LAWS, schedules: cases(12, 50) })
describeLaws(tally, { road: server.name, laws: [...LAWS, 5], schedules: cases(12, 50) })
describeLaws(tally, { road: sharded.name, laws: LAWS, schedules: cases(4, 15) })

const isPart = process.env['TOLLGATE_ROADS_SEED'] ?? process.env['TOLLGATE_ROADS_COUNT']
const unlessPart = isPart === undefined ? test : test.skip
unlessPart('units were reserved', () => expect(reserved).toBeGreaterThan(cases(40, 150)))
