// Shards of one store fail separately: each has a breaker, for all requests.
import { eventually } from '@tollgate/testing'
import { createLimiter, type Limiter, type LimiterOptions, type Store } from '../../src/index.js'
import { shardOf } from '../../src/requests/key.js'
import { failingStore, type FailingStore } from '../../src/testing.js'
import { closesWithTest, endFaults } from '../support/faults.js'
import { comesToStay } from '../support/outage.js'
import { clusterStore, idsApart, SHARDS } from '../support/shards.js'

afterEach(endFaults)

const [HERE, THERE, OTHER] = idsApart(3) as [string, string, string]
const shardOfId = (id: string): number => shardOf(id, SHARDS)

/** A limiter on a cluster whose shards can fail, and the shards that were asked. */
function start(options: Partial<LimiterOptions> = {}): {
  limiter: Limiter
  cluster: FailingStore
  asked: number[]
  states: string[]
} {
  const cluster = failingStore(clusterStore())
  const asked: number[] = []
  const consume: Store['consume'] = (batch, call) => {
    asked.push(batch[0]?.shard ?? 0)
    return cluster.consume(batch, call)
  }
  const store = { ...cluster, consume }
  const limiter = createLimiter({
    limit: '100/h',
    store,
    deadlineMs: 5000,
    local: { instances: 1 },
    warnings: false,
    ...options,
  } as LimiterOptions)
  const states: string[] = []
  limiter.on('breaker', ({ state, shard }) => states.push(`${shard} ${state}`))
  return { limiter: closesWithTest(limiter), cluster, asked, states }
}

test('a dead second shard opens its own breaker only, and the first shard keeps deciding', async () => {
  const { limiter, cluster, states } = start()
  cluster.shard(shardOfId(THERE)).down()
  for (const subjects of [
    [HERE, THERE],
    [THERE, HERE],
  ]) {
    for (let i = 0; i < 10; i += 1) expect((await limiter.consume(subjects)).allowed).toBe(true)
  }
  expect(states).toEqual([`${shardOfId(THERE)} open`])
  expect(limiter.health()).toMatchObject({ status: 'degraded', openShards: [shardOfId(THERE)] })
  expect((await limiter.consume(HERE)).source).toBe('store')
  expect((await limiter.peek(HERE)).limits[0]?.remaining).toBe(79)
  cluster.heal()
  await eventually(() => limiter.health().status === 'ok')
  expect(states).toEqual(['open', 'half-open', 'closed'].map((state) => `${shardOfId(THERE)} ${state}`))
  await comesToStay(async () => (await limiter.peek(THERE)).limits[0]?.remaining ?? -1, 80)
})

test('under closed, units of one shard go back when another cannot answer, and the reason says so', async () => {
  const { limiter, cluster } = start({ onStoreFailure: 'closed' })
  cluster.shard(shardOfId(THERE)).down()
  for (let i = 0; i < 8; i += 1) {
    expect(await limiter.consume([HERE, THERE])).toMatchObject({
      allowed: false,
      source: 'closed',
      reason: 'store-unavailable',
      limits: [],
    })
  }
  await comesToStay(async () => (await limiter.peek(HERE)).limits[0]?.remaining ?? -1, 100)
})

test('a shard with an open breaker is not asked for joint requests, either', async () => {
  const { limiter, cluster, asked } = start({ onStoreFailure: 'open' })
  cluster.shard(shardOfId(THERE)).down()
  for (let i = 0; i < 3; i += 1) await limiter.consume(THERE)
  expect(limiter.health().status).toBe('degraded')
  asked.length = 0
  for (let i = 0; i < 5; i += 1) {
    expect(await limiter.consume([HERE, THERE])).toMatchObject({ allowed: true, source: 'open' })
  }
  expect(asked.filter((one) => one === shardOfId(HERE))).toHaveLength(5)
  // Except for probes, every 250 ms.
  expect(asked.filter((one) => one === shardOfId(THERE)).length).toBeLessThan(3)
})

describe('each subject has the policy of its own plan, and all must allow', () => {
  const plans = {
    open: { limits: '2/h', onStoreFailure: 'open' },
    closed: { limits: '2/h', onStoreFailure: 'closed' },
    local: { limits: '2/h', onStoreFailure: 'local' },
    other: { limits: '9/h', onStoreFailure: 'local' },
  } as const
  type Name = keyof typeof plans
  const subjectsOf = (names: readonly Name[]): { id: string; plan: Name }[] =>
    names.map((plan, i) => ({ id: [HERE, THERE, OTHER][i] as string, plan }))

  test.each<[Name[], string]>([
    [['open', 'closed'], 'closed store-unavailable'],
    [['closed', 'local'], 'closed store-unavailable'],
    [['local', 'closed', 'open'], 'closed store-unavailable'],
    [['open', 'open'], 'open ok, open ok, open ok'],
    [['open', 'local'], 'local ok, local ok, local quota-exceeded'],
    [['other', 'local'], 'local ok, local ok, local quota-exceeded'],
  ])('%p', async (names, expected) => {
    const { limiter, cluster } = start({ limit: undefined as never, plans })
    cluster.down()
    const said: string[] = []
    for (let i = 0; i < 3; i += 1) {
      const { source, reason = 'ok' } = await limiter.consume(subjectsOf(names))
      said.push(`${source} ${reason}`)
    }
    expect([...new Set(said)].join(', ')).toBe([...new Set(expected.split(', '))].join(', '))
    expect(said.filter((one) => one.endsWith('ok')).length).toBe(
      expected.split(', ').filter((one) => one.endsWith('ok')).length,
    )
  })

  test('units limited locally for a request that another policy denied are not charged', async () => {
    const { limiter, cluster } = start({ limit: undefined as never, plans })
    cluster.down()
    for (let i = 0; i < 5; i += 1) {
      expect((await limiter.consume(subjectsOf(['local', 'closed']))).source).toBe('closed')
    }
    const [alone] = subjectsOf(['local'])
    expect(await limiter.consume(alone as { id: string; plan: Name }, { cost: 2 })).toMatchObject({
      allowed: true,
      source: 'local',
    })
    cluster.heal()
    await eventually(() => limiter.health().status === 'ok')
    await eventually(() => expect(limiter.stats().reconciled).toEqual({ units: 2, dropped: 0 }))
  })

  test('in one shard, too: each subject has its own policy, in one step', async () => {
    const same = [HERE, ...Array.from({ length: 500 }, (_, i) => `same${i}`)].filter(
      (id) => shardOfId(id) === shardOfId(HERE),
    )
    const { limiter, cluster } = start({ limit: undefined as never, plans })
    cluster.down()
    const ask = async (...names: Name[]): Promise<string> =>
      (await limiter.consume(names.map((plan, i) => ({ id: same[i] as string, plan })))).source
    expect(await ask('local', 'closed')).toBe('closed')
    expect([await ask('open', 'local'), await ask('open', 'local')]).toEqual(['local', 'local'])
    const third = await limiter.consume([
      { id: same[0] as string, plan: 'open' },
      { id: same[1] as string, plan: 'local' },
    ])
    expect(third).toMatchObject({ allowed: false, violated: ['local.hour'], reason: 'quota-exceeded' })
  })
})
