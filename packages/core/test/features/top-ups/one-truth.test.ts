// Top-ups, renewals and penalties among everything else that requests do: memory and Redis answer the same (law 5).
import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import { closeBenches } from '../../support/benches.js'
import { playOnBoth, type BillingAct } from '../../support/billing-acts.js'

afterAll(closeBenches)

const [MINUTE, HOUR] = [60_000, 3_600_000]

const plans = {
  hour: { limits: [{ quota: 10, window: 'h', algorithm: 'fixed-window' }, '40/min'] },
  calendar: { limits: ['1000/d', { quota: 10, window: 'h', timeZone: 'UTC', name: 'hour' }] },
  small: { limits: [{ quota: 3, window: 'h', algorithm: 'fixed-window' }] },
  capped: {
    limits: [
      { quota: 9, window: 'h', algorithm: 'fixed-window', name: 'cap' },
      { quota: 4, window: 'h', algorithm: 'fixed-window', overage: true },
    ],
  },
  over: { limits: [{ quota: 5, window: 'h', algorithm: 'fixed-window', overage: true }] },
  billed: { limits: [{ quota: 6, window: 'h', timeZone: 'UTC', name: 'hour', overage: true }, '900/d'] },
  blocking: {
    limits: [{ quota: 4, window: 'h', algorithm: 'fixed-window' }, '30/min'],
    blockAfter: { denials: 4, within: '10min', for: ['20min'] },
  },
} as const
type PlanName = keyof typeof plans

const plan = fc.constantFrom<PlanName>('hour', 'calendar', 'small', 'over', 'blocking', 'capped', 'billed')
const act = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('consume'), plan, cost: fc.constantFrom(1, 1, 2, 3, 5, 8, 14) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('topUp'),
      plan,
      units: fc.constantFrom(1, 4, 20),
      key: fc.nat(9),
      for: fc.constantFrom(5 * MINUTE, 45 * MINUTE, 100 * MINUTE, 300 * MINUTE),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('renew'), plan, key: fc.nat(9) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('penalize'), plan, units: fc.constantFrom(1, 6), key: fc.nat(9) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('usage'), plan }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('refund'), nth: fc.nat(6) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('settle'), nth: fc.nat(6), cost: fc.nat(9) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reserve'), plan, cost: fc.constantFrom(1, 4, 12) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('commit'), nth: fc.nat(3), cost: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('both'), plan, cost: fc.constantFrom(1, 3) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('wait'),
      ms: fc.constantFrom(1, 1000, 7 * MINUTE, 25 * MINUTE, HOUR, 3 * HOUR, -5 * MINUTE),
    }),
  },
)
/** What the top-up paid is paid by a larger quota, and the denial is written, since the clock has gone back. */
const LARGER_QUOTA_PAYS = [
  { do: 'topUp', plan: 'hour', units: 1, key: 0, for: 300 * MINUTE },
  { do: 'consume', plan: 'small', cost: 4 },
  { do: 'wait', ms: -5 * MINUTE },
  { do: 'consume', plan: 'hour', cost: 11 },
] as never

/** The larger plan has restored the first top-up, so the penalty is paid by the second one, which ends first. */
const PENALTY_PAYS_ANEW = [
  { do: 'topUp', plan: 'hour', units: 1, key: 0, for: 100 * MINUTE },
  { do: 'both', plan: 'hour', cost: 1 },
  { do: 'consume', plan: 'capped', cost: 5 },
  { do: 'topUp', plan: 'over', units: 20, key: 2, for: 5 * MINUTE },
  { do: 'penalize', plan: 'hour', units: 6, key: 1 },
  { do: 'wait', ms: HOUR },
] as never

test('memory and Redis give equal answers', async () => {
  const sold = {
    ...{ plans, limit: 'hour', other: { id: 'other', plan: 'small' } },
    subjectOf: ({ plan: of }: { readonly plan: string }) => ({ id: 'acme', plan: of }),
  }
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 60 }), (acts) =>
      playOnBoth(acts as unknown as BillingAct[], sold),
    ),
    { numRuns: cases(60, 600), examples: [[LARGER_QUOTA_PAYS], [PENALTY_PAYS_ANEW]] },
  )
})
