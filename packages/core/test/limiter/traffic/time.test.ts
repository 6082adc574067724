// What figures and notes do as time passes.
import { testPrefix } from '@tollgate/testing'
import { createLimiter, readPlans, redisStore } from '../../../src/index.js'
import type { Decision } from '../../../src/limiter/decision/decision.js'
import { SeenLately } from '../../../src/limiter/traffic/figures.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'
import { closesWithTest, endFaults } from '../../support/faults.js'

const mockClock = { aheadMs: 0 }
jest.mock('../../../src/base/timers.js', () => {
  const timers = jest.requireActual<{ elapsedMs(): number }>('../../../src/base/timers.js')
  return { ...timers, elapsedMs: () => timers.elapsedMs() + mockClock.aheadMs }
})

beforeEach(() => {
  mockClock.aheadMs = 0
})
afterEach(endFaults)
afterAll(closeBenches)

test('figures cover a minute at most, and a block takes no plan away', () => {
  const seen = new SeenLately()
  const note = (plan: string): void => {
    const decision = { allowed: false, plan, cost: 1, limits: [], violated: [], subject: { id: 'acme' } }
    seen.note(decision as unknown as Decision, 1, { what: 'acme', of: 'acme' })
  }
  note('free')
  mockClock.aheadMs = 59_000
  note('')
  const { requests, busiest } = seen.figures()
  expect([requests, busiest.entries[0]?.plan]).toEqual([2, 'free'])
  mockClock.aheadMs = 88_500
  expect(seen.figures().coversMs).toBeLessThanOrEqual(60_000)
})

test('the oldest part of a minute goes when a new one begins', () => {
  const seen = new SeenLately()
  const decision = { allowed: true, plan: '', cost: 1, limits: [], violated: [], subject: { id: 'acme' } }
  const requests: number[] = []
  for (let second = 0; second < 120; second += 1) {
    mockClock.aheadMs = 1000 * second
    seen.note(decision as unknown as Decision, 1, { what: 'acme', of: 'acme' })
    if (second >= 60) requests.push(seen.figures().requests)
  }
  expect(Math.min(...requests)).toBeGreaterThanOrEqual(50)
  expect(Math.max(...requests)).toBeLessThanOrEqual(61)
  // After a pause, only what is new counts.
  mockClock.aheadMs += 300_000
  seen.note(decision as unknown as Decision, 1, { what: 'acme', of: 'acme' })
  expect(seen.figures()).toMatchObject({ requests: 1, busiest: { entries: [{ count: 1, error: 0 }] } })
})

test('after Redis has lost its data, the plans are there again', async () => {
  const prefix = testPrefix()
  const store = redisStore(sharedRedis(), { prefix })
  const options = { plans: { free: '4/min' }, warnings: false, deadlineMs: 10_000 } as const
  const limiter = closesWithTest(createLimiter({ ...options, defaultPlan: 'free', store }))
  await limiter.consume('acme')
  await limiter.traffic()
  await sharedRedis().del(`${prefix}/!board.plans.^`, `${prefix}/!board.times.plans.^`)
  expect(await readPlans(store)).toBeUndefined()
  mockClock.aheadMs = 61_000
  await limiter.traffic()
  expect(await readPlans(store)).toMatchObject({ defaultPlan: 'free' })
})
