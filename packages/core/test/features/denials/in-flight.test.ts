import { elapsedMs } from '../../../src/base/timers.js'
import { Denials } from '../../../src/features/denials/denials.js'
import { createLimitSet, type LimitOutcome } from '../../../src/store.js'
import { type Request, UNKNOWN } from '../../../src/requests/request.js'

const SLOTS_FULL: LimitOutcome = { wait: 1_000_000, remaining: 0, reset: 0, slot: 9 }
const SLOTS_LEFT: LimitOutcome = { wait: 0, remaining: 3, reset: 0, slot: 9 }
const UNITS_USED: LimitOutcome = { wait: 20_000_000, remaining: 0, reset: 20_000_000 }
const UNITS_LEFT: LimitOutcome = { wait: 0, remaining: 4, reset: 20_000_000 }
const both = createLimitSet('100/min', '5 concurrent')
const alone = createLimitSet('5 concurrent')

/** What a process remembers of a denial that it learnt one second ago. */
function setUp(limits: readonly LimitOutcome[], set = both, cost = 1): { ask: (cost: number) => unknown } {
  let now = 1_000_000
  const denials = new Denials({ by: 'proc-A', deadlineMs: 100, clock: () => now, recheckMs: 60_000 })
  const requestOf = (units: number): Request =>
    ({
      shard: 0,
      grant: 'all',
      cost: units,
      parts: [{ key: 'acme', set, cost: units }],
    }) as unknown as Request
  denials.learn(requestOf(cost), { at: now * 1000, limits }, elapsedMs())
  now += 1000
  return { ask: (units) => denials.answer(requestOf(units), false)?.outcome?.limits }
}

test('a denial by requests in flight alone is never remembered', () => {
  expect(setUp([SLOTS_FULL], alone).ask(1)).toBeUndefined()
  expect(setUp([UNITS_LEFT, SLOTS_FULL]).ask(1)).toBeUndefined()
})

test('a denial by units in time is; the number in flight is not known then, and does not deny', () => {
  const told = [
    { wait: 19_000_000, remaining: 0, reset: 19_000_000 },
    { wait: 0, remaining: UNKNOWN, reset: 0 },
  ]
  expect(setUp([UNITS_USED, SLOTS_LEFT]).ask(1)).toEqual(told)
  expect(setUp([UNITS_USED, SLOTS_FULL]).ask(1)).toEqual(told)
})

test('it lasts as long as the units do, however long a slot is waited for', () => {
  const brief = { wait: 500_000, remaining: 0, reset: 500_000 }
  const hour = { wait: 3_600_000_000, remaining: 0, reset: 0, slot: 9 }
  expect(setUp([brief, hour]).ask(1)).toBeUndefined()
})

test('slots that are full do not end what is known of a larger cost', () => {
  let now = 1_000_000
  const denials = new Denials({ by: 'proc-A', deadlineMs: 100, clock: () => now, recheckMs: 60_000 })
  const requestOf = (cost: number): Request =>
    ({ shard: 0, grant: 'all', cost, parts: [{ key: 'acme', set: both, cost }] }) as unknown as Request
  const large = { wait: 20_000_000, remaining: 4, reset: 20_000_000 }
  denials.learn(requestOf(9), { at: now * 1000, limits: [large, SLOTS_LEFT] }, elapsedMs())
  now += 1
  denials.learn(requestOf(1), { at: now * 1000, limits: [UNITS_LEFT, SLOTS_FULL] }, elapsedMs())
  expect(denials.answer(requestOf(9), false)?.source).toBe('cache')
  expect(denials.answer(requestOf(1), false)).toBeUndefined()
})
