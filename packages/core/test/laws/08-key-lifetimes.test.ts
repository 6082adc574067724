// Law 8 where units come back before their time: the key goes when nothing of the subject counts any more.
import { testPrefix } from '@tollgate/testing'
import { EARLIEST } from '../../src/algorithms/implementation.js'
import { createLimiter, redisStore, type LimitInput } from '../../src/index.js'
import type { LimitSet } from '../../src/plans/limit/limit-set.js'
import type { Hold, LeaseOrder, Outcome, Store } from '../../src/stores/contract.js'
import { ProcessStore } from '../../src/stores/memory/process-store.js'
import { closeBenches, sharedRedis } from '../support/benches.js'
import { orderFor, outcomeOf, receiptsOf, requestOf, setOf, waiting } from '../support/store-requests.js'

afterAll(closeBenches)

const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000]
/** The end of a value is kept in whole seconds. */
const SECOND_MS = 1000
const AT_ONCE_MS = SECOND_MS

/** A store by the real clock, and how many ms the key of a subject lives from now; 0: there is none. */
interface Bench {
  readonly store: Store
  lives(key: string): Promise<number>
}

const stores: readonly (readonly [name: string, open: () => Bench])[] = [
  [
    'memory',
    () => {
      const store = new ProcessStore(100)
      const lives = async (key: string): Promise<number> => {
        const { expires = 0 } = (store.kept(key) ?? {}) as { expires?: number }
        return Math.max(expires / 1000 - Date.now(), 0)
      }
      return { store, lives }
    },
  ],
  [
    'Redis',
    () => {
      const prefix = testPrefix()
      const store = redisStore(sharedRedis(), { prefix })
      const lives = async (key: string): Promise<number> =>
        Math.max(await sharedRedis().pttl(`${prefix}/${key}`), 0)
      return { store, lives }
    },
  ],
]

const minute = setOf('5/min')
const day = setOf('5/d')
const idOf = (n: number): string => `hold-${String(n).padStart(7, '0')}`
const take = (store: Store, set: LimitSet, cost = 1): Promise<Outcome> =>
  outcomeOf(store, requestOf('k', set, cost))

function hold(
  store: Store,
  kind: Hold['kind'],
  n: number,
  set: LimitSet,
  lengthMs: number,
): Promise<Outcome> {
  const asked = { kind, id: idOf(n), lengthUs: lengthMs * 1000, slackUs: 20_000, most: 1000 }
  return outcomeOf(store, { ...requestOf('k', set, 2), hold: asked })
}

function order(store: Store, set: LimitSet, orderOf: LeaseOrder): Promise<Outcome> {
  return outcomeOf(store, orderFor('k', set, orderOf))
}

function end(store: Store, n: number, set: LimitSet, used = 0): Promise<Outcome> {
  return order(store, set, { reports: [{ id: idOf(n), used, left: 0 }] })
}

function lease(store: Store, n: number, set: LimitSet): Promise<Outcome> {
  const wish = { id: idOf(n), most: 2, least: 1, share: 1, lengthUs: 1_000_000, lagUs: 0 }
  return order(store, set, { reports: [], wish })
}

async function refund(store: Store, set: LimitSet, taken: Outcome, units: number): Promise<void> {
  await store.refund([{ shard: 0, parts: [{ key: 'k', set, receipts: receiptsOf(taken, units) }] }])
}

async function refundByKey(store: Store, set: LimitSet, units: number): Promise<void> {
  const receipts = set.limits.map(() => ({ units, at: EARLIEST, remaining: 0, reset: 0 }))
  await store.refund([{ shard: 0, parts: [{ key: 'k', set, receipts }] }])
}

async function tell(
  store: Store,
  set: LimitSet,
  grant: 'all' | 'declare' | 'release',
  held: number,
): Promise<Outcome> {
  const slots = { id: 'holder', held, known: 1 }
  return outcomeOf(store, { shard: 0, grant, parts: [{ key: 'k', set, cost: 1, slots }] })
}

/** Each road on which units come back, and how long the rest of the subject's state counts at most. */
const roads: readonly (readonly [road: string, walk: (store: Store) => Promise<unknown>, restMs: number])[] =
  [
    [
      'a reservation of a day that was cancelled',
      async (store) => {
        await hold(store, 'reservation', 1, minute, DAY_MS)
        await end(store, 1, minute)
      },
      AT_ONCE_MS,
    ],
    [
      'a reservation of a day that was cancelled, of a subject that used something',
      async (store) => {
        await take(store, minute)
        await hold(store, 'reservation', 1, minute, DAY_MS)
        await end(store, 1, minute)
      },
      MINUTE_MS + SECOND_MS,
    ],
    [
      'a reservation of a day that was committed',
      async (store) => {
        await hold(store, 'reservation', 1, minute, DAY_MS)
        await end(store, 1, minute, 1)
      },
      MINUTE_MS + SECOND_MS,
    ],
    [
      'the longer one of two reservations',
      async (store) => {
        await hold(store, 'reservation', 1, minute, DAY_MS)
        await hold(store, 'reservation', 2, minute, 2 * MINUTE_MS)
        await end(store, 1, minute)
      },
      2.1 * MINUTE_MS,
    ],
    [
      'a reservation that was cancelled after the plan changed',
      async (store) => {
        await hold(store, 'reservation', 1, day, DAY_MS)
        await take(store, minute)
        await end(store, 1, day)
      },
      MINUTE_MS + SECOND_MS,
    ],
    [
      'a lease that was given back',
      async (store) => {
        await lease(store, 1, day)
        await end(store, 1, day)
      },
      AT_ONCE_MS,
    ],
    [
      'a place that was left',
      async (store) => {
        await take(store, minute, 5)
        await hold(store, 'place', 1, waiting(minute), DAY_MS)
        await end(store, 1, waiting(minute))
      },
      MINUTE_MS + SECOND_MS,
    ],
    [
      'a refund on a plan with a long window, after the plan changed',
      async (store) => {
        const taken = await take(store, day)
        await take(store, minute)
        await refund(store, day, taken, 1)
      },
      MINUTE_MS + SECOND_MS,
    ],
    [
      'a change of the plan after a refund on one with a long window',
      async (store) => {
        await refund(store, day, await take(store, day), 1)
        await take(store, minute)
      },
      MINUTE_MS + SECOND_MS,
    ],
    [
      'a refund by key',
      async (store) => {
        await take(store, day, 3)
        await refundByKey(store, day, 5)
      },
      AT_ONCE_MS,
    ],
    [
      'a charge for units that are too old to count',
      (store) =>
        outcomeOf(store, {
          shard: 0,
          grant: 'force',
          parts: [{ key: 'k', set: day, cost: 1, used: [[{ units: 2, ageUs: 3 * DAY_MS * 1000 }]] }],
        }),
      AT_ONCE_MS,
    ],
    [
      'a reset',
      async (store) => {
        await take(store, day)
        await hold(store, 'reservation', 1, day, DAY_MS)
        await store.reset(['k'], 0)
        await end(store, 1, day)
      },
      0,
    ],
    [
      'a request in flight that was released, and whose units went back',
      async (store) => {
        const set = setOf('5/d', '3 concurrent')
        const taken = await tell(store, set, 'all', 0)
        await tell(store, set, 'release', 0)
        await refund(store, set, taken, 1)
      },
      14_000 + SECOND_MS,
    ],
  ]

const algorithms: readonly (readonly [name: string, limit: LimitInput])[] = [
  ['sliding-log', '5/d'],
  ['fixed-window', { quota: 5, window: DAY_MS, algorithm: 'fixed-window' }],
  ['a calendar window', '5/month'],
  ['sliding-window', { quota: 5, window: DAY_MS, algorithm: 'sliding-window' }],
  ['token-bucket', { quota: 5, window: DAY_MS, algorithm: 'token-bucket' }],
]

describe.each(stores)('law 8, units that came back keep no key, on %s', (_, open) => {
  test.each(roads)('%s', async (_road, walk, restMs) => {
    const { store, lives } = open()
    await walk(store)
    expect(await lives('k')).toBeLessThanOrEqual(restMs)
  })

  test.each(algorithms)('all units of a subject, by their receipts: %s', async (_name, limit) => {
    const { store, lives } = open()
    const set = setOf(limit)
    const [first, second] = [await take(store, set, 1), await take(store, set, 3)]
    await refund(store, set, second, 3)
    expect(await lives('k')).toBeGreaterThan(MINUTE_MS)
    await refund(store, set, first, 1)
    expect(await lives('k')).toBeLessThanOrEqual(AT_ONCE_MS)
  })

  // A refund from the middle of a bucket moves the units behind it forward. Their receipts do not say so: without the note on
  // it they could give back what was taken later.
  test('an empty bucket is kept while it notes a refund that receipts of before do not know of', async () => {
    const { store, lives } = open()
    const set = setOf({ quota: 5, window: DAY_MS, algorithm: 'token-bucket' })
    const [first, second] = [await take(store, set, 1), await take(store, set, 3)]
    await refund(store, set, first, 1)
    await refund(store, set, second, 3)
    expect((await outcomeOf(store, requestOf('k', set), 'peek')).limits[0]?.remaining).toBe(5)
    expect(await lives('k')).toBeGreaterThan(MINUTE_MS)
  })

  test('what still counts is kept: a reservation, units of another plan, a reservation beside them', async () => {
    const { store, lives } = open()
    const taken = await take(store, minute)
    await take(store, day)
    await hold(store, 'reservation', 1, minute, 2 * DAY_MS)
    await refund(store, minute, taken, 1)
    expect(await lives('k')).toBeGreaterThan(2 * DAY_MS - MINUTE_MS)
    await end(store, 1, minute)
    expect(await lives('k')).toBeGreaterThan(DAY_MS - MINUTE_MS)
    expect((await take(store, day)).limits[0]?.remaining).toBe(3)
    expect((await take(store, minute)).limits[0]?.remaining).toBe(4)
  })
})

test('a limiter whose reservation of a day is cancelled leaves no key', async () => {
  const prefix = testPrefix()
  const limiter = createLimiter({
    limit: '100/min',
    store: redisStore(sharedRedis(), { prefix }),
    deadlineMs: 10_000,
    onStoreFailure: 'closed',
    local: { instances: 1 },
  })
  const reservation = await limiter.reserve('acme', { cost: 5, for: '1d' })
  expect(await sharedRedis().pttl(`${prefix}/acme`)).toBeGreaterThan(DAY_MS - MINUTE_MS)
  await reservation.cancel()
  expect(await sharedRedis().pttl(`${prefix}/acme`)).toBeLessThanOrEqual(AT_ONCE_MS)
  await limiter.close()
})
