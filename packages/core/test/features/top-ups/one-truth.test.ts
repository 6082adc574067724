// Top-ups, renewals and penalties among everything else that requests do: memory and Redis answer the same (law 5), and both keep to an
// account that is kept outside (laws 1, 3, 4 and 11).
import { cases, testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type Reservation,
} from '../../../src/index.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'

afterAll(closeBenches)

/** 2026-01-31T12:34:56.789Z */
const START_MS = 1_769_862_896_789
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
  blocking: {
    limits: [{ quota: 4, window: 'h', algorithm: 'fixed-window' }, '30/min'],
    blockAfter: { denials: 4, within: '10min', for: ['20min'] },
  },
} as const
type PlanName = keyof typeof plans

const plan = fc.constantFrom<PlanName>('hour', 'calendar', 'small', 'over', 'blocking', 'capped')
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
      for: fc.constantFrom(5, 45, 100, 300),
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
type Act = {
  do: string
  plan: PlanName
  cost: number
  units: number
  key: number
  for: number
  nth: number
  ms: number
}

interface World {
  readonly limiter: Limiter
  readonly decisions: Decision[]
  readonly reservations: Reservation[]
}

function worldOf(limiter: Limiter): World {
  return { limiter, decisions: [], reservations: [] }
}

async function doIt({ limiter, decisions, reservations }: World, one: Act): Promise<unknown> {
  const subject = { id: 'acme', plan: one.plan }
  const key = `${one.key}`
  switch (one.do) {
    case 'consume': {
      const decision = await limiter.consume(subject, { cost: one.cost })
      decisions.unshift(decision)
      return told(decision)
    }
    case 'both': {
      const decision = await limiter.consume([{ id: 'other', plan: 'small' }, subject], { cost: one.cost })
      decisions.unshift(decision)
      return told(decision)
    }
    case 'topUp':
      return limiter
        .topUp(subject, { limit: 'hour', units: one.units, for: one.for * MINUTE, key })
        .catch(codeOf)
    case 'usage':
      return limiter.usageOf(subject, { limit: 'hour' })
    case 'renew':
      return limiter.renew(subject, { limit: 'hour', key }).catch(codeOf)
    case 'penalize':
      return limiter.penalize(subject, { limit: 'hour', units: one.units, key }).catch(codeOf)
    case 'refund': {
      const decision = decisions[one.nth]
      return decision && limiter.refund(decision)
    }
    case 'settle': {
      const decision = decisions[one.nth]
      return decision && limiter.settle(decision, one.cost)
    }
    case 'reserve': {
      const reservation = await limiter.reserve(subject, { cost: one.cost, for: '30min' })
      if (reservation.allowed) reservations.unshift(reservation)
      return told(reservation.decision)
    }
    case 'commit': {
      const reservation = reservations[one.nth]
      return reservation && (one.cost === 0 ? reservation.cancel() : reservation.commit(one.cost))
    }
    default:
      return undefined
  }
}

function codeOf(error: { readonly code: string }): string {
  return error.code
}

function told({ allowed, limits, retryAfterMs, violated, block }: Decision): object {
  return { allowed, limits, retryAfterMs, violated, level: block?.level }
}

/** What the top-up paid is paid by a larger quota, and the denial is written, since the clock has gone back. */
const LARGER_QUOTA_PAYS = [
  { do: 'topUp', plan: 'hour', units: 1, key: 0, for: 300 },
  { do: 'consume', plan: 'small', cost: 4 },
  { do: 'wait', ms: -5 * MINUTE },
  { do: 'consume', plan: 'hour', cost: 11 },
] as never

test('memory and Redis give equal answers, and remaining is exact', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 5, maxLength: 60 }), async (acts) => {
      const clock = { now: START_MS }
      const now = (): number => clock.now
      const options = {
        plans,
        defaultPlan: 'small',
        warnings: false,
        deadlineMs: 60_000,
        denials: false,
      } as const
      const memory = worldOf(createLimiter({ ...options, store: memoryStore({ now }) }))
      const redis = worldOf(
        createLimiter({ ...options, store: redisStore(sharedRedis(), { prefix: testPrefix(), now }) }),
      )
      for (const one of acts as Act[]) {
        if (one.do === 'wait') clock.now += one.ms
        const [here, there] = [await doIt(memory, one), await doIt(redis, one)]
        expect([one, there]).toEqual([one, here])
      }
      for (const name of Object.keys(plans) as PlanName[]) {
        const subject = { id: 'acme', plan: name }
        const [here, there] = [await memory.limiter.peek(subject), await redis.limiter.peek(subject)]
        expect(told(there)).toEqual(told(here))
      }
      await Promise.all([memory.limiter.close(), redis.limiter.close()])
    }),
    { numRuns: cases(60, 600), examples: [[LARGER_QUOTA_PAYS]] },
  )
})
