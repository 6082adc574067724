// Billing days among everything else that requests do: memory and Redis answer the same (law 5).
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
  middle: { anchor: new Date(START_MS - 17 * DAY) },
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
      for: fc.constantFrom(1, 20, 45, 100),
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
type Act = {
  do: string
  plan: PlanName
  day: DayName
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
  const subject = { id: 'acme', plan: one.plan, ...days[one.day] }
  const [limit, booked] = ['month', `${one.key}`]
  switch (one.do) {
    case 'consume':
    case 'both': {
      const asked = one.do === 'both' ? [{ id: 'other', plan: 'small', ...days.late }, subject] : subject
      const decision = await limiter.consume(asked, { cost: one.cost })
      decisions.unshift(decision)
      return told(decision)
    }
    // One batch of subjects with all billing days: `nth` chooses who is among them, and how often.
    case 'crowd': {
      const crowd = Object.values(days).flatMap((own, i) => {
        const ids = [i, i, i + 1].map((n) => (n % 3 === one.nth % 3 ? 'acme' : `crowd-${n}`))
        return ids.map((id) => ({ ...subject, ...own, id }))
      })
      return (await Promise.all(crowd.map((each) => limiter.consume(each, { cost: one.cost })))).map(told)
    }
    case 'peek':
      return told(await limiter.peek(subject))
    case 'topUp': {
      const options = { limit, units: one.units, for: one.for * DAY, key: booked }
      return limiter.topUp(subject, options).catch(codeOf)
    }
    case 'usage':
      return limiter.usageOf(subject, { limit })
    case 'renew':
      return limiter.renew(subject, { limit, key: booked }).catch(codeOf)
    case 'penalize':
      return limiter.penalize(subject, { limit, units: one.units, key: booked }).catch(codeOf)
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

function told({ allowed, limits, retryAfterMs, violated, observed, block }: Decision): object {
  return { allowed, limits, retryAfterMs, violated, observed, level: block?.level }
}

test('memory and Redis give equal answers, whatever billing days subjects have', async () => {
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
    { numRuns: cases(60, 600) },
  )
})
