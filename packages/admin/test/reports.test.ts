// What the routes say of real limiters, in memory and on a real Redis, also while that is silent.
import { memoryStore, redisStore, type LimiterOptions } from '@tollgate/core'
import { startRedis, testPrefix, testRedisUrl, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import type {
  OverviewAnswer,
  PlansAnswer,
  RefusalsAnswer,
  RulesAnswer,
  SubjectAnswer,
} from '../src/answers.js'
import { asking, open, PLANS, type Asking } from './asking.js'

const STORES = {
  memory: () => memoryStore(),
  Redis() {
    const client = new Redis(testRedisUrl())
    open.push(() => client.disconnect())
    return redisStore(client, { prefix: testPrefix() })
  },
}

describe.each(Object.entries(STORES))('%s', (_, store) => {
  const make = (options: LimiterOptions = PLANS): Asking =>
    asking({ deadlineMs: 10_000, ...options, store: store() })

  test('a customer: its limits, who said its plan, its denials and their reasons', async () => {
    const { limiter, get } = make()
    for (let i = 0; i < 7; i += 1) await limiter.consume({ id: 'acme', plan: 'free' })
    const seen = await get<SubjectAnswer>('subject?id=acme')
    expect(seen).toMatchObject({
      ...{ id: 'acme', isAddress: false, plan: 'free', planFrom: 'requests', isOverridden: false, rules: [] },
      limits: [{ name: 'hour', quota: 5, windowMs: 3_600_000, used: 5, remaining: 0 }],
      denials: [{ subject: 'acme', limit: 'hour', reason: 'quota-exceeded', count: 2, cost: 1 }],
    })
    const [limit] = seen.limits
    expect(new Date(limit?.backAt as string).getTime()).toBe(
      new Date(seen.at).getTime() + (limit?.resetMs as number),
    )
    expect(await get('subject?id=acme&plan=pro')).toMatchObject({
      ...{ plan: 'pro', planFrom: 'operator' },
      limits: [{ name: 'minute' }, { name: 'month' }, { quota: 20, quotaUnit: 'concurrent-requests' }],
    })
    // It takes nothing.
    expect(await get('subject?id=acme&plan=pro')).toMatchObject({
      limits: [{ used: 0 }, { used: 0 }, { used: 0 }],
    })
  })

  test('a customer whose plan the application knows, one that nobody has seen, and an address', async () => {
    const known = make({ ...PLANS, planOf: ({ id }) => (id === 'acme' ? 'pro' : undefined) })
    expect(await known.get('subject?id=acme')).toMatchObject({ plan: 'pro', planFrom: 'application' })
    const { limiter, get } = make()
    expect(await get('subject?id=globex')).toMatchObject({ plan: 'free', planFrom: 'default', traffic: null })
    await limiter.consume({ id: '203.0.113.7', kind: 'ip' })
    expect(await get('subject?id=203.0.113.7&ip=1')).toMatchObject({
      ...{ isAddress: true },
      limits: [{ used: 1 }],
    })
  })

  test('blocks of all kinds, and the limits behind them', async () => {
    // Denials from memory are told to the store later.
    const { limiter, get, change } = make({ ...PLANS, denials: false })
    await limiter.consume({ id: 'acme', plan: 'pro' })
    expect(await change({ kind: 'block', id: 'acme', for: '1h', reason: 'abuse' })).toMatchObject({
      done: true,
    })
    expect(await get('subject?id=acme')).toMatchObject({
      blocked: { until: expect.any(String), reason: 'abuse', byItself: false },
      limits: [{ name: 'minute', used: 1 }, { used: 1 }, { used: 1 }],
      rules: [{ kind: 'block', of: 'acme', by: 'ada', reason: 'abuse' }],
      history: [{ action: 'set', kind: 'block' }],
    })
    expect(await change({ kind: 'unblock', id: 'acme' })).toEqual({
      ...{ done: true, says: 'acme is not blocked any more.' },
    })
    expect((await get<SubjectAnswer>('subject?id=acme')).blocked).toBeUndefined()

    for (let i = 0; i < 8; i += 1) await limiter.consume({ id: 'globex', plan: 'free' })
    expect(await get('subject?id=globex')).toMatchObject({
      blocked: { byItself: true },
      limits: [{ used: 5, remaining: 0 }],
      rules: [{ kind: 'block', of: 'globex', level: 1 }],
    })
    expect(await get('subject?id=initech&plan=none')).toMatchObject({
      ...{ blocked: { until: null, byItself: false }, limits: [] },
    })
  })

  test('changes: each does what it says, once', async () => {
    const { get, change, limiter } = make()
    await limiter.consume({ id: 'acme', plan: 'pro' }, { cost: 40 })
    await change({ kind: 'override', id: 'acme', factor: 2, for: '1h' })
    await change({ kind: 'scale', plan: 'pro', factor: 0.5, for: '2h', reason: 'incident' })
    const twice = await get<SubjectAnswer>('subject?id=acme&plan=pro')
    expect(twice).toMatchObject({ isOverridden: true, limits: [{ quota: 100, used: 40 }, {}, {}] })
    expect(twice.rules.map(({ kind }) => kind)).toEqual(['override', 'scale'])
    expect(await get<PlansAnswer>('plans')).toMatchObject({
      plans: [
        { name: 'free', isDefault: true },
        { name: 'pro', scale: { factor: 0.5, reason: 'incident' } },
        {},
        {},
      ],
    })
    const lift = { kind: 'lift', lifts: 'scale', plan: 'pro' } as const
    expect(await change(lift)).toEqual({ done: true, says: 'The rule was lifted.' })
    expect(await change(lift)).toEqual({ done: false, says: 'There is no such rule any more.' })
    expect(await change({ kind: 'lift', lifts: 'override', id: 'acme' })).toMatchObject({ done: true })
    await change({ kind: 'override', id: 'acme', limits: ['7/min'], for: '1h' })
    expect(await get('subject?id=acme&plan=pro')).toMatchObject({ limits: [{ quota: 7 }] })
    await change({ kind: 'override', id: 'acme', toPlan: 'free', for: '1h' })
    expect(await get('subject?id=acme&plan=pro')).toMatchObject({ plan: 'pro', limits: [{ quota: 5 }] })
    await change({ kind: 'lift', lifts: 'override', id: 'acme' })

    const about = { id: 'acme', plan: 'pro', limit: 'month' } as const
    const order = { kind: 'topUp', ...about, units: 500, for: '30d', key: 'order-17' } as const
    expect(await change(order)).toMatchObject({ done: true })
    expect(await change(order)).toMatchObject({ done: false })
    expect(await get('subject?id=acme&plan=pro')).toMatchObject({
      limits: [{}, { used: 40, remaining: 1460, toppedUp: 500 }, {}],
    })
    // Without an end, it lasts as long as the window.
    expect(await change({ kind: 'topUp', ...about, units: 7, key: 'gift' })).toMatchObject({ done: true })
    expect(await get('subject?id=acme&plan=pro')).toMatchObject({ limits: [{}, { toppedUp: 507 }, {}] })
    const unused = { kind: 'topUp', id: 'globex', plan: 'paid', limit: 'day', units: 3, key: 'gift' } as const
    expect([await change(unused), await change(unused)]).toMatchObject([{ done: true }, { done: false }])
    expect(await change({ kind: 'renew', ...about, key: 'invoice-1' })).toMatchObject({ done: true })
    expect(await get('subject?id=acme&plan=pro')).toMatchObject({ limits: [{ used: 40 }, { used: 0 }, {}] })
    expect(await change({ kind: 'reset', id: 'acme' })).toMatchObject({ done: true })
    expect(await get('subject?id=acme&plan=pro')).toMatchObject({ limits: [{ used: 0 }, { used: 0 }, {}] })
  })

  test('a booking without a plan is on the one that its requests had, and refused where nobody knows it', async () => {
    const { limiter, get, change } = make()
    await limiter.consume({ id: 'acme', plan: 'pro' })
    await limiter.override('acme', { factor: 2, for: '1h' })
    const gift = { kind: 'topUp', id: 'acme', limit: 'month', units: 7, key: 'gift' } as const
    expect(await change(gift)).toMatchObject({ done: true })
    expect(await get('subject?id=acme')).toMatchObject({ limits: [{}, { toppedUp: 7 }, {}] })
    await expect(change({ ...gift, id: 'globex' })).rejects.toThrow(/^400 .*plan/)
  })

  test('rules of a beginning of ids, and of the same text as an id, are told apart', async () => {
    const { limiter, get, change } = make()
    await change({ kind: 'block', id: 'ac', isPrefix: true, for: '1h' })
    await change({ kind: 'block', id: 'acme', for: '2h' })
    const ofAll = async (): Promise<readonly string[]> =>
      (await get<RulesAnswer>('rules')).rules.map(({ of }) => of)
    expect(await ofAll()).toEqual(['ac*', 'acme'])
    expect(await change({ kind: 'lift', lifts: 'block', id: 'acme' })).toMatchObject({ done: true })
    expect(await ofAll()).toEqual(['ac*'])
    expect(await change({ kind: 'lift', lifts: 'block', id: 'acme' })).toMatchObject({ done: false })
    expect(await change({ kind: 'lift', lifts: 'block', id: 'ac', isPrefix: true })).toMatchObject({
      done: true,
    })
    expect(await ofAll()).toEqual([])
    // Both are shown as `ac*`: the id, and all ids that begin with `ac`.
    await change({ kind: 'block', id: 'ac*', for: '1h' })
    await change({ kind: 'block', id: 'ac', isPrefix: true, for: '2h' })
    expect(await change({ kind: 'lift', lifts: 'block', id: 'ac*' })).toMatchObject({ done: true })
    expect((await limiter.consume({ id: 'acme', plan: 'pro' })).reason).toBe('blocked')
  })

  test('the overview, the last hour, and overage', async () => {
    const { limiter, get } = make()
    for (let i = 0; i < 12; i += 1) await limiter.consume({ id: 'globex', plan: 'paid' })
    for (let i = 0; i < 7; i += 1) await limiter.consume({ id: 'acme', plan: 'free' })
    await limiter.consume({ id: 'initech', plan: 'none' })
    const { figures, samples, process } = await get<OverviewAnswer>('overview')
    expect(figures).toMatchObject({ requests: 20, denied: 3, processes: 1 })
    expect(figures?.busiest[0]).toMatchObject({ subject: 'globex', requests: 12, error: 0 })
    expect(figures?.nearest[0]).toMatchObject({ subject: 'globex', limit: 'day', share: 1.2 })
    expect(samples).toHaveLength(1)
    expect(process).toMatchObject({ status: 'ok', openShards: [], rules: 'current', pending: 0 })
    const { store: asked = 0, cache = 0, blocked } = process.answeredBy
    expect([asked + cache, blocked]).toEqual([19, 1])
    expect(await get('subject?id=globex&plan=paid')).toMatchObject({ limits: [{ over: 2, used: 10 }] })
    const { causes, minutes } = await get<RefusalsAnswer>('refusals')
    expect(causes).toEqual(['hour', 'blocked'])
    expect(minutes).toHaveLength(60)
    const sums = causes.map((_cause, i) =>
      minutes.reduce((sum, { counts }) => sum + (counts[i] as number), 0),
    )
    expect(sums).toEqual([2, 1])
  })
})

test('many who look at customers share what is read, and leave the application its time', async () => {
  const { limiter, get } = asking({ ...PLANS, store: memoryStore() })
  for (let i = 0; i < 50; i += 1) await limiter.block(`blocked-${i}`, { for: '1h' })
  const look = jest.spyOn(limiter, 'denialLog')
  await Promise.all(Array.from({ length: 100 }, () => get('subject?id=acme&plan=pro')))
  expect(look).toHaveBeenCalledTimes(1)
  const asked = Array.from({ length: 200 }, (_, i) => get(`subject?id=user-${i}&plan=pro`).catch(String))
  const answers = await Promise.all(asked)
  const refused = answers.filter((one) => typeof one === 'string')
  expect(refused.length).toBeGreaterThan(0)
  expect(refused.every((one) => /503 .*Too many/.test(one as string))).toBe(true)
  expect(answers.length - refused.length).toBeGreaterThanOrEqual(100)
})

test('with hashed ids, a customer has its traffic, and a plan that does not exist is not taken for its own', async () => {
  const { limiter, get } = asking({ ...PLANS, hashIds: 'a secret of this test', store: memoryStore() })
  await limiter.consume({ id: 'acme', plan: 'pro' })
  expect(await get('subject?id=acme&plan=nope')).toMatchObject({
    ...{ plan: 'pro', planFrom: 'requests', traffic: { requests: 1 } },
  })
})

test('hostile ids come as JSON, and are asked for as they are', async () => {
  const { limiter, get, change } = asking({ ...PLANS, store: memoryStore() })
  const ids = [
    '</script><script>alert(1)</script>',
    'شركة',
    '🦊'.repeat(40),
    'a\u0000b\nc',
    'x'.repeat(200),
    '*',
    '#a',
  ]
  for (const id of ids) await limiter.consume({ id, plan: 'pro' })
  for (const id of ids) {
    const seen = await get<SubjectAnswer>(`subject?id=${encodeURIComponent(id)}&plan=pro`)
    expect([id, seen.id, seen.limits[0]?.used]).toEqual([id, id, 1])
  }
  const hidden = `#${'x'.repeat(43)}`
  await expect(get(`subject?id=${encodeURIComponent(hidden)}`)).rejects.toThrow(/^400 .*the id itself/)
  await expect(change({ kind: 'block', id: hidden, for: '1h' })).rejects.toThrow(/^400 .*the id itself/)
  await expect(get('subject')).rejects.toThrow(
    '400 {"type":"about:blank","title":"Bad Request","status":400,"detail":"id: it is missing."}',
  )
})

describe('while Redis is silent', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())

  test('the overview says so and what answers instead, and comes back by itself', async () => {
    const client = new Redis(server.port, '127.0.0.1', { maxRetriesPerRequest: 0 })
    client.on('error', () => {})
    open.push(() => client.disconnect())
    const { limiter, get } = asking({ ...PLANS, store: redisStore(client, { prefix: testPrefix() }) })
    await limiter.consume({ id: 'acme', plan: 'pro' })
    server.pause()
    try {
      for (let i = 0; i < 30; i += 1) await limiter.consume({ id: 'acme', plan: 'pro' })
      const dark = await get<OverviewAnswer>('overview')
      expect(dark).toMatchObject({
        ...{ figures: null, problem: 'The store does not answer.' },
        process: { status: 'degraded', openShards: [0] },
      })
      expect(dark.process.answeredBy.local).toBeGreaterThan(0)
      expect(dark.samples.at(-1)?.storeMs).toBeNull()
      for (const path of ['subject?id=acme&plan=pro', 'rules', 'plans', 'refusals'])
        await expect(get(path)).rejects.toThrow('503 ')
    } finally {
      server.resume()
    }
    for (let seen: OverviewAnswer | undefined; !seen?.figures;) {
      await new Promise((resolve) => setTimeout(resolve, 200))
      seen = await get<OverviewAnswer>('overview')
    }
    expect(await get('subject?id=acme&plan=pro')).toMatchObject({ plan: 'pro' })
  })
})
