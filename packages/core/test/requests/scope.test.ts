import {
  createLimiter,
  type Consumer,
  type Limiter,
  type ScopeOptions,
  type Subjects,
} from '../../src/index.js'
import { createHttpLimiter } from '../../src/http/http-limiter.js'
import {
  closeBenches,
  jointBenches,
  redisOfAnotherProcess,
  sharedRedis,
  START_MS,
} from '../support/benches.js'
import { closesWithTest } from '../support/faults.js'
import { redisStore } from '../../src/index.js'
import { testPrefix } from '@tollgate/testing'

afterAll(closeBenches)

const left = async (consumer: Consumer, subjects: Subjects): Promise<(string | number)[]> =>
  (await consumer.peek(subjects)).limits.map(({ remaining }) => remaining)

describe.each(jointBenches)('scopes and several subjects, on $store', (bench) => {
  const limiterOf = (options: Parameters<typeof bench.limiter>[0]): Limiter =>
    bench.limiter(options, { now: START_MS })

  test('reset forgets a subject everywhere; of a scope, only there', async () => {
    const limiter = limiterOf({ limit: '5/min' })
    const search = limiter.scope({ group: 'search', stacked: { burst: '3/min' } })
    for (const consumer of [limiter, search]) await consumer.consume('acme')
    await search.reset('acme')
    expect([await left(limiter, 'acme'), await left(search, 'acme')]).toEqual([[4], [5, 3]])
    await search.consume('acme')
    await limiter.reset('acme')
    expect([await left(limiter, 'acme'), await left(search, 'acme')]).toEqual([[5], [5, 3]])
  })

  test('settle gives back what was too much, and takes what was too little as far as it fits', async () => {
    const limiter = limiterOf({ plans: { org: '10/min', user: '8/min' }, defaultPlan: 'org' })
    const both = [
      { id: 'o', plan: 'org' },
      { id: 'u', plan: 'user' },
    ]
    // Each subject alone: if keys are asked one after another, a denial names only the one that denies.
    const leftOfEach = async (): Promise<unknown[]> =>
      (await Promise.all(both.map((subject) => left(limiter, subject)))).flat()
    const settled = async (taken: number, cost: number): Promise<unknown[]> => {
      const decision = await limiter.consume(both, { cost: taken })
      return [await limiter.settle(decision, cost), ...(await leftOfEach())]
    }
    expect(await settled(5, 2)).toEqual([2, 8, 6])
    expect(await settled(1, 3)).toEqual([3, 5, 3])
    expect(await settled(1, 9)).toEqual([3, 2, 0])
    expect(await settled(1, 5)).toEqual([0, 2, 0])
  })

  test('settle works once, in place of refund; settling to 0 is a refund', async () => {
    const limiter = limiterOf({ limit: '10/min' })
    const decision = await limiter.consume('acme', { cost: 4 })
    expect(await limiter.settle(decision, 0)).toBe(0)
    expect(await limiter.refund(decision)).toBe(false)
    expect(await left(limiter, 'acme')).toEqual([10])
    const more = await limiter.consume('acme', { cost: 2 })
    expect(await Promise.all([limiter.settle(more, 5), limiter.settle(more, 5)])).toEqual([5, 2])
    expect(await left(limiter, 'acme')).toEqual([5])
    await expect(limiter.settle(decision, -1)).rejects.toMatchObject({ code: 'ERR_TOLLGATE_COST' })
    await expect(limiter.settle({ ...decision }, 1)).rejects.toMatchObject({ code: 'ERR_TOLLGATE_DECISION' })
  })

  test('the units that were taken go back, even if the decision was changed', async () => {
    const limiter = limiterOf({ limit: { quota: 100, window: 'h', algorithm: 'fixed-window' } })
    await limiter.consume('acme', { cost: 50 })
    const [one, two, none] = [
      await limiter.consume('acme'),
      await limiter.consume('acme', { cost: 4 }),
      await limiter.consume('acme', { cost: 99 }),
    ]
    for (const decision of [one, two, none]) {
      Object.assign(decision, { cost: 40, allowed: true, source: 'local', limits: [], subject: { id: 'b' } })
    }
    expect([await limiter.refund(none), await limiter.refund(one)]).toEqual([false, true])
    expect(await left(limiter, 'acme')).toEqual([46])
    expect(await limiter.settle(two, 3)).toBe(3)
    expect(await left(limiter, 'acme')).toEqual([47])
  })

  test('an unlimited plan does not affect the other subjects of a request', async () => {
    const limiter = limiterOf({ plans: { free: '2/min', internal: 'unlimited' }, defaultPlan: 'free' })
    const ops = { id: 'ops', plan: 'internal' }
    expect(await limiter.consume([ops, { id: 'ops2', plan: 'internal' }])).toMatchObject({
      source: 'unlimited',
    })
    const mixed = await limiter.consume([ops, { id: 'a', plan: 'free' }])
    expect(mixed).toMatchObject({ plan: 'internal', limits: [{ name: 'free.minute', remaining: 1 }] })
  })

  test('limits have unique names, by label or plan', async () => {
    const limiter = limiterOf({ limit: '9/min' })
    const scope = limiter.scope({ stacked: { default: '7/min' } })
    const subjects = ['a', { id: 'b', label: 'user' }, 'c', 'd'] as const
    expect((await scope.consume(subjects)).limits.map(({ name }) => name)).toEqual([
      'minute',
      'user.minute',
      'default.minute',
      'default.minute-2',
      'default.minute-3',
    ])
  })

  test('a subject given twice counts once; with two plans it is refused, and nothing is taken', async () => {
    const limiter = limiterOf({ plans: { a: '5/min', b: '6/min' }, defaultPlan: 'a' })
    expect((await limiter.consume(['x', 'x'])).limits).toHaveLength(1)
    const twice = async (): Promise<unknown> =>
      limiter.consume([
        { id: 'x', plan: 'a' },
        { id: 'x', plan: 'b' },
      ])
    await expect(twice()).rejects.toMatchObject({ code: 'ERR_TOLLGATE_SUBJECT' })
    expect(await left(limiter, 'x')).toEqual([4])
  })

  test('changed plans apply in every scope from the next request', async () => {
    const limiter = limiterOf({ plans: { p: '5/min' } })
    const group = limiter.scope({ group: 'g', stacked: { s: '9/min' } })
    await group.consume(['acme', 'other'])
    limiter.setPlans({ p: '3/min' })
    const { limits } = await group.peek(['acme', 'other'])
    expect(limits.map(({ name, quota, remaining }) => [name, quota, remaining])).toEqual([
      ['minute', 3, 2],
      ['p.minute', 3, 2],
      ['s.minute', 9, 8],
    ])
  })
})

test('hashIds keeps ids out of Redis, the same for the same secret', async () => {
  const prefix = testPrefix()
  const inProcess = (hashIds: string): Limiter => {
    const store = redisStore(redisOfAnotherProcess(), { prefix })
    return closesWithTest(
      createLimiter({ limit: '5/min', store, deadlineMs: 5000, local: { instances: 1 }, hashIds }),
    )
  }
  const limiter = inProcess('a secret of many characters')
  await limiter.consume(['acme@example.org', { id: '203.0.113.9', kind: 'ip' }])
  const keys = await sharedRedis().keys(`${prefix}/[^!]*`)
  expect(keys).toHaveLength(2)
  for (const key of keys) expect(key).toMatch(/^[\w.:-]+\/@?#[\w-]{43}$/)
  const same = inProcess('a secret of many characters')
  const other = inProcess('another secret, as long')
  expect([await left(same, 'acme@example.org'), await left(other, 'acme@example.org')]).toEqual([[4], [5]])
})

describe('a group has the same limit wherever it is named', () => {
  const month = { quota: 5, window: 'month' }

  test.each<[first: ScopeOptions, second: ScopeOptions, path: string, has: string]>([
    [{ group: 'g', limit: '5/min' }, { group: 'g', limit: '6/min' }, 'limit', "'5/min'"],
    [{ group: 'g', limit: '5/min' }, { group: 'g', limit: '5/h' }, 'limit', "'5/min'"],
    [{ group: 'g', limit: '5/min' }, { group: 'g', limit: ['5/min', '9/h'] }, 'limit', "'5/min'"],
    [{ group: 'g', limit: '5/min' }, { group: 'g', limit: '5/min burst 9' }, 'limit', "'5/min'"],
    [{ group: 'g', limit: '5/min' }, { group: 'g' }, 'group', "'5/min'"],
    [{ group: 'g' }, { group: 'g', limit: '5/min' }, 'limit', "the plan's limits"],
    [{ group: 'g', limit: month }, { group: 'g', limit: { ...month, anchor: 2 } }, 'limit', 'month'],
    [{ stacked: { s: '5/min' } }, { stacked: { s: '5/h' } }, 'stacked.s', "'5/min'"],
    [{ stacked: { s: '5/min' } }, { group: 'g', stacked: { s: '6/min' } }, 'stacked.s', "'5/min'"],
  ])('%p and then %p is refused', async (first, second, path, has) => {
    const limiter = createLimiter({ limit: '100/min' })
    const scope = limiter.scope(first)
    const message = expect.stringContaining(`has ${has}`) as string
    const again = (): Consumer => limiter.scope(second)
    if (has === 'month') expect(again).toThrow(expect.objectContaining({ path }))
    else expect(again).toThrow(expect.objectContaining({ path, message }))
    expect(again).toThrow('or take another name')
    expect(await scope.consume('acme')).toMatchObject({ allowed: true })
    expect(() => createLimiter({ limit: '100/min' }).scope(second)).not.toThrow()
  })

  test.each<[first: ScopeOptions, second: ScopeOptions]>([
    [{ group: 'g' }, { group: 'g' }],
    [
      { group: 'g', limit: '5/min' },
      { group: 'g', limit: { quota: 5, window: 60_000, name: 'm' } },
    ],
    [
      { group: 'g', limit: month },
      { group: 'g', limit: { ...month, timeZone: 'utc' } },
    ],
    [
      { group: 'g', limit: '5/min' },
      { group: 'h', limit: '6/min' },
    ],
    [{ group: 'g', limit: '5/min' }, { stacked: { g: '6/min' } }],
    [{ stacked: { s: ['5/min', '9/h'] } }, { group: 'g', stacked: { s: ['5 per minute', '9/60 min'] } }],
  ])('%p and then %p is fine', (first, second) => {
    const limiter = createLimiter({ limit: '100/min' })
    limiter.scope(first)
    expect(() => limiter.scope(second)).not.toThrow()
  })

  test('also in HTTP adapters, with the path of the option', () => {
    const limiter = createLimiter({ limit: '100/min' })
    const http = createHttpLimiter({} as never, { limiter, group: 'g', limit: '5/min' })
    expect(() => http.route({ group: 'g', limit: '5/min' }, 'config.rateLimit')).not.toThrow()
    const other = (): unknown => http.route({ group: 'g', limit: '6/min' }, 'config.rateLimit')
    expect(other).toThrow(expect.objectContaining({ path: 'config.rateLimit.limit' }))
    expect(other).toThrow("got '6/min'")
    expect(() => createHttpLimiter({} as never, { limiter, group: 'g' })).toThrow('or take another name')
  })

  test('a refused scope registers none of its names', () => {
    const limiter = createLimiter({ limit: '100/min' })
    limiter.scope({ group: 'g', limit: '5/min' })
    expect(() => limiter.scope({ group: 'g', limit: '6/min', stacked: { s: '1/min' } })).toThrow('limit')
    expect(() => limiter.scope({ stacked: { s: '2/min' } })).not.toThrow()
  })
})

describe('what is refused', () => {
  const limiter = createLimiter({ limit: '5/min' })

  test.each<[unknown, string]>([
    [{ group: 'a b' }, 'group'],
    [{ group: '' }, 'group'],
    [{ group: 5 }, 'group'],
    [{ limit: '5/min' }, 'group'],
    [{ group: 'g', limit: '5/fortnight' }, 'limit'],
    [{ stacked: '5/min' }, 'stacked'],
    [{ stacked: { 'a b': '5/min' } }, "stacked['a b']"],
    [{ stacked: { a: '0/min' } }, 'stacked.a'],
    [{ grup: 'a' }, 'scope.grup'],
    [null, 'scope'],
  ])('a scope of %p', (options, path) => {
    expect(() => limiter.scope(options as ScopeOptions)).toThrow(expect.objectContaining({ path }))
  })

  test.each<[unknown]>([
    [Array(9).fill('a')],
    [[{ id: 'a', label: '' }]],
    [[{ id: 'a', label: 'x'.repeat(65) }]],
    [[{ id: Promise.resolve() }]],
    [[]],
    [['', undefined]],
  ])('subjects %p', (subjects) => {
    expect(() => limiter.consume(subjects as Subjects)).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_SUBJECT' }),
    )
  })

  test.each<[unknown]>([
    [2 ** 53],
    [-(2 ** 53)],
    [{ id: 10 ** 16 }],
    [['a', { id: 1e300 }]],
    [{ id: Number.NaN }],
    [{ id: Number.POSITIVE_INFINITY }],
  ])('numeric ids that several tenants could have: %p', (subjects) => {
    expect(() => limiter.consume(subjects as Subjects)).toThrow(
      expect.objectContaining({
        code: 'ERR_TOLLGATE_SUBJECT',
        message: expect.stringContaining('a string') as string,
      }),
    )
  })

  test('the largest number that is exact, and fractions, are ids', () => {
    for (const id of [Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, 1.5, 0]) {
      expect(limiter.consume({ id })).toMatchObject({ allowed: true })
    }
  })

  test.each([true, 'short', 5])('hashIds of %p, without showing it', (hashIds) => {
    const make = (): unknown => createLimiter({ limit: '5/min', hashIds: hashIds as string })
    expect(make).toThrow(expect.objectContaining({ path: 'hashIds' }))
    expect(make).not.toThrow('short')
  })
})
