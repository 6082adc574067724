// Where warnings meet other features: room in memory, resets that race, requests in steps, ends of windows, changes of plans.
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '../../../src/index.js'
import { clusterOf } from '../../roads/road.js'
import { closeBenches, redisOfAnotherProcess, sharedRedis } from '../../support/benches.js'
import { asyncStore } from '../../support/stores.js'

afterAll(closeBenches)

const HALF = { free: { limits: '10/h', warnAt: [0.5] } } as const

function start(options: object): { limiter: Limiter; heard: string[] } {
  const limiter = createLimiter({ deadlineMs: 10_000, warnings: false, ...options } as LimiterOptions)
  const heard: string[] = []
  limiter.on('nearLimit', ({ subject, limit, share, used }) => {
    heard.push(`${subject.id} ${limit} ${share} ${used}`)
  })
  return { limiter, heard }
}

const settled = async (limiter: Limiter): Promise<unknown> => eventually(() => limiter.stats().pending === 0)
const isMark: (batch: Parameters<Store['consume']>[0]) => boolean = (batch) =>
  batch.some(({ parts }) => parts[0]?.key.includes('%'))

test.each([[], [0.25, 0.5, 0.75, 1]])('marks take no room from counters in memory', async (...warnAt) => {
  const store = memoryStore({ maxSubjects: 100 })
  const { limiter } = start({ plans: { free: { limits: '10/h', warnAt } }, store })
  for (let i = 0; i < 50; i += 1) await limiter.consume(`acme${i}`, { cost: 10 })
  const again = []
  for (let i = 0; i < 50; i += 1) again.push((await limiter.consume(`acme${i}`)).allowed)
  expect([again.includes(true), limiter.stats().evicted]).toEqual([false, 0])
})

test.each(['renew', 'reset'] as const)('another process warns again at once after a %s', async (what) => {
  const prefix = testPrefix()
  const plans = { free: { limits: { quota: 10, window: 'month', overage: true }, warnAt: [0.5, 1] } }
  const clients = [sharedRedis(), redisOfAnotherProcess()]
  const [here, there] = clients.map((client) => start({ plans, store: redisStore(client, { prefix }) })) as [
    ReturnType<typeof start>,
    ReturnType<typeof start>,
  ]
  await there.limiter.consume('acme', { cost: 10 })
  await settled(there.limiter)
  if (what === 'reset') await here.limiter.reset('acme')
  else await here.limiter.renew('acme', { limit: 'month', key: 'invoice-1' })
  for (const cost of [1, 5, 5]) {
    await there.limiter.consume('acme', { cost })
    await settled(there.limiter)
  }
  expect(there.heard).toEqual(['acme month 1 10', 'acme month 0.5 6', 'acme month 1 11'])
})

test('a reset takes back a mark that is under way', async () => {
  const inner = memoryStore()
  let refunded = 0
  const refund: Store['refund'] = async (batch) => {
    const answers = await inner.refund(batch)
    refunded += batch.length
    return answers
  }
  let release: (() => void) | undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  const consume: Store['consume'] = async (batch) => {
    if (isMark(batch)) await released
    return inner.consume(batch)
  }
  const { limiter, heard } = start({ plans: HALF, store: asyncStore({ consume, refund }, inner) })
  await limiter.consume('acme', { cost: 5 })
  await limiter.reset('acme')
  release?.()
  await settled(limiter)
  expect(heard).toEqual(['acme hour 0.5 5'])
  await eventually(() => refunded > 0)
  await limiter.consume('acme', { cost: 5 })
  await settled(limiter)
  expect(heard).toEqual(['acme hour 0.5 5', 'acme hour 0.5 5'])
  await limiter.close()
})

test.each([
  [
    'own limits of planOf',
    { plans: { free: '10/h' }, planOf: () => ({ limits: [{ quota: 10, window: 'h', warnAt: [0.5] }] }) },
  ],
  ['an override', { plans: { free: '10/h' } }],
  ['a factor', { plans: HALF }],
] as const)('a reset forgets the marks of %s', async (what, options) => {
  for (const store of [memoryStore(), redisStore(sharedRedis(), { prefix: testPrefix() })]) {
    const { limiter, heard } = start({ ...options, store })
    if (what === 'an override') {
      await limiter.override('acme', { limits: [{ quota: 10, window: 'h', warnAt: [0.5] }], for: '1h' })
    }
    if (what === 'a factor') await limiter.override('acme', { factor: 2, for: '1h' })
    for (let i = 0; i < 2; i += 1) {
      await limiter.consume('acme', { cost: 10 })
      await settled(limiter)
      await limiter.reset('acme')
    }
    expect(heard).toHaveLength(2)
    await limiter.close()
  }
})

test('a mark alone is nothing that a reset forgets', async () => {
  const { limiter } = start({ plans: HALF })
  await limiter.refund(await limiter.consume('acme', { cost: 5 }))
  expect(await limiter.reset('acme')).toBe(false)
})

describe('what a later step denies tells nothing', () => {
  const plans = { ...HALF, org: '100/h' }

  async function deny(store: Store): Promise<void> {
    const { limiter, heard } = start({ plans, defaultPlan: 'free', store })
    const orgs = Array.from({ length: 12 }, (_, i) => `org${i}`)
    for (const id of orgs) {
      await limiter.consume({ id, plan: 'org' }, { cost: 98 })
      const decision = await limiter.consume([{ id: 'acme' }, { id, plan: 'org' }] as never, { cost: 5 })
      expect(decision.violated).toEqual(['org.hour'])
    }
    await settled(limiter)
    expect(heard).toEqual([])
    await eventually(async () => (await limiter.peek('acme')).limits[0]?.used === 0)
    await limiter.consume('acme', { cost: 5 })
    await settled(limiter)
    expect(heard).toEqual(['acme hour 0.5 5'])
    await limiter.close()
  }

  test('in a store that is not atomic', () => deny(asyncStore({ atomic: false })))

  test('on a cluster', async () => {
    const cluster = await clusterOf(1)
    await deny(redisStore(cluster.clients[0] as never, { prefix: testPrefix() }))
    await cluster.stop()
  })
})

test('a mark that is counted after the end of its month does not silence the next', async () => {
  const clock = { now: Date.UTC(2026, 1, 1) - 300 }
  const inner = memoryStore({ now: () => clock.now })
  const consume: Store['consume'] = async (batch) => {
    if (isMark(batch) && clock.now < Date.UTC(2026, 1, 1)) clock.now += 500
    return inner.consume(batch)
  }
  const plans = { free: { limits: '10/month', warnAt: [0.5] } }
  const { limiter, heard } = start({
    plans,
    store: asyncStore({ consume, testClock: () => clock.now }, inner),
  })
  await limiter.consume('acme', { cost: 5 })
  await settled(limiter)
  expect(heard).toEqual(['acme month 0.5 5'])
  clock.now += 60_001
  await limiter.consume('acme', { cost: 6 })
  await settled(limiter)
  expect(heard).toEqual(['acme month 0.5 5', 'acme month 0.5 6'])
  await limiter.close()
})

describe('when the limits change', () => {
  test.each([
    ['their order', { free: { limits: ['100/d', '10/h'], warnAt: [0.5] } }],
    ['one more before it', { free: { limits: ['50/s', '10/h', '100/d'], warnAt: [0.5] } }],
  ])('%s: nothing is told twice', async (_, plans) => {
    const { limiter, heard } = start({ plans: { free: { limits: ['10/h', '100/d'], warnAt: [0.5] } } })
    await limiter.consume('acme', { cost: 5 })
    limiter.setPlans(plans as never)
    await limiter.consume('acme')
    expect(heard).toEqual(['acme hour 0.5 5'])
  })

  test('a larger quota of the same window is told at its share', async () => {
    const pro = { limits: '100/month', warnAt: [0.8] }
    const plans = { free: { limits: '10/month', warnAt: [0.8] }, pro }
    const { limiter, heard } = start({ plans, defaultPlan: 'free' })
    await limiter.consume('acme', { cost: 8 })
    await limiter.consume({ id: 'acme', plan: 'pro' }, { cost: 72 })
    expect(heard).toEqual(['acme month 0.8 8', 'acme month 0.8 80'])
  })

  test('the second of two limits of one window is told when it is the only one', async () => {
    const most = { quota: 8, window: 'month', name: 'most' }
    const limits = [{ quota: 4, window: 'month', overage: true }, most]
    const { limiter, heard } = start({ plans: { free: { limits, warnAt: [1] } } })
    await limiter.consume('acme', { cost: 4 })
    limiter.setPlans({ free: { limits: [most], warnAt: [1] } } as never)
    await limiter.consume('acme', { cost: 4 })
    expect(heard).toEqual(['acme month 1 4', 'acme most 1 8'])
  })
})

test('what is settled and committed above the cost is told', async () => {
  const { limiter, heard } = start({ plans: HALF, store: asyncStore() })
  await limiter.settle(await limiter.consume('acme', { cost: 1 }), 5)
  await (await limiter.reserve('globex', { cost: 1, for: '1min' })).commit(5)
  await settled(limiter)
  expect(heard.toSorted()).toEqual(['acme hour 0.5 5', 'globex hour 0.5 5'])
  await limiter.close()
})

test('a share that is missing in a list is refused', () => {
  const make = (): unknown => start({ plans: { free: { limits: '10/h', warnAt: new Array(2) } } })
  expect(make).toThrow(/^plans\.free\.warnAt\[0\]: got undefined, expected a share/)
})
