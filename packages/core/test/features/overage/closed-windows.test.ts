// What a closed month is billed by, whatever plans a customer was on: compared with a ledger that a few lines keep.
import { cases, testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type LimiterOptions,
  type Store,
  type Subject,
} from '../../../src/index.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'

afterAll(closeBenches)

const DAY = 86_400_000
const overage = (quota: number, more: object = {}): object => ({
  quota,
  window: 'month',
  overage: true,
  ...more,
})

/** What is said of a month by each plan: its quota, and whether it is billed for more. Undefined: it has no month. */
const MONTHS = {
  pro: { quota: 5, isBilled: true },
  basic: { quota: 2, isBilled: true },
  capped: { quota: 4, isBilled: true },
  under: { quota: 4, isBilled: true },
  free: { quota: 3, isBilled: false },
  big: { quota: 20, isBilled: false },
  minute: undefined,
}
type PlanName = keyof typeof MONTHS

const plans = {
  pro: { limits: [overage(5), '1000/min'] },
  basic: { limits: overage(2) },
  capped: { limits: [overage(4), { quota: 9, window: 'month', name: 'cap' }] },
  under: { limits: [{ quota: 9, window: 'month', name: 'cap' }, overage(4)] },
  free: '3/month',
  big: ['20/month', '1000/d'],
  minute: '1000/min',
} as never

/** A month as the ledger keeps it. */
interface Month {
  units: number
  /** By which it is billed: undefined if it is not. */
  quota: number | undefined
}

function billedFor(month: Month | undefined): { used: number; over: number } | undefined {
  if (month?.quota === undefined) return undefined
  return { used: month.units, over: Math.max(month.units - month.quota, 0) }
}

const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      plan: fc.constantFrom<PlanName>('pro', 'basic', 'capped', 'under', 'free', 'big', 'minute'),
      cost: fc.constantFrom(1, 1, 2, 4, 7),
    }),
  },
  { weight: 2, arbitrary: fc.record({ days: fc.constantFrom(1, 9, 20, 31) }) },
  { weight: 3, arbitrary: fc.record({ asks: fc.constantFrom<PlanName>('pro', 'basic', 'free', 'big') }) },
)

/** With the customer's billing day on the 15th, or the calendar's months. */
const anchors = fc.constantFrom<number | undefined>(undefined, 15)

function monthOf(ms: number, anchor: number | undefined): number {
  const date = new Date(ms)
  const isBefore = anchor !== undefined && date.getUTCDate() < anchor
  return date.getUTCFullYear() * 12 + date.getUTCMonth() - (isBefore ? 1 : 0)
}

/** A plan without a month comes first in the next one. */
const LAST_WRITE_WITHOUT_OVERAGE = [
  ...[{ plan: 'pro', cost: 1 }, { plan: 'big', cost: 1 }, { days: 20 }, { days: 20 }],
  ...[{ plan: 'minute', cost: 1 }, { days: 1 }, { plan: 'pro', cost: 1 }, { asks: 'pro' }],
] as never

describe.each<[string, (now: () => number) => Store]>([
  ['memory', (now) => memoryStore({ now })],
  ['Redis', (now) => redisStore(sharedRedis(), { prefix: testPrefix(), now })],
])('%s', (_, storeOn) => {
  test('a month with overage is billed by the largest quota that it was used with since then', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: 40 }), anchors, async (acts, anchor) => {
        const clock = { now: Date.UTC(2026, 0, 3, 5) }
        const options = { plans, defaultPlan: 'free', store: storeOn(() => clock.now), denials: false }
        const limiter = createLimiter({ ...options, warnings: false, deadlineMs: 60_000 } as LimiterOptions)
        const months = new Map<number, Month>()
        const on = (plan: PlanName): Subject => ({ id: 'acme', plan, ...(anchor && { anchor }) }) as never
        for (const one of acts) {
          const now = monthOf(clock.now, anchor)
          if ('days' in one) clock.now += one.days * DAY
          else if ('plan' in one) {
            const { allowed } = await limiter.consume(on(one.plan), { cost: one.cost })
            const said = MONTHS[one.plan]
            if (!allowed || !said) continue
            const month = months.get(now) ?? { units: 0, quota: undefined }
            months.set(now, month)
            month.units += one.cost
            if (said.isBilled) month.quota = Math.max(month.quota ?? 0, said.quota)
            else if (month.quota !== undefined) month.quota = Math.max(month.quota, said.quota)
          } else {
            const { running, closed } = await limiter.usageOf(on(one.asks), { limit: 'month' })
            expect(closed && { used: closed.used, over: closed.over }).toEqual(billedFor(months.get(now - 1)))
            const { units = 0 } = months.get(now) ?? {}
            expect({ used: running?.used ?? 0, over: running?.over ?? 0 }).toEqual(
              billedFor(months.get(now)) ?? { used: units, over: 0 },
            )
          }
        }
        await limiter.close()
      }),
      {
        numRuns: cases(60, 600),
        examples: [
          [LAST_WRITE_WITHOUT_OVERAGE, undefined],
          [LAST_WRITE_WITHOUT_OVERAGE, 15],
        ],
      },
    )
  })
})
