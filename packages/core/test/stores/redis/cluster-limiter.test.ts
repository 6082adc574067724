// A limiter with several subjects, or several limits of one, on a real cluster.
import { deployCluster, eventually, testPrefix, type Deployment } from '@tollgate/testing'
import { Cluster } from 'ioredis'
import { createLimiter, redisStore, type Decision } from '../../../src/index.js'
import { shardOf } from '../../../src/requests/key.js'
import { hashSlotFor } from '../../../src/stores/redis/layout.js'
import { closesWithTest, endFaults } from '../../support/faults.js'

describe('a limiter on a real cluster', () => {
  let deployment: Deployment
  let client: Cluster
  beforeAll(async () => {
    deployment = await deployCluster()
    const nodes = deployment.ports.map((port) => ({ host: '127.0.0.1', port }))
    client = new Cluster(nodes, {
      retryDelayOnFailover: 0,
      enableOfflineQueue: false,
      clusterRetryStrategy: () => 50,
    })
  })
  afterEach(endFaults)
  afterAll(async () => {
    client.disconnect()
    await deployment.end()
  })

  test('everything of one subject is atomic: plan, group and stacked limits are in one slot', async () => {
    const prefix = testPrefix()
    const store = redisStore(client, { prefix })
    const limiter = closesWithTest(
      createLimiter({ limit: '9/min', store, deadlineMs: 5000, onStoreFailure: 'closed' }),
    )
    const exports = limiter.scope({ group: 'exports', limit: '8/min', stacked: { guard: '3/min' } })
    const decisions = await Promise.all(Array.from({ length: 12 }, () => exports.consume('acme')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(3)
    // A denial in one step reports all limits, and takes from none.
    const denied = decisions.at(-1)
    expect([denied?.violated, denied?.limits.map(({ remaining }) => remaining)]).toEqual([
      ['guard.minute'],
      [5, 0],
    ])
    const keys = (await Promise.all(deployment.operators.map((one) => one.keys(`${prefix}/*acme*`)))).flat()
    expect(keys).toHaveLength(2)
    expect(new Set(keys.map(hashSlotFor)).size).toBe(1)
  })

  test("sixteen requests at once of organisation and user: the user's limit holds, and no more count", async () => {
    const store = redisStore(client, { prefix: testPrefix() })
    const plans = { org: '1000/h', user: '50/h burst 1' } as const
    const limiter = closesWithTest(
      createLimiter({ plans, store, deadlineMs: 5000, onStoreFailure: 'closed' }),
    )
    const user = Array.from({ length: 99 }, (_, i) => `user${i}`).find(
      (id) => shardOf(id, 16) !== shardOf('org', 16),
    )
    const subjects = [
      { id: 'org', plan: 'org' },
      { id: user as string, plan: 'user' },
    ]
    const left = async (): Promise<unknown> =>
      (await limiter.peek({ id: 'org', plan: 'org' })).limits[0]?.remaining
    const decisions = await Promise.all(Array.from({ length: 16 }, () => limiter.consume(subjects)))
    const allowed = decisions.filter((decision) => decision.allowed)
    expect(allowed).toHaveLength(1)
    await eventually(async () => expect(await left()).toBe(999))
    expect(await limiter.refund(allowed[0] as Decision)).toBe(true)
    expect(await left()).toBe(1000)
  })
})
