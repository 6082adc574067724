// Top-ups, renewals, penalties and refunds of one limit equal a ledger that is kept outside: no sequence of them admits more than the
// quota of each period and what was topped up (law 1), `remaining` and `retryAfterMs` are true (laws 3 and 4), and a key counts once.
import { cases, testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type Store,
} from '../../../src/index.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'

afterAll(closeBenches)

/** 2026-01-31T12:34:56.789Z */
const START_MS = 1_769_862_896_789
const [MINUTE, HOUR] = [60_000, 3_600_000]
const QUOTA = 10

const act = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({ do: fc.constant('consume'), units: fc.constantFrom(1, 1, 2, 3, 5, 8, 14, 30) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('topUp'),
      units: fc.constantFrom(1, 4, 20),
      key: fc.nat(9),
      for: fc.constantFrom(5, 45, 100, 300),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('renew'), key: fc.nat(9) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('penalize'), units: fc.constantFrom(1, 6), key: fc.nat(9) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('refund'), nth: fc.nat(5) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('wait'),
      ms: fc.constantFrom(1000, 7 * MINUTE, 25 * MINUTE, HOUR, 3 * HOUR),
    }),
  },
)
interface Act {
  readonly do: 'consume' | 'topUp' | 'renew' | 'penalize' | 'refund' | 'wait'
  readonly units: number
  readonly key: number
  readonly for: number
  readonly nth: number
  readonly ms: number
}

interface Pot {
  left: number
  used: number
  readonly ends: number
}

/** The ledger: what one window counts, what top-ups have left, and all that was ever allowed. */
class Ledger {
  now = START_MS
  own = 0
  /** Units that may be used in all: a quota for each period, and each top-up. */
  allowance = QUOTA
  admitted = 0
  #startsAt = START_MS
  #renewedAt = 0
  #pots: Pot[] = []
  readonly #keys = new Map<number, string>()

  readonly isCalendar: boolean

  constructor(isCalendar: boolean) {
    this.isCalendar = isCalendar
    if (isCalendar) this.#startsAt = START_MS - (START_MS % HOUR)
  }

  get windowEnd(): number {
    return this.#startsAt + HOUR
  }

  /** Units that top-ups have left. */
  get left(): number {
    return this.#pots.reduce((sum, { left }) => sum + left, 0)
  }

  get remaining(): number {
    return Math.max(QUOTA - this.own, 0) + this.left
  }

  get isUsed(): boolean {
    return this.own > 0 || this.#pots.some(({ used }) => used > 0)
  }

  /** Time has passed. */
  age(): void {
    if (this.now >= this.windowEnd) {
      this.#period()
      this.#startsAt = this.isCalendar ? this.now - (this.now % HOUR) : this.now
    } else if (!this.isCalendar && !this.isUsed) this.#startsAt = this.now
    // What one that has ended paid stays with the window.
    for (const pot of this.#pots) if (pot.ends <= this.now) this.own += pot.used
    this.#pots = this.#pots.filter(({ ends }) => ends > this.now)
  }

  #period(): void {
    this.allowance += QUOTA
    this.own = 0
    for (const pot of this.#pots) pot.used = 0
  }

  /** Whether a booking is new; the code of the error that it gets if its key was used for another. */
  isNew(one: Act): boolean | string {
    const says = `${one.do} ${one.units} ${one.for}`
    const known = this.#keys.get(one.key)
    if (known === undefined) this.#keys.set(one.key, says)
    return known === undefined || (known === says ? false : 'ERR_TOLLGATE_KEY')
  }

  book(one: Act): void {
    if (one.do === 'topUp') {
      this.#pots.push({ left: one.units, used: 0, ends: this.now + one.for * MINUTE })
      this.#pots.sort((a, b) => a.ends - b.ends)
      this.allowance += one.units
    } else if (one.do === 'renew') {
      this.#period()
      this.#renewedAt = this.now
      if (!this.isCalendar) this.#startsAt = this.now
    } else this.take(one.units)
  }

  take(units: number): void {
    const own = Math.min(units, Math.max(QUOTA - this.own, 0))
    this.own += own
    let more = units - own
    for (const pot of this.#pots) {
      const paid = Math.min(pot.left, more)
      pot.left -= paid
      pot.used += paid
      more -= paid
    }
    // A penalty can go beyond.
    this.own += more
  }

  /** Of the current period alone. Returns whether any came back. */
  give(units: number, takenAt: number): boolean {
    if (takenAt < this.#startsAt || takenAt < this.#renewedAt || !this.isUsed) return false
    let more = units
    for (const pot of this.#pots.toReversed()) {
      const back = Math.min(pot.used, more)
      pot.left += back
      pot.used -= back
      more -= back
    }
    this.own = Math.max(this.own - more, 0)
    return true
  }

  /** When a cost that does not fit will fit. */
  retryAfter(cost: number): number | null {
    const lasting = this.#pots
      .filter(({ ends }) => ends > this.windowEnd)
      .reduce((sum, { left }) => sum + left, 0)
    return cost > QUOTA + lasting ? null : this.windowEnd - this.now
  }
}

interface Taken {
  readonly decision: Decision
  readonly units: number
  readonly at: number
}

async function play(store: Store, ledger: Ledger, acts: readonly Act[]): Promise<void> {
  const window = ledger.isCalendar
    ? { window: 'h', timeZone: 'UTC' }
    : { window: 'h', algorithm: 'fixed-window' as const }
  const limit = { quota: QUOTA, name: 'hour', ...window }
  const limiter: Limiter = createLimiter({
    ...{
      plans: { pro: { limits: [limit] } },
      defaultPlan: 'pro',
      store,
      warnings: false,
      deadlineMs: 60_000,
      denials: false,
    },
  } as never)
  const taken: Taken[] = []
  for (const one of acts) {
    if (one.do === 'wait') ledger.now += one.ms
    ledger.age()
    await step(limiter, ledger, one, taken)
    const { limits } = await limiter.peek('acme')
    expect([one, limits[0]?.remaining, limits[0]?.toppedUp ?? 0]).toEqual([
      one,
      ledger.remaining,
      ledger.left,
    ])
    expect(ledger.admitted).toBeLessThanOrEqual(ledger.allowance)
  }
  await limiter.close()
}

async function step(limiter: Limiter, ledger: Ledger, one: Act, taken: Taken[]): Promise<void> {
  if (one.do === 'consume') {
    const decision = await limiter.consume('acme', { cost: one.units })
    const fits = one.units <= ledger.remaining
    expect([one, decision.allowed, decision.retryAfterMs]).toEqual([
      one,
      fits,
      fits ? 0 : ledger.retryAfter(one.units),
    ])
    if (!fits) return
    ledger.take(one.units)
    ledger.admitted += one.units
    taken.unshift({ decision, units: one.units, at: ledger.now })
  } else if (one.do === 'refund') {
    const [before] = taken.splice(one.nth, 1)
    if (!before) return
    const isGiven = ledger.give(before.units, before.at)
    expect([one, await limiter.refund(before.decision)]).toEqual([one, isGiven])
    if (isGiven) ledger.admitted -= before.units
  } else if (one.do !== 'wait') {
    const isNew = ledger.isNew(one)
    const booked = await book(limiter, one)
    expect([one, booked]).toEqual([one, typeof isNew === 'string' ? isNew : !isNew])
    if (isNew === true) ledger.book(one)
  }
}

/** Whether it was repeated, or the code of the error. */
async function book(limiter: Limiter, one: Act): Promise<boolean | string> {
  const options = { limit: 'hour', key: `key ${one.key}` }
  try {
    if (one.do === 'renew') return (await limiter.renew('acme', options)).isRepeated
    if (one.do === 'penalize')
      return (await limiter.penalize('acme', { ...options, units: one.units })).isRepeated
    const end = { for: one.for * MINUTE }
    return (await limiter.topUp('acme', { ...options, units: one.units, ...end })).isRepeated
  } catch (error) {
    return (error as { readonly code: string }).code
  }
}

describe.each([
  ['fixed window', false],
  ['calendar window', true],
])('%s', (_, isCalendar) => {
  const acts = fc.array(act, { minLength: 5, maxLength: 50 }) as fc.Arbitrary<unknown> as fc.Arbitrary<Act[]>

  test('in memory', async () => {
    await fc.assert(
      fc.asyncProperty(acts, async (all) => {
        const ledger = new Ledger(isCalendar)
        await play(memoryStore({ now: () => ledger.now }), ledger, all)
      }),
      { numRuns: cases(300, 2000) },
    )
  })

  test('on Redis', async () => {
    await fc.assert(
      fc.asyncProperty(acts, async (all) => {
        const ledger = new Ledger(isCalendar)
        await play(redisStore(sharedRedis(), { prefix: testPrefix(), now: () => ledger.now }), ledger, all)
      }),
      { numRuns: cases(40, 400) },
    )
  })
})
