// Values in Redis: their format, how long they count, and values of other versions.
import { testPrefix } from '@tollgate/testing'
import { redisStore } from '../../../src/index.js'
import { ID_KEPT_MS, type Outcome, type RefundRequest, type Store } from '../../../src/stores/contract.js'
import { closeBenches, sharedRedis, START_MS } from '../../support/benches.js'
import { needOutcome, outcomeOf, receiptsOf, requestOf, setOf } from '../../support/store-requests.js'

afterAll(closeBenches)

const DAY_MS = 86_400_000
const one = setOf('9/min')
const several = setOf('9/min', '20/h')

/** Every call of a store with a key. */
const calls: Readonly<Record<string, (store: Store) => PromiseLike<readonly unknown[]>>> = {
  'consume, alone': async (store) => store.consume([requestOf('k', one)]),
  'consume, in a batch': async (store) => store.consume([requestOf('k', one), requestOf('k', several)]),
  peek: async (store) => store.peek([requestOf('k', one)]),
  'upTo and force': async (store) =>
    store.consume([
      { shard: 0, grant: 'upTo', parts: [{ key: 'k', set: one, cost: 3 }] },
      {
        shard: 0,
        grant: 'force',
        id: 'i',
        parts: [{ key: 'k', set: one, cost: 1, used: [[{ units: 1, ageUs: 0 }]] }],
      },
    ]),
  refund: async (store) => {
    const receipts = [{ units: 1, at: 1, remaining: 1, reset: 1 }]
    return store.refund([{ shard: 0, id: 'r', parts: [{ key: 'k', set: one, receipts }] }])
  },
}

describe('a value of another version', () => {
  const version = (first: number): Buffer => Buffer.from([first, ...new Array<number>(30).fill(7)])
  const values: readonly [string, Buffer, string][] = [
    [
      'format 1',
      version(0x16),
      "another version of Tollgate wrote this request's value: run one version in all processes, or give this one its own prefix (format 1, this one writes 3)",
    ],
    [
      'format 2',
      version(2),
      "another version of Tollgate wrote this request's value: run one version in all processes, or give this one its own prefix (format 2, this one writes 3)",
    ],
    [
      'format 4',
      version(4),
      "another version of Tollgate wrote this request's value: run one version in all processes, or give this one its own prefix (format 4, this one writes 3)",
    ],
    ['not of Tollgate', Buffer.from('{"some": "other application"}'), 'Tollgate did not write'],
    ['short', Buffer.from('x'), 'Tollgate did not write'],
    ['short, and of this format', Buffer.from([3, 0, 0]), 'Tollgate did not write'],
  ]

  test.each(values.flatMap((value) => Object.keys(calls).map((call) => [...value, call] as const)))(
    '%s: left alone, and told of (%#)',
    async (_, value, says, call) => {
      const prefix = testPrefix()
      await sharedRedis().set(`${prefix}/k`, value)
      const answers = await calls[call]?.(redisStore(sharedRedis(), { prefix }))
      for (const answer of answers ?? []) {
        expect(answer).toMatchObject({ isOfRequest: true, reason: 'foreign-value' })
        expect(String(answer)).toContain(says)
      }
      expect(await sharedRedis().getBuffer(`${prefix}/k`)).toEqual(value)
      expect(await sharedRedis().keys(`${prefix}/*`)).toEqual([`${prefix}/k`])
    },
  )

  test('the other requests of its batch are decided', async () => {
    const prefix = testPrefix()
    await sharedRedis().set(`${prefix}/k`, version(4))
    const store = redisStore(sharedRedis(), { prefix })
    const pair = {
      ...requestOf('a', one),
      parts: [...requestOf('a', one).parts, ...requestOf('k', one).parts],
    }
    const answers = await store.consume([requestOf('a', one), requestOf('k', one), pair, requestOf('a', one)])
    expect(answers.map((answer) => ('limits' in answer ? answer.limits[0]?.remaining : 'error'))).toEqual([
      ...[8, 'error', 'error', 7],
    ])
  })
})

test.each([1560, 2999])('a window of %d days counts to its end', async (days) => {
  const clock = { now: START_MS }
  const store = redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clock.now })
  for (const algorithm of ['sliding-window', 'sliding-log', 'fixed-window', 'token-bucket'] as const) {
    const [set, other] = [setOf({ quota: 9, window: days * DAY_MS, algorithm }), setOf('5/s')]
    clock.now = START_MS
    await outcomeOf(store, requestOf(algorithm, set, 9))
    // Another plan in between, so that the state is kept as a part of another plan.
    await outcomeOf(store, requestOf(algorithm, other))
    clock.now = START_MS + DAY_MS
    await outcomeOf(store, requestOf(algorithm, other))
    const { limits } = await outcomeOf(store, requestOf(algorithm, set))
    expect([algorithm, (limits[0]?.wait ?? 0) > 0]).toEqual([algorithm, true])
    clock.now = START_MS + 2 * days * DAY_MS + 1000
    expect((await outcomeOf(store, requestOf(algorithm, set))).limits[0]?.wait).toBe(0)
  }
})

test('units used on each of twenty plans count on that plan', async () => {
  const store = redisStore(sharedRedis(), { prefix: testPrefix() })
  const sets = Array.from({ length: 20 }, (_, i) => setOf(`9/${i + 1}h`))
  for (const set of sets) await outcomeOf(store, requestOf('k', set, 4))
  for (const set of sets) expect((await outcomeOf(store, requestOf('k', set))).limits[0]?.remaining).toBe(4)
})

test('a lone request is one call, whatever its subject has used before', async () => {
  const prefix = testPrefix()
  const store = redisStore(sharedRedis(), { prefix })
  const evals: string[] = []
  const evalsha = jest.spyOn(sharedRedis(), 'evalsha').mockName('evalsha')
  for (const limit of [
    '9/min',
    '9/min burst 9',
    { quota: 9, window: 1000, algorithm: 'fixed-window' },
  ] as const) {
    const key = JSON.stringify(limit)
    await outcomeOf(store, requestOf(key, several))
    await outcomeOf(store, requestOf(key, setOf(limit)))
    evalsha.mockClear()
    const { limits } = await outcomeOf(store, requestOf(key, setOf(limit)))
    evals.push(`${limits[0]?.remaining} after ${evalsha.mock.calls.length}`)
  }
  // The first limit is in both plans.
  expect(evals).toEqual(['6 after 1', '7 after 1', '7 after 1'])
  evalsha.mockRestore()
})

describe('a calendar sent by a process whose clock differs from that of Redis', () => {
  const month = setOf('9/month', '5/min')
  const hours = 3

  test.each(['consume', 'peek'] as const)('%s is asked again with the time learnt', async (how) => {
    const store = redisStore(sharedRedis(), { prefix: testPrefix() })
    const real = Date.now()
    const clock = jest.spyOn(Date, 'now').mockReturnValue(real + 400 * DAY_MS)
    const daily = setOf({ quota: 9, window: 'd', algorithm: 'fixed-window', timeZone: 'UTC' })
    for (const set of [daily, month]) {
      const before = await outcomeOf(store, requestOf('k', set), how)
      expect(before.limits[0]).toMatchObject({ wait: 0, remaining: how === 'peek' ? 9 : 8 })
    }
    clock.mockRestore()
  })

  test('existing state is kept when the clock of Redis went back some hours', async () => {
    const daily = setOf({ quota: 9, window: 'h', algorithm: 'fixed-window', timeZone: 'UTC' }, '20/min')
    const prefix = testPrefix()
    const ahead = redisStore(sharedRedis(), { prefix, now: () => Date.now() + hours * 3_600_000 })
    const taken = await outcomeOf(ahead, requestOf('k', daily, 2))
    const store = redisStore(sharedRedis(), { prefix })
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 50 * 3_600_000)
    expect((await outcomeOf(store, requestOf('k', daily))).limits.map(({ remaining }) => remaining)).toEqual([
      6, 17,
    ])
    clock.mockReturnValue(Date.now() + 50 * 3_600_000)
    const fresh = redisStore(sharedRedis(), { prefix })
    const parts = [{ key: 'k', set: daily, receipts: receiptsOf(taken, 1) }]
    expect(await fresh.refund([{ shard: 0, parts }])).toEqual([true])
    const used = daily.limits.map(() => [{ units: 2, ageUs: 10 }])
    const forced = await redisStore(sharedRedis(), { prefix }).consume([
      { shard: 0, grant: 'force', parts: [{ key: 'k', set: daily, cost: 1, used }] },
    ])
    expect(needOutcome(forced[0]).limits.map(({ granted }) => granted)).toEqual([2, 2])
    clock.mockRestore()
  })
})

describe('ids', () => {
  const force = (id: string, units = 2): Parameters<Store['consume']>[0][number] => ({
    shard: 0,
    grant: 'force',
    id,
    parts: ['a', 'b'].map((key) => ({ key, set: one, cost: 1, used: [[{ units, ageUs: 5 }]] })),
  })

  test('a repeated one changes nothing and gets the first answer; its key is bounded and expires', async () => {
    const prefix = testPrefix()
    const store = redisStore(sharedRedis(), { prefix })
    const [first, again] = await store.consume([force('x'), force('x', 5)])
    expect(needOutcome(first).limits.map(({ granted, remaining }) => [granted, remaining])).toEqual([
      [2, 7],
      [2, 7],
    ])
    expect(needOutcome(again).limits).toEqual(
      needOutcome(first).limits.map((limit) =>
        expect.objectContaining({ granted: 2, remaining: limit.remaining }),
      ),
    )
    expect((await sharedRedis().keys(`${prefix}/*`)).sort()).toEqual([
      `${prefix}/=x`,
      `${prefix}/a`,
      `${prefix}/b`,
    ])
    const ttl = await sharedRedis().pttl(`${prefix}/=x`)
    expect([ttl > 590_000, ttl <= 600_000]).toEqual([true, true])
    await store.reset(['a', 'b'], 0)
    expect(await sharedRedis().keys(`${prefix}/*`)).toEqual([`${prefix}/=x`])
  })

  test('of a refund: once, in all of its parts', async () => {
    const store = redisStore(sharedRedis(), { prefix: testPrefix() })
    const taken = needOutcome(
      (
        await store.consume([
          { shard: 0, grant: 'all', parts: ['a', 'b'].map((key) => ({ key, set: one, cost: 4 })) },
        ])
      )[0],
    )
    const parts = ['a', 'b'].map((key, i) => ({
      key,
      set: one,
      receipts: receiptsOf(taken, 2).slice(i, i + 1),
    }))
    const request = { shard: 0, parts, id: 'back' }
    expect(await store.refund([request, request])).toEqual([true, true])
    expect(await store.refund([request])).toEqual([true])
    const left = await store.peek([requestOf('a', one), requestOf('b', one)])
    expect(left.map((answer) => needOutcome(answer).limits[0]?.remaining)).toEqual([7, 7])
  })
})

/** Answers to refunds are kept in pages: one for the ids that a sender counts one after another. */
describe('ids of refunds', () => {
  const many = setOf('5000/min')
  const refundOf = (id: string, taken: Outcome, key = 'k'): RefundRequest => {
    return { shard: 0, id, parts: [{ key, set: many, receipts: receiptsOf(taken, 1) }] }
  }
  const leftOf = async (store: Store): Promise<unknown> =>
    (await outcomeOf(store, requestOf('k', many), 'peek')).limits[0]?.remaining

  test('each of a page has its own answer, also where its end stands across two others', async () => {
    const prefix = testPrefix()
    const store = redisStore(sharedRedis(), { prefix })
    const taken = await outcomeOf(store, requestOf('k', many, 3000))
    // `0` and `1` are also answers, and `abc` stand in one page.
    const digits = ['a', 'b', 'c']
    const ids = digits.flatMap((a) => [...digits, '0', '1'].map((b) => `sender-${a}${b}`))
    const isGiven = (id: string): boolean => id.charCodeAt(8) % 2 === 0
    const requests = ids.map((id) => refundOf(id, taken, isGiven(id) ? 'k' : 'nobody'))
    // Some in one call, and others alone.
    const first = [
      ...(await store.refund(requests.slice(0, 9))),
      ...(await Promise.all(requests.slice(9).map(async (request) => (await store.refund([request]))[0]))),
    ]
    expect(first).toEqual(ids.map(isGiven))
    const left = await leftOf(store)
    const others = ids.map((id) => refundOf(id, taken))
    expect(await store.refund([...others, ...others])).toEqual([...first, ...first])
    expect(await leftOf(store)).toBe(left)
    expect(await sharedRedis().keys(`${prefix}/=*`)).toEqual([`${prefix}/=+sender-24`])
    expect(await sharedRedis().strlen(`${prefix}/=+sender-24`)).toBe(1 + 3 * ids.length)
  })

  test('an id counts once whatever its length is, and is another than those that look like it', async () => {
    const prefix = testPrefix()
    const store = redisStore(sharedRedis(), { prefix })
    const taken = await outcomeOf(store, requestOf('k', many, 100))
    const ids = ['a', 'aa', 'aaa', 'aaaa', '-', '_a', 'a_', 'A', 'x'.repeat(64)]
    for (const id of ids) {
      expect(await store.refund([refundOf(id, taken)])).toEqual([true])
      expect(await store.refund([refundOf(id, taken)])).toEqual([true])
    }
    expect(await leftOf(store)).toBe(4900 + ids.length)
  })

  test.each<[how: string, lose: (store: Store, key: string) => Promise<unknown>]>([
    ['a reset', (store) => Promise.resolve(store.reset(['k'], 0))],
    ['an eviction of its subject', (_, key) => sharedRedis().del(key)],
  ])('counts once with %s in between', async (_, lose) => {
    const prefix = testPrefix()
    const store = redisStore(sharedRedis(), { prefix })
    const taken = await outcomeOf(store, requestOf('k', many, 100))
    expect(await store.refund([refundOf('sender-1', taken)])).toEqual([true])
    await lose(store, `${prefix}/k`)
    await outcomeOf(store, requestOf('k', many, 100))
    expect(await store.refund([refundOf('sender-1', taken)])).toEqual([true])
    expect(await leftOf(store)).toBe(4900)
  })

  test('each is remembered for ten minutes from its arrival, and nothing for longer than the last of its page', async () => {
    const prefix = testPrefix()
    const store = redisStore(sharedRedis(), { prefix })
    const page = `${prefix}/=+sender-12`
    const taken = await outcomeOf(store, requestOf('k', many, 100))
    for (const id of ['sender-00', 'sender-01', 'sender-30']) {
      expect(await store.refund([refundOf(id, taken)])).toEqual([true])
      const ttl = await sharedRedis().pttl(page)
      expect(ttl).toBeGreaterThan(ID_KEPT_MS - 60_000)
      expect(ttl).toBeLessThanOrEqual(ID_KEPT_MS)
      // As if all but a second had passed.
      await sharedRedis().pexpire(page, 1000)
      // One that is known adds nothing.
      expect(await store.refund([refundOf(id, taken)])).toEqual([true])
      expect(await sharedRedis().pttl(page)).toBeLessThanOrEqual(1000)
      await sharedRedis().persist(page)
    }
    expect(await sharedRedis().strlen(page)).toBe(1 + 3 * 3)
    expect(await leftOf(store)).toBe(4903)
  })

  test.each([
    ['of another application', 'OK'],
    ['of another version', Buffer.from([2, 48, 49, 49])],
    ['damaged', Buffer.from([3, 48, 49])],
  ])('a page %s is left alone, and its refund changes nothing', async (_, value) => {
    const prefix = testPrefix()
    const store = redisStore(sharedRedis(), { prefix })
    const taken = await outcomeOf(store, requestOf('k', many, 100))
    await sharedRedis().set(`${prefix}/=+sender-12`, value)
    const [answer] = await store.refund([refundOf('sender-01', taken)])
    expect(answer).toMatchObject({ isOfRequest: true, reason: 'foreign-value' })
    expect(await sharedRedis().getBuffer(`${prefix}/=+sender-12`)).toEqual(Buffer.from(value))
    expect(await leftOf(store)).toBe(4900)
  })
})
