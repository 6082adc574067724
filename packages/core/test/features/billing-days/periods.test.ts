// No sequence of moved billing days, plans and renewals admits more than the quota of each period (laws 1, 3, 4 and 7): against periods that
// are computed outside, from dates alone.
import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import type { Limiter } from '../../../src/index.js'
import { benches, closeBenches, START_MS, type Clock } from '../../support/benches.js'

afterAll(closeBenches)

const DAY = 86_400_000
const plans = { small: '7/month', large: '100/month', capped: ['31/month', '60/d'] } as const
const QUOTA = { small: 7, large: 100, capped: 31 } as const
type PlanName = keyof typeof plans

/** The beginning and end of the month that begins on this day, or on the last day of a shorter month. */
function monthAt(now: number, day: number): readonly [number, number] {
  const begin = (months: number): number => {
    const date = new Date(now)
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + months]
    return Date.UTC(year, month, Math.min(day, new Date(Date.UTC(year, month + 1, 0)).getUTCDate()))
  }
  return begin(0) <= now ? [begin(0), begin(1)] : [begin(-1), begin(0)]
}

/** Two shares of one length can differ in the last digit. */
function shareOf(quota: number, share: number): number {
  return Math.ceil(Math.round(quota * share * 1e6) / 1e6)
}

/** What a subject may use, told by dates. */
class Periods {
  /** The period in which something was used last. */
  #stored: { readonly end: number; readonly share: number; readonly used: number } | undefined
  /** Whether it was used with a billing day. Else it is forgotten once it is over, as by every limit of a month. */
  #isBilled = false
  #hasDay = false
  #now = 0
  #period = { end: 0, share: 1, used: 0 }

  at(now: number, day: number, quota: number): { readonly left: number; readonly end: number } {
    const [start, end] = monthAt(now, day || 1)
    this.#forget(now)
    this.#hasDay = day > 0
    const stored = this.#stored
    this.#now = now
    if (stored && now < stored.end) this.#period = { ...stored }
    else {
      const begin = Math.max(start, stored?.end ?? 0)
      this.#period = { end, share: (end - begin) / (end - start), used: 0 }
    }
    const left = Math.max(shareOf(quota, this.#period.share) - this.#period.used, 0)
    return { left, end: this.#period.end }
  }

  /** When a cost fits that does not now: in the next period or, if that is short, in the one after it. */
  fitsAt(cost: number, day: number, quota: number): number {
    const { end: begin } = this.#period
    const [start, end] = monthAt(begin, day || 1)
    return cost <= shareOf(quota, (end - begin) / (end - start)) ? begin : end
  }

  #forget(now: number): void {
    if (!this.#stored) return
    const { end, used } = this.#stored
    if (this.#isBilled ? now >= end + 32 * DAY : now >= end || used === 0) this.#stored = undefined
  }

  use(units: number): void {
    if (this.#hasDay || !this.#stored) this.#isBilled = this.#hasDay
    this.#stored = { ...this.#period, used: this.#period.used + units }
  }

  give(units: number): void {
    if (this.#stored && this.#now < this.#stored.end)
      this.#stored = { ...this.#stored, used: Math.max(this.#stored.used - units, 0) }
  }

  renew(): void {
    this.#stored = undefined
  }
}

/** 0: no billing day of its own, which is the first. */
const day = fc.constantFrom(0, 1, 5, 15, 28, 30, 31)
const plan = fc.constantFrom<PlanName>('small', 'large', 'capped')
const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('use'), plan, day, cost: fc.constantFrom(1, 2, 5, 16) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('renew'), plan, day }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('refund') }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait'), ms: fc.integer({ min: 1, max: 40 * DAY }) }) },
)
interface Act {
  readonly do: string
  readonly plan: PlanName
  readonly day: number
  readonly cost: number
  readonly ms: number
}

function subjectOf({ plan: name, day: own }: Act): object {
  return own === 0 ? { id: 'acme', plan: name } : { id: 'acme', plan: name, anchor: own }
}

async function play(limiters: readonly Limiter[], acts: readonly Act[], clock: Clock): Promise<void> {
  const periods = new Periods()
  let latest: Awaited<ReturnType<Limiter['consume']>> | undefined
  let key = 0
  for (const [i, one] of acts.entries()) {
    const limiter = limiters[i % limiters.length] as Limiter
    if (one.do === 'wait') clock.now += one.ms
    else if (one.do === 'renew') {
      await limiter.renew(subjectOf(one) as never, { limit: 'month', key: `${(key += 1)}` })
      periods.at(clock.now, one.day, 1)
      periods.renew()
      latest = undefined
    } else if (one.do === 'refund' && latest) {
      const { cost } = latest
      const isGiven = await limiter.refund(latest)
      // What was taken in a period that is over stays used there.
      if (isGiven) periods.give(cost)
      latest = undefined
    } else if (one.do === 'use') {
      const decision = await limiter.consume(subjectOf(one) as never, { cost: one.cost })
      const { left, end } = periods.at(clock.now, one.day, QUOTA[one.plan])
      const month = decision.limits.find(({ name }) => name === 'month')
      const fits = one.cost <= left
      if (decision.violated.includes('day')) continue
      expect([one, decision.allowed, month?.remaining]).toEqual([one, fits, fits ? left - one.cost : left])
      if (!fits) {
        const quota = QUOTA[one.plan]
        const wait = Math.ceil(periods.fitsAt(one.cost, one.day, quota) - clock.now)
        expect([one, decision.retryAfterMs]).toEqual([one, one.cost > quota ? null : wait])
        continue
      }
      periods.use(one.cost)
      latest = decision
      expect(month?.resetMs).toBe(Math.ceil(end - clock.now))
    }
  }
}

describe.each(benches)('on $store', (bench) => {
  test('each period admits its quota, whenever billing days are moved', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 10, maxLength: 80 }), async (acts) => {
        const clock = { now: Math.floor(START_MS) }
        const limiter = bench.limiter({ plans, defaultPlan: 'small', denials: false, warnings: false }, clock)
        try {
          await play([limiter], acts as Act[], clock)
        } finally {
          await limiter.close()
        }
      }),
      { numRuns: cases(60, 1000) },
    )
  })
})
