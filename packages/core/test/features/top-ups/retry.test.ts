// Law 4 with top-ups: a client that waits exactly `retryAfterMs` is admitted, and one that comes earlier is not, whatever top-up ends
// meanwhile: with several limits, several subjects, and blocks.
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
const fixed = (quota: number, window: string): object => ({ quota, window, algorithm: 'fixed-window' })

const plans = {
  two: { limits: [fixed(5, 'h'), fixed(9, 'd')] },
  larger: { limits: [fixed(8, 'h'), fixed(20, 'd')] },
  three: { limits: [fixed(4, '20min'), { quota: 7, window: 'h', timeZone: 'UTC' }, '6/min'] },
  blocking: {
    limits: [fixed(5, 'h'), fixed(9, 'd')],
    blockAfter: { denials: 3, within: '1h', for: ['90min'] },
  },
}

const plan = fc.constantFrom(...(Object.keys(plans) as (keyof typeof plans)[]))
const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('consume'), plan, cost: fc.constantFrom(1, 2, 4, 8, 12) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('both'), plan, cost: fc.constantFrom(1, 3, 6) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('topUp'),
      plan,
      nth: fc.nat(1),
      units: fc.constantFrom(2, 6, 15),
      for: fc.constantFrom(5, 25, 70, 600, 3000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('wait'),
      ms: fc.constantFrom(1000, 7 * MINUTE, 25 * MINUTE, HOUR),
    }),
  },
)
type Act = {
  do: string
  plan: keyof typeof plans
  cost: number
  nth: number
  units: number
  for: number
  ms: number
}

async function play(store: Store, clock: { now: number }, acts: readonly Act[]): Promise<void> {
  const limiter = createLimiter({
    ...{ plans, defaultPlan: 'two', store, warnings: false, deadlineMs: 60_000, denials: false },
  } as never) as Limiter
  for (const [i, one] of acts.entries()) {
    const subject = { id: 'acme', plan: one.plan }
    const asked = one.do === 'both' ? [{ id: 'other', plan: 'two' }, subject] : subject
    if (one.do === 'wait') clock.now += one.ms
    else if (one.do === 'topUp') {
      const { limits } = await limiter.peek(subject)
      const { name = '' } = limits[one.nth] ?? {}
      await limiter.topUp(subject, { limit: name, units: one.units, for: one.for * MINUTE, key: `${i}` })
    } else {
      const { allowed, retryAfterMs } = await limiter.consume(asked as never, { cost: one.cost })
      if (!allowed && retryAfterMs !== null) {
        const at = async (ms: number): Promise<Decision> => {
          clock.now += ms
          const decision = await limiter.peek(asked as never, { cost: one.cost })
          clock.now -= ms
          return decision
        }
        expect([one, retryAfterMs, (await at(retryAfterMs)).allowed]).toEqual([one, retryAfterMs, true])
        expect([one, retryAfterMs, (await at(retryAfterMs - 1)).allowed]).toEqual([one, retryAfterMs, false])
      }
    }
  }
  await limiter.close()
}

const acts = fc.array(act, { minLength: 5, maxLength: 40 }) as fc.Arbitrary<unknown> as fc.Arbitrary<Act[]>

/** The larger plan pays what the top-up paid. It is denied, so nothing is written, and in the next hour the top-up has only 3 units. */
const PAID_BY_LARGER = [
  { do: 'topUp', plan: 'two', nth: 0, units: 6, for: 3000 },
  { do: 'consume', plan: 'two', cost: 8 },
  { do: 'consume', plan: 'larger', cost: 12 },
] as unknown as Act[]

test('in memory', async () => {
  await fc.assert(
    fc.asyncProperty(acts, async (all) => {
      const clock = { now: START_MS }
      await play(memoryStore({ now: () => clock.now }), clock, all)
    }),
    { numRuns: cases(300, 2000), examples: [[PAID_BY_LARGER]] },
  )
})

test('on Redis', async () => {
  await fc.assert(
    fc.asyncProperty(acts, async (all) => {
      const clock = { now: START_MS }
      await play(redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clock.now }), clock, all)
    }),
    { numRuns: cases(40, 400), examples: [[PAID_BY_LARGER]] },
  )
})
