import { startCluster, testPrefix, type RedisCluster, cases } from '@tollgate/testing'
import { Cluster } from 'ioredis'
import { redisStore } from '../../../src/index.js'
import { describeLeases, playLeases } from '../../roads/lease-many.js'
import type { LeaseRoad } from '../../roads/lease-play.js'
import { seeds } from '../../roads/many.js'
import { Tally } from '../../roads/tally.js'

const tally = new Tally()
let cluster: RedisCluster
const clients: Cluster[] = []

const road: LeaseRoad = {
  name: 'leases on a cluster',
  isInSteps: true,
  sendsClock: true,
  stores: (clock) => {
    const prefix = testPrefix()
    let processes = 0
    return () => {
      const client = clients[(processes += 1) % clients.length] as Cluster
      return redisStore(client, { prefix, now: () => clock.now })
    }
  },
}

beforeAll(async () => {
  cluster = await startCluster({ primaries: 3, replicas: 0 })
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  for (let i = 0; i < 3; i += 1)
    clients.push(
      new Cluster(nodes, {
        retryDelayOnFailover: 0,
        clusterRetryStrategy: () => 50,
        enableOfflineQueue: false,
        redisOptions: { disconnectTimeout: 100 },
      }),
    )
  await playLeases(road, seeds(cases(22, 34)), tally)
})

afterAll(async () => {
  tally.print()
  for (const client of clients) client.disconnect()
  await cluster?.stop()
})

describeLeases(tally, { road: road.name, schedules: cases(16, 30) })
