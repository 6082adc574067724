// Accounts among all that stores are asked: memory and Redis answer each message the same (law 5), with leases, places, reservations,
// charges, refunds, blocks, several keys, and a clock that goes back. And units that are held for later are paid by top-ups once.
import { cases, testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import { memoryStore, redisStore } from '../../../src/index.js'
import type { LimitInput } from '../../../src/plans/limit/limit.js'
import type {
  AccountEntry,
  Hold,
  LeaseOrder,
  Outcome,
  RefundRequest,
  Store,
  StoreRequest,
} from '../../../src/store.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'
import {
  blockingAfter,
  orderFor,
  outcomeOf,
  receiptsOf,
  requestOf,
  setOf,
  waiting,
} from '../../support/store-requests.js'

afterAll(closeBenches)

/** 2026-01-31T12:59:56.789Z: an hour of the calendar is about to end. */
const START_US = 1_769_864_396_789_000
const fixed = (quota: number, window: number, more: object = {}): LimitInput =>
  ({ quota, window, algorithm: 'fixed-window', ...more }) as LimitInput
const hourly = (quota: number): LimitInput => ({ quota, window: 'h', timeZone: 'UTC' })
const blocks = { denials: 3, withinUs: 3_000_000, forUs: [500_000, 2_000_000] }

const sets = [
  setOf(fixed(10, 4000)),
  setOf(fixed(10, 4000), { quota: 30, window: 3000 }),
  setOf(hourly(10), fixed(25, 6000)),
  waiting(setOf(fixed(10, 4000))),
  blockingAfter(setOf(fixed(5, 4000), { quota: 30, window: 3000 }), blocks),
  setOf(fixed(4, 4000, { overage: true }), fixed(9, 4000)),
  setOf(fixed(7, 4000), fixed(12, 4000)),
  setOf({ quota: 10, window: 4000, algorithm: 'token-bucket' }, { quota: 14, window: 4000 }),
  setOf(fixed(7, 4000, { mode: 'observe' }), fixed(12, 2000)),
  // Windows of their own: what other plans counted is kept for longer in Redis while a test sets the clock.
  setOf({ quota: 4, window: 'd', anchor: '2026-01-31T13:00', overage: true }, fixed(9, 6000)),
  setOf(fixed(4, 4300, { overage: true })),
  ...Array.from({ length: 70 }, (_, i) => setOf(fixed(20, 5000 + 100 * i))),
]

/** Those of the sets whose windows are billed. */
const OVERAGE = [9, 10]

interface Act {
  readonly do: 'consume' | 'both' | 'book' | 'lease' | 'hold' | 'charge' | 'refund' | 'unblock' | 'wait'
  readonly key: string
  readonly set: number
  readonly other: number
  readonly cost: number
  readonly grant: 'all' | 'upTo'
  readonly kind: AccountEntry['kind']
  readonly id: string
  readonly nth: number
  readonly us: number
  readonly order: LeaseOrder
  readonly hold: Hold
  readonly isEarliest: boolean
}

const of = fc.constantFrom
const set = fc.oneof(
  { weight: 10, arbitrary: fc.nat(10) },
  { weight: 1, arbitrary: fc.integer({ min: 11, max: 80 }) },
)
const on = { key: of('k', 'k', 'k', 'l'), set }
const id = of('aaaaaaaaaaaa', 'bbbbbbbbbbbb', 'cccccccccccc', 'dddddddddddd')
const report = fc.record({ id, used: fc.nat(12), left: of(0, 0, 1, 5) })
const wish = fc.record({
  ...{ id, most: of(3, 10, 30), least: of(1), share: of(0.5, 1), lengthUs: of(100_000, 1_000_000) },
  lagUs: of(0, 0, 500_000, 1_000_000),
})
const order = fc.record({
  reports: fc.array(report, { maxLength: 2 }),
  wish: fc.option(wish, { nil: undefined }),
})
const lengthUs = of(500_000, 2_000_000, 5_000_000)
const hold = fc.oneof(
  fc.record({ kind: of('place' as const), id, lengthUs, slackUs: of(0, 20_000, 300_000), most: of(5) }),
  fc.record({ kind: of('reservation' as const), id, lengthUs, slackUs: of(0), most: of(5) }),
)
const cost = of(1, 2, 3, 5, 8, 12, 20)
const act = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: of('consume'), ...on, cost, grant: of('all', 'all', 'all', 'upTo') }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: of('both'), set, other: set, cost: of(1, 2, 5), grant: of('all', 'upTo') }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      ...{ do: of('book'), ...on, kind: of('topUp', 'topUp', 'renewal', 'penalty'), nth: fc.nat(10) },
      ...{ cost: of(1, 4, 9, 40), us: of(500_000, 2_500_000, 5_000_000, 60_000_000) },
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: of('lease'), ...on, order }) },
  { weight: 3, arbitrary: fc.record({ do: of('hold'), ...on, cost, hold }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: of('charge'),
      ...on,
      cost,
      us: of(0, 1_500_000, 3_900_000, 7_000_000, 11_000_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: of('refund'), nth: fc.nat(5), cost: of(1, 3, 8), isEarliest: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: of('unblock'), ...on }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: of('wait'),
      us: of(1000, 300_000, 1_000_000, 2_100_000, 4_000_000, 9_000_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: of('wait'), us: of(-1, -300_000, -2_000_000) }) },
)

function messageOf(one: Act): StoreRequest {
  const asked = sets[one.set] as (typeof sets)[number]
  const part = { key: one.key, set: asked, cost: one.cost }
  switch (one.do) {
    case 'both': {
      const other = sets[one.other] as typeof asked
      return {
        shard: 0,
        grant: one.grant,
        parts: [
          { ...part, key: 'k' },
          { key: 'l', set: other, cost: one.cost },
        ],
      }
    }
    case 'book': {
      const limit = one.nth % asked.limits.length
      // Only limits with windows can be topped up.
      const isWindow = /fixed|calendar/.test(asked.limits[limit]?.algorithm ?? '')
      const kind = one.kind === 'topUp' && !isWindow ? 'renewal' : one.kind
      const end =
        kind !== 'topUp' ? { inUs: 0 } : one.nth % 2 ? { inUs: one.us } : { at: START_US + 3 * one.us }
      const names = { id: `id-${one.nth}`.padEnd(12, '_'), says: `${kind[0]}${one.cost}`.padEnd(6, '_') }
      const entry = { kind, limit, units: kind === 'renewal' ? 0 : one.cost, end, ...names }
      return { shard: 0, grant: 'account', parts: [{ ...part, cost: 1 }], entry }
    }
    case 'lease':
      return orderFor(one.key, asked, one.order)
    case 'hold':
      return { shard: 0, grant: 'all', parts: [part], hold: one.hold }
    case 'charge': {
      const used = asked.limits.map(() => [{ units: one.cost, ageUs: one.us }])
      return { shard: 0, grant: 'force', parts: [{ ...part, used }] }
    }
    case 'unblock':
      return { shard: 0, grant: 'unblock', parts: [{ ...part, cost: 1 }] }
    default:
      return { shard: 0, grant: one.grant, parts: [part] }
  }
}

function usageRequest(key: string, asked: (typeof sets)[number]): StoreRequest {
  const entry = { kind: 'usage', id: '', says: '', limit: 0, units: 0, end: { inUs: 0 } } as const
  return { shard: 0, grant: 'account', parts: [{ key, set: asked, cost: 1 }], entry }
}

async function play(acts: readonly Act[]): Promise<void> {
  const clock = { us: START_US }
  const now = (): number => clock.us / 1000
  const memory = memoryStore({ now })
  const redis = redisStore(sharedRedis(), { prefix: testPrefix(), now })
  const taken: { readonly message: StoreRequest; readonly outcome: Outcome }[] = []
  const looks = [0, 1, 2, 6].flatMap((n) =>
    ['k', 'l'].map((key) => requestOf(key, sets[n] as (typeof sets)[number], 3)),
  )
  const usages = OVERAGE.flatMap((n) =>
    ['k', 'l'].map((key) => usageRequest(key, sets[n] as (typeof sets)[number])),
  )
  const both = async <T>(ask: (store: Store) => T): Promise<Awaited<T>> => {
    const [here, there] = [await ask(memory), await ask(redis)]
    expect(there).toEqual(here)
    return here
  }
  for (const one of acts) {
    if (one.do === 'wait') clock.us += one.us
    // Plans with overage are not leased.
    else if (one.do === 'lease' && OVERAGE.includes(one.set)) continue
    else if (one.do === 'refund') {
      const { message, outcome } = taken[one.nth] ?? {}
      if (!message || !outcome) continue
      const receipts = receiptsOf(outcome, one.cost).map((receipt) =>
        one.isEarliest ? { ...receipt, at: -1 } : receipt,
      )
      const [{ key, set: asked }] = message.parts as unknown as [{ key: string; set: (typeof sets)[number] }]
      const refund: RefundRequest = { shard: 0, parts: [{ key, set: asked, receipts }] }
      await both((store) => store.refund([refund]))
    } else {
      const message = messageOf(one)
      const [outcome] = (await both((store) => store.consume([message]))) as readonly Outcome[]
      if (one.do === 'consume' && outcome?.limits.every(({ wait }) => wait === 0))
        taken.unshift({ message, outcome })
    }
    await both((store) => store.peek(looks as never))
    await both((store) => store.consume(usages))
  }
}

const PLACE = { kind: 'place', id: 'aaaaaaaaaaaa', lengthUs: 500_000, slackUs: 0, most: 5 }
/** What says that a window is billed ends with it, also where a test's clock keeps values for longer. */
const AS_LONG_AS_ITS_WINDOW = [
  { do: 'both', key: 'k', set: 0, other: 10, cost: 1, grant: 'all' },
  { do: 'wait', us: 9_000_000 },
  { do: 'hold', key: 'l', set: 0, cost: 1, hold: PLACE },
  { do: 'wait', us: -2_000_000 },
  { do: 'hold', key: 'k', set: 0, cost: 1, hold: { ...PLACE, kind: 'reservation' } },
] as unknown as Act[]

const WISH = { id: 'aaaaaaaaaaaa', most: 3, least: 1, share: 0.5, lengthUs: 100_000, lagUs: 0 }
/** The penalty is on another limit, while a process holds units: which of them top-ups pay stays the same. */
const PENALTY_BESIDE_A_LEASE = [
  { do: 'book', key: 'k', set: 0, kind: 'topUp', nth: 0, cost: 9, us: 500_000 },
  { do: 'consume', key: 'k', set: 0, cost: 5, grant: 'all' },
  { do: 'unblock', key: 'k', set: 0 },
  { do: 'lease', key: 'k', set: 0, order: { reports: [], wish: WISH } },
  {
    do: 'lease',
    key: 'k',
    set: 0,
    order: { reports: [{ id: 'aaaaaaaaaaaa', used: 1, left: 0 }], wish: WISH },
  },
  { do: 'book', key: 'k', set: 4, kind: 'penalty', nth: 1, cost: 1, us: 500_000 },
] as unknown as Act[]

test('memory and Redis answer the same', async () => {
  const acts = fc.array(act, { minLength: 5, maxLength: 50 }) as fc.Arbitrary<unknown> as fc.Arbitrary<Act[]>
  await fc.assert(fc.asyncProperty(acts, play), {
    numRuns: cases(60, 600),
    examples: [[AS_LONG_AS_ITS_WINDOW], [PENALTY_BESIDE_A_LEASE]],
  })
})

describe.each(['memory', 'Redis'])('units that are held until their window is over, on %s', (where) => {
  const topUp = { kind: 'topUp', id: 'abcdefghijkl', says: 'abcdef', limit: 0, units: 5 } as const
  const clock = { us: 0 }
  const now = (): number => clock.us / 1000
  const newStore = (): Store =>
    where === 'memory' ? memoryStore({ now }) : redisStore(sharedRedis(), { prefix: testPrefix(), now })

  async function topped(asked: (typeof sets)[number]): Promise<Store> {
    clock.us = START_US
    const store = newStore()
    const entry = { ...topUp, end: { inUs: 3_600_000_000 } }
    await outcomeOf(store, { shard: 0, grant: 'account', parts: [{ key: 'k', set: asked, cost: 1 }], entry })
    return store
  }

  /** Others take the rest of the window. Nobody asks until it is over. */
  async function leftAfterOthers(store: Store, asked: (typeof sets)[number]): Promise<number | undefined> {
    const others = await outcomeOf(store, requestOf('k', asked, 7))
    expect(others.limits[0]?.wait).toBe(0)
    clock.us += 9_000_000
    return (await outcomeOf(store, requestOf('k', asked), 'peek')).limits[0]?.remaining
  }

  test('a place is paid', async () => {
    const asked = waiting(setOf(fixed(10, 4000)))
    const store = await topped(asked)
    await outcomeOf(store, requestOf('k', asked, 10))
    clock.us += 3_900_000
    const kept = { kind: 'place', id: 'place-place1', lengthUs: 2_000_000, slackUs: 20_000, most: 5 } as const
    const place = await outcomeOf(store, { ...requestOf('k', asked, 8), hold: kept })
    expect(place.hold?.delayUs).toBe(100_000)
    clock.us += 100_001
    expect(await leftAfterOthers(store, asked)).toBe(10)
  })

  test('a lease is paid', async () => {
    const asked = setOf(fixed(10, 4000))
    const store = await topped(asked)
    await outcomeOf(store, requestOf('k', asked))
    clock.us += 3_500_000
    const lease = { id: 'lease-lease1', most: 7, least: 7, share: 1, lengthUs: 800_000, lagUs: 800_000 }
    expect(
      (await outcomeOf(store, orderFor('k', asked, { reports: [], wish: lease }))).limits[0]?.granted,
    ).toBe(7)
    // One and 7 and 7 units in the window: the top-up pays what is beyond 10.
    expect(await leftAfterOthers(store, asked)).toBe(10)
  })
})
