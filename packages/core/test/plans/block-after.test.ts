// The plan option `blockAfter`: what is refused, and what the error says.
import { createLimiter, type PlansInput } from '../../src/index.js'
import { compilePlan } from '../../src/plans/plan.js'

const right = { denials: 100, within: '1min', for: ['1min', '15min', '1h'] }

function problemOf(blockAfter: unknown, plan: object = {}): string {
  try {
    createLimiter({ plans: { free: { limits: '100/min', ...plan, blockAfter } } as unknown as PlansInput })
  } catch (error) {
    return (error as Error).message
  }
  return 'no error'
}

test('it is compiled to µs', () => {
  const plan = compilePlan('free', { limits: '9/min', blockAfter: right }, 'plans.free')
  expect(plan.set?.blockAfter).toEqual({
    denials: 100,
    withinUs: 60_000_000,
    forUs: [60_000_000, 900_000_000, 3_600_000_000],
  })
  for (const off of [undefined, false]) {
    expect(
      compilePlan('free', { limits: '9/min', blockAfter: off }, 'plans.free').set?.blockAfter,
    ).toBeUndefined()
  }
})

test.each([
  [
    true,
    "plans.free.blockAfter: got true, expected an object of options, such as { denials: 100, within: '1min', for: ['1min', '15min', '1h'] }",
  ],
  [
    { ...right, denials: 0 },
    'plans.free.blockAfter.denials: got 0, expected a whole number of denials from 1 to 1000000, such as 100',
  ],
  [
    { ...right, denials: NaN },
    'plans.free.blockAfter.denials: got NaN, expected a whole number of denials from 1 to 1000000, such as 100',
  ],
  [
    { ...right, denials: 1e13 },
    'plans.free.blockAfter.denials: got 10000000000000, expected a whole number of denials from 1 to 1000000, such as 100',
  ],
  [
    { ...right, within: '2d' },
    "plans.free.blockAfter.within: got '2d', expected a time from 1 s to 1 day, such as '1min' or 60000 (ms)",
  ],
  [
    { ...right, within: 10 },
    "plans.free.blockAfter.within: got 10, expected a time from 1 s to 1 day, such as '1min' or 60000 (ms)",
  ],
  [
    { ...right, for: [] },
    "plans.free.blockAfter.for: got an empty array, expected a list of 1 to 16 times, the shortest first, such as ['1min', '15min', '1h']",
  ],
  [
    { ...right, for: '1h' },
    "plans.free.blockAfter.for: got '1h', expected a list of 1 to 16 times, the shortest first, such as ['1min', '15min', '1h']: write ['1h']",
  ],
  [
    { ...right, for: ['1h', '1min'] },
    "plans.free.blockAfter.for[1]: got '1min', which is shorter than '1h' before it: write the shortest first",
  ],
  [
    { ...right, for: ['1min', '401d'] },
    "plans.free.blockAfter.for[1]: got '401d', expected a time from 1 s to 400 days, such as '15min'",
  ],
  [
    { ...right, for: ['1min', 'long'] },
    "plans.free.blockAfter.for[1]: got 'long', expected a time from 1 s to 400 days, such as '15min'",
  ],
  [
    { denials: 9, for: ['1h'] },
    "plans.free.blockAfter.within: this is missing: write { denials: 100, within: '1min', for: ['1min', '15min', '1h'] }",
  ],
  [
    { ...right, duration: '1h' },
    'plans.free.blockAfter.duration: there is no such option here; write for, a list of how long each block lasts',
  ],
])('%j', (given, message) => {
  expect(problemOf(given)).toBe(message)
})

test.each([
  ['unlimited', 'this plan has no limits, so it counts no denials: leave blockAfter out'],
  ['blocked', 'this plan has no limits, so it counts no denials: leave blockAfter out'],
  [
    '20 concurrent',
    "how many requests are in flight depends on how long you take to answer, so it blocks nobody: leave blockAfter out, or add a limit in time, such as '100/min'",
  ],
])('beside the limits %s', (limits, problem) => {
  expect(problemOf(right, { limits })).toBe(`plans.free.blockAfter: ${problem}`)
})

test('not beside leases, nor beside places in line', () => {
  expect(problemOf(right, { lease: true })).toMatch(
    /^plans\.free\.blockAfter: this plan also has lease, .+: leave out one/,
  )
  expect(problemOf(right, { wait: { maxDelay: '1s' } })).toMatch(
    /^plans\.free\.blockAfter: this plan also has wait, .+: leave out one/,
  )
})
