import * as diagnostics from 'node:diagnostics_channel'
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, redisStore, type Subject } from '../../src/index.js'
import { closesWithTest, connect, DEADLINE_MS, endFaults, recovers, server } from '../support/faults.js'
import { allowed, comesToStay, consume, start } from '../support/outage.js'
import { asyncStore } from '../support/stores.js'

afterEach(endFaults)

test('while Redis hangs the plan holds, and afterwards all admitted units are counted once', async () => {
  const { redis, limiter, left } = await start()
  await consume(limiter, 'acme', 5)
  redis.pause()
  const admitted = allowed(await consume(limiter, 'acme', 40))
  expect(admitted).toBe(15)
  expect(allowed(await consume(limiter, 'new', 40))).toBe(20)
  redis.resume()
  await eventually(async () => (await left('acme')) === 0 && (await left('new')) === 0)
  await eventually(async () => (await limiter.consume('acme')).source === 'store')
  await limiter.reset('acme')
  expect(await left('acme')).toBe(20)
})

test('units that Redis counts late for requests that the policy has answered are given back', async () => {
  const { redis, limiter, left } = await start()
  redis.pause()
  expect(allowed(await consume(limiter, 'acme', 8))).toBe(8)
  redis.resume()
  await eventually(() => limiter.stats().reconciled.units === 8)
  // The eight units are counted late, given back, and charged: eight in the end.
  await comesToStay(() => left('acme'), 12)
  expect(limiter.stats().reconciled.units).toBe(8)
})

test('a hang longer than the breaker waits: admitted units count once, however many requests were sent', async () => {
  const { redis, limiter, left } = await start({ limit: '50000/min' })
  redis.pause()
  const answers: Promise<boolean[]>[] = []
  await eventually(() => {
    answers.push(consume(limiter, 'acme', 5))
    return limiter.health().status === 'degraded'
  })
  // These are decided without the store.
  answers.push(consume(limiter, 'acme', 100))
  const passed = allowed((await Promise.all(answers)).flat())
  expect(passed).toBe((answers.length - 1) * 5 + 100)
  expect(limiter.health().status).toBe('degraded')
  redis.resume()
  await eventually(() => limiter.health().status === 'ok')
  await comesToStay(() => left('acme'), 50_000 - passed)
})

test.each([
  ['of another type', 'LPUSH'],
  ['damaged', 'SETRANGE'],
])('a value %s, asked for again and again, leaves the store to all others', async (_, how) => {
  const { redis, limiter } = await start()
  const client = connect(redis.port)
  await limiter.consume('hurt')
  const [key = ''] = await client.keys('*/hurt')
  if (how === 'LPUSH') await client.multi().del(key).lpush(key, 'x').exec()
  else await client.setrange(key, 20, '\u00ff\u00ff\u00ff')
  for (let i = 0; i < 6; i += 1) expect((await limiter.consume('hurt')).source).toBe('local')
  expect(limiter.health().status).toBe('ok')
  expect((await limiter.consume('acme')).source).toBe('store')
})

test.each(['closed', 'open'] as const)(
  'with %s, units that Redis counts late stay only if the request passed',
  async (policy) => {
    const { redis, limiter, left } = await start({ onStoreFailure: policy })
    redis.pause()
    await consume(limiter, 'acme', 8)
    redis.resume()
    await comesToStay(() => left('acme'), policy === 'open' ? 12 : 20)
  },
)

test('the breaker opens after three failures, answers at once meanwhile, and closes when Redis is back', async () => {
  const { redis, limiter } = await start()
  const states: string[] = []
  limiter.on('breaker', ({ state, error }) => states.push(error ? `${state}: ${error.code}` : state))
  await redis.kill()
  for (let i = 0; i < 3; i += 1) await limiter.consume('acme')
  expect(states).toEqual([expect.stringMatching(/^open: ERR_TOLLGATE_STORE/)])
  expect(limiter.health()).toMatchObject({ status: 'degraded', openShards: [0] })
  const decision = limiter.consume('acme')
  expect(await decision).toMatchObject({ source: 'local', allowed: true, limits: [] })
  await server({ port: redis.port })
  await eventually(() => limiter.health().status === 'ok')
  expect(states.slice(1)).toEqual(['half-open', 'closed'])
  expect((await limiter.consume('acme')).source).toBe('store')
})

test('a plan can have a policy of its own, and a function can choose', async () => {
  const { redis, limiter } = await start({
    limit: undefined,
    plans: {
      free: '2/min',
      enterprise: { limits: ['2/min', '9/h'], onStoreFailure: 'open' },
      trial: { limits: '2/min', onStoreFailure: 'closed' },
    },
    defaultPlan: 'free',
    onStoreFailure: ({ id }: Subject, error: Error) =>
      id === 'vip' && error.name === 'StoreError' ? 'open' : 'local',
  })
  await redis.kill()
  const sources = async (id: string, plan: string): Promise<string[]> => {
    const decisions = await Promise.all([1, 2, 3].map(() => limiter.consume({ id, plan })))
    return decisions.map((decision) => `${decision.source} ${decision.reason ?? 'ok'}`)
  }
  expect(await sources('acme', 'free')).toEqual(['local ok', 'local ok', 'local quota-exceeded'])
  expect(await sources('vip', 'free')).toEqual(['open ok', 'open ok', 'open ok'])
  expect(await sources('big', 'enterprise')).toEqual(['open ok', 'open ok', 'open ok'])
  expect(await sources('new', 'trial')).toEqual(Array.from({ length: 3 }, () => 'closed store-unavailable'))
})

test.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('policy')
    },
  ],
  ['returns what is no policy', () => 'ajar'],
  ['returns a promise', async () => 'open'],
])('a function for the policy that %s is told of, and the process limits by itself', async (_, choose) => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const { redis, limiter } = await start({ onStoreFailure: choose as never, warnings: true })
  await redis.kill()
  expect((await limiter.consume('acme')).source).toBe('local')
  // By its code, since the warning that the store does not answer names onStoreFailure, too.
  expect(warn.mock.calls).toContainEqual([
    expect.stringContaining('onStoreFailure'),
    expect.objectContaining({ code: 'TOLLGATE_POLICY' }),
  ])
  warn.mockRestore()
})

test('a local decision can be refunded; a denial names its limits and when to retry', async () => {
  const { redis, limiter, left } = await start({ limit: '2/min' })
  await redis.kill()
  const [first, second, denied] = await Promise.all([1, 2, 3].map(() => limiter.consume('acme')))
  expect([first?.allowed, second?.allowed, denied?.allowed]).toEqual([true, true, false])
  expect(denied).toMatchObject({
    violated: ['minute'],
    reason: 'quota-exceeded',
    limits: [],
    source: 'local',
  })
  expect(denied?.retryAfterMs).toBeGreaterThan(59_000)
  expect(await limiter.refund(first as NonNullable<typeof first>)).toBe(true)
  expect(await limiter.refund(first as NonNullable<typeof first>)).toBe(false)
  expect((await limiter.peek('acme')).allowed).toBe(true)
  await server({ port: redis.port })
  await eventually(async () => (await left('acme')) === 1)
})

test('several subjects are limited together, and each is charged', async () => {
  const plans = { team: '4/min', seat: '2/min' }
  const { redis, limiter } = await start({ limit: undefined, plans, defaultPlan: 'team' })
  await redis.kill()
  const both = (user: string): unknown[] => [
    { id: 'org', plan: 'team' },
    { id: user, plan: 'seat' },
  ]
  const ask = async (user: string): Promise<boolean> => (await limiter.consume(both(user) as never)).allowed
  expect([await ask('ada'), await ask('ada'), await ask('ada'), await ask('bob')]).toEqual([
    true,
    true,
    false,
    true,
  ])
  await server({ port: redis.port })
  await eventually(async () => {
    const { limits } = await limiter.peek(both('ada') as never)
    return limits.map(({ remaining }) => remaining).join() === '1,0'
  })
})

test('limiters on one store are counted, and each uses its share', async () => {
  const redis = await server()
  const prefix = testPrefix()
  const limiters = [1, 2, 3].map(() => {
    const store = redisStore(connect(redis.port), { prefix })
    return closesWithTest(createLimiter({ limit: '30/min', store, deadlineMs: DEADLINE_MS, warnings: false }))
  })
  for (const limiter of limiters) await recovers(limiter)
  // A limiter hears of those that were counted after it with its next report.
  await eventually(async () => {
    redis.pause()
    const looks = await Promise.all(limiters.map((limiter) => limiter.peek('other')))
    redis.resume()
    expect(looks.map(({ localLimits }) => localLimits?.[0]?.quota)).toEqual([10, 10, 10])
  })
  await redis.kill()
  const admitted = await Promise.all(limiters.map((limiter) => consume(limiter, 'new', 40)))
  expect(admitted.map(allowed)).toEqual([10, 10, 10])
})

test('answers are promises in an outage, too, and a store that is not asked reports no failures', async () => {
  const { redis, limiter } = await start({ plans: { free: '20/min', all: 'unlimited' }, limit: undefined })
  redis.pause()
  await eventually(async () => {
    await limiter.consume('acme')
    return limiter.health().status === 'degraded'
  })
  const errors: unknown[] = []
  limiter.on('storeError', (error) => errors.push(error))
  const answers = [
    limiter.consume('acme'),
    limiter.peek('acme'),
    limiter.consume({ id: 'acme', plan: 'all' }),
    limiter.peek({ id: 'acme', plan: 'all' }),
  ]
  for (const answer of answers) expect(answer).toBeInstanceOf(Promise)
  await Promise.all(answers)
  await expect(limiter.reset('acme')).rejects.toMatchObject({ code: 'ERR_TOLLGATE_STORE_TIMEOUT' })
  expect(errors).toEqual([])
  redis.resume()
})

test('everything is reported: events, channels and counts', async () => {
  const heard: Record<string, number> = {}
  const names = ['decision', 'limited', 'store-error', 'breaker', 'fallback', 'reconciliation']
  const listen = (message: unknown, name: string | symbol): void => {
    if ((message as { limiter: unknown }).limiter === limiter)
      heard[String(name)] = (heard[String(name)] ?? 0) + 1
  }
  const told: { readonly units: number }[] = []
  const { redis, limiter } = await start({ limit: '3/min' })
  for (const name of names) diagnostics.subscribe(`tollgate:${name}`, listen)
  limiter.on('reconciliation', (reconciled) => told.push(reconciled))
  const before = limiter.stats()
  expect(before.decisions.store.allowed).toBeGreaterThanOrEqual(1)
  await redis.kill()
  for (let i = 0; i < 5; i += 1) await limiter.consume('acme')
  await server({ port: redis.port })
  await eventually(() => limiter.health().status === 'ok')
  for (const name of names) diagnostics.unsubscribe(`tollgate:${name}`, listen)
  expect(limiter.stats()).toMatchObject({
    decisions: { local: { allowed: 3, denied: 2 }, open: { allowed: 0, denied: 0 } },
    storeErrors: 3,
    reconciled: { units: 3, dropped: 0 },
    pending: 0,
  })
  expect(heard).toMatchObject({
    'tollgate:limited': 2,
    'tollgate:store-error': 3,
    'tollgate:breaker': 3,
    'tollgate:fallback': 5,
  })
  // One message per charge; together they have the admitted units.
  expect(told.reduce((sum, { units }) => sum + units, 0)).toBe(3)
})

test('when a synchronous store throws, the failure policy decides', () => {
  const broken = (): never => {
    throw new Error('broken')
  }
  const limiter = createLimiter({
    limit: '2/min',
    store: asyncStore({ synchronous: true, consume: broken, peek: broken }),
    warnings: false,
  })
  const decisions = [1, 2, 3].map(() => limiter.consume('acme') as { allowed: boolean; source: string })
  expect(decisions.map(({ allowed: isAllowed, source }) => [isAllowed, source])).toEqual([
    [true, 'local'],
    [true, 'local'],
    [false, 'local'],
  ])
})
