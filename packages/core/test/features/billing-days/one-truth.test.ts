// Billing days among everything else that requests do: memory and Redis answer the same (law 5).
import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import type { Subject } from '../../../src/index.js'
import { closeBenches, START_MS } from '../../support/benches.js'
import { playOnBoth, told, type BillingAct, type World } from '../../support/billing-acts.js'

afterAll(closeBenches)

const [HOUR, DAY] = [3_600_000, 86_400_000]

const plans = {
  month: { limits: ['10/month', '6/h'] },
  small: { limits: ['4/month'] },
  over: { limits: [{ quota: 5, window: 'month', overage: true }] },
  year: { limits: ['30/year', { quota: 12, window: 'month', timeZone: 'Europe/Berlin' }] },
  watched: { limits: [{ quota: 10, window: 'month', watch: 6 }] },
  own: { limits: [{ quota: 10, window: 'month', anchor: 20, name: 'month' }] },
} as const
type PlanName = keyof typeof plans

const days = {
  none: {},
  first: { anchor: '2026-01-01' },
  late: { anchor: '2025-08-31T18:30', timeZone: 'America/New_York' },
  middle: { anchor: new Date(START_MS - 17 * DAY + 12_345) },
  zone: { timeZone: 'Asia/Kolkata' },
} as const
type DayName = keyof typeof days

const plan = fc.constantFrom<PlanName>(...(Object.keys(plans) as PlanName[]))
const day = fc.constantFrom<DayName>(...(Object.keys(days) as DayName[]))
const cost = fc.constantFrom(1, 1, 2, 3, 5, 11)
const key = fc.nat(6)
const act = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('consume'), plan, day, cost }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('peek'), plan, day }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('usage'), plan, day }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('topUp'),
      plan,
      day,
      units: fc.constantFrom(1, 4, 20),
      key,
      for: fc.constantFrom(DAY, 20 * DAY, 45 * DAY, 100 * DAY),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('renew'), plan, day, key }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('penalize'), plan, day, units: fc.constantFrom(1, 6), key }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('refund'), nth: fc.nat(6) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('settle'), nth: fc.nat(6), cost: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reserve'), plan, day, cost }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('commit'), nth: fc.nat(3), cost: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('both'), plan, day, cost }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crowd'), plan, day, cost, nth: fc.nat(4) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('wait'),
      ms: fc.constantFrom(1, HOUR, DAY, 4 * DAY, 13 * DAY, 31 * DAY, 75 * DAY, 300 * DAY, -HOUR / 6),
    }),
  },
)
type Act = BillingAct & { readonly plan: PlanName; readonly day: DayName }

function subjectOf({ plan: of, day: billed = 'none' }: Pick<Act, 'plan'> & Partial<Act>): Subject {
  return { id: 'acme', plan: of, ...days[billed] }
}

/** One batch of subjects with all billing days: `nth` chooses who is among them, and how often. */
async function crowd({ limiter }: World, act: Act): Promise<object[]> {
  const all = Object.values(days).flatMap((own, i) => {
    const ids = [i, i, i + 1].map((n) => (n % 3 === act.nth % 3 ? 'acme' : `crowd-${n}`))
    return ids.map((id) => ({ ...subjectOf(act), ...own, id }))
  })
  return (await Promise.all(all.map((each) => limiter.consume(each, { cost: act.cost })))).map(told)
}

/** A window that a plan with overage closed is looked at with a plan without. */
const CLOSED_BY_ANOTHER_PLAN = [
  { do: 'consume', plan: 'month', day: 'late', cost: 1 },
  { do: 'wait', ms: 31 * DAY },
  { do: 'crowd', plan: 'over', day: 'none', cost: 1, nth: 0 },
  { do: 'usage', plan: 'month', day: 'none' },
] as never

test('memory and Redis give equal answers, whatever billing days subjects have', async () => {
  const sold = {
    ...{ plans, limit: 'month', subjectOf, more: { crowd } },
    other: { id: 'other', plan: 'small', ...days.late },
  }
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 60 }), (acts) =>
      playOnBoth(acts as unknown as Act[], sold),
    ),
    { numRuns: cases(60, 600), examples: [[CLOSED_BY_ANOTHER_PLAN]] },
  )
})
