// `nearLimit` over several processes, with and without leases: never more than once a share and window, and not missed.
import { cases, eventually, testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import { createLimiter, redisStore, type Limiter, type PlanInput } from '../../../src/index.js'
import { closeBenches, redisOfAnotherProcess } from '../../support/benches.js'
import { clusterOf } from '../../roads/road.js'

const PROCESSES = 4
const SHARES = [0.25, 0.5, 0.8, 0.9, 1]

const servers = Array.from({ length: PROCESSES }, redisOfAnotherProcess)
let cluster: Awaited<ReturnType<typeof clusterOf>>

beforeAll(async () => {
  cluster = await clusterOf(PROCESSES)
})

afterAll(async () => {
  await cluster.stop()
  closeBenches()
})

const rounds = fc.array(
  fc.array(fc.record({ by: fc.nat({ max: PROCESSES - 1 }), cost: fc.constantFrom(1, 1, 1, 3, 20) }), {
    minLength: 1,
    maxLength: 60,
  }),
  { minLength: 1, maxLength: 6 },
)

const limits = { quota: 200, window: 'h' } as const
const plans: Readonly<Record<string, PlanInput>> = {
  'a log': { limits, warnAt: SHARES },
  'a window with overage': { limits: { ...limits, overage: true }, warnAt: SHARES },
  'a log with leases': { limits, warnAt: SHARES, lease: true },
  'a bucket with leases': { limits: { ...limits, algorithm: 'token-bucket' }, warnAt: SHARES, lease: true },
}

describe.each(['one server', 'a cluster'])('on %s', (where) => {
  test.each(Object.keys(plans))('%s', async (name) => {
    await fc.assert(
      fc.asyncProperty(rounds, async (all) => {
        const prefix = testPrefix()
        const clients = where === 'a cluster' ? cluster.clients : servers
        const heard: number[] = []
        const limiters = clients.map((client): Limiter => {
          const store = redisStore(client as never, { prefix })
          const limiter = createLimiter({
            ...{ plans: { free: plans[name] as PlanInput }, store, deadlineMs: 30_000 },
            onStoreFailure: 'closed',
          })
          limiter.on('nearLimit', ({ share }) => void heard.push(share))
          return limiter
        })
        for (const round of all) {
          await Promise.all(round.map(async ({ by, cost }) => limiters[by]?.consume('acme', { cost })))
        }
        await eventually(() => limiters.every((limiter) => limiter.stats().pending === 0))
        expect(heard.toSorted()).toEqual([...new Set(heard)].sort())
        const [state] = (await limiters[0]?.peek('acme'))?.limits ?? []
        const passed = SHARES.filter((share) => (state?.used ?? 0) >= share * limits.quota)
        // Units on lease that came back may have passed a share before.
        if (passed.length > 0) expect(Math.max(...heard)).toBeGreaterThanOrEqual(passed.at(-1) as number)
        else if (!name.includes('lease')) expect(heard).toEqual([])
        await Promise.all(limiters.map(async (limiter) => limiter.close()))
      }),
      { numRuns: cases(10, 100) },
    )
  })
})

test('a mark goes with its window, and is under the tag of its subject', async () => {
  const prefix = testPrefix()
  const limiter = createLimiter({
    ...{ plans: { free: { limits: ['4/h', '9/2h'], warnAt: [0.5] } }, deadlineMs: 30_000 },
    store: redisStore(cluster.clients[0] as never, { prefix }),
  })
  await limiter.consume('acme', { cost: 4 })
  await limiter.consume('acme', { cost: 1 })
  await eventually(() => limiter.stats().pending === 0)
  const nodes = cluster.clients[0]?.nodes('master') ?? []
  const found = await Promise.all(
    nodes.map(async (node) => {
      const keys = await node.keys(`${prefix}*acme*`)
      return Promise.all(keys.map(async (key) => [key.replace(prefix, ''), await node.pttl(key)] as const))
    }),
  )
  const keys = found.filter((all) => all.length > 0)
  expect(keys).toHaveLength(1)
  const all = (keys[0] ?? []).map(([key, ttl]) => [key.replace(/^.*\}/, ''), ttl] as const)
  expect(all.map(([key]) => key).toSorted()).toEqual([
    '/acme',
    expect.stringMatching(/^\/acme%\d+\.4\.0\.0\.5$/),
  ])
  for (const [key, ttl] of all)
    expect([key, ttl <= (key === '/acme' ? 7_201_000 : 3_601_000)]).toEqual([key, true])
  await limiter.close()
})

test('a reset in another process is noticed within a minute', async () => {
  const prefix = testPrefix()
  const clock = { now: 1_769_862_896_789 }
  const [one, other] = servers.slice(0, 2).map((client) =>
    createLimiter({
      ...{ plans: { free: { limits: '10/h', warnAt: [0.5] } }, deadlineMs: 30_000 },
      store: redisStore(client as never, { prefix, now: () => clock.now }),
    }),
  ) as [Limiter, Limiter]
  const heard: number[] = []
  for (const limiter of [one, other]) limiter.on('nearLimit', ({ used }) => void heard.push(used))
  const use = async (cost: number): Promise<void> => {
    await one.consume('acme', { cost })
    await eventually(() => one.stats().pending === 0)
  }
  await use(5)
  await other.reset('acme')
  clock.now += 60_001
  await use(6)
  expect(heard).toEqual([5, 6])
  for (const limiter of [one, other]) await limiter.close()
})
