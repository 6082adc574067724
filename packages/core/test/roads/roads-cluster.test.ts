import { startCluster, testPrefix, type RedisCluster, cases } from '@tollgate/testing'
import { Cluster } from 'ioredis'
import { createLimiter, redisStore } from '../../src/index.js'
import { describeLaws, forEachOf, playOn, seeds } from './many.js'
import type { Road } from './road.js'
import { Tally } from './tally.js'

const tally = new Tally()
let cluster: RedisCluster
let client: Cluster

const road: Road = {
  name: 'cluster',
  grouping: 'subjects',
  limiter: (options, clock) => {
    const store = redisStore(client, { prefix: testPrefix(), now: () => clock.now })
    return createLimiter({
      ...options,
      store,
      deadlineMs: 10_000,
      onStoreFailure: 'closed',
      local: { instances: 1 },
    })
  },
}

beforeAll(async () => {
  cluster = await startCluster({ primaries: 3, replicas: 0 })
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  client = new Cluster(nodes, { redisOptions: { disconnectTimeout: 100 } })
  await forEachOf(seeds(cases(20, 150)), async (seed) =>
    tally.add(road.name, (await playOn(road, seed)).case),
  )
})

afterAll(async () => {
  tally.print()
  client?.disconnect()
  await cluster?.stop()
})

describeLaws(tally, { road: road.name, laws: [1, 2, 3, 4, 7, 9, 10, 11], schedules: cases(12, 100) })
