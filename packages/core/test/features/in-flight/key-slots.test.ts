// What a process still has to tell of a key.
import { KeySlots } from '../../../src/features/in-flight/key-slots.js'
import { compilePlan } from '../../../src/plans/plan.js'
import { createLimitSet, type LimitOutcome } from '../../../src/store.js'

const plan = compilePlan('plan', '5 concurrent', 'plans.plan')
const part = {
  ...{
    key: 'acme',
    set: createLimitSet('5 concurrent'),
    cost: 1,
    subject: { id: 'acme' },
    limits: plan.limits,
  },
  ...{ shard: 0, planName: 'plan', place: undefined, onStoreFailure: undefined },
}
const slotsOf = (): KeySlots => new KeySlots('abcdef', 0, part, plan)
const given = (slot: number): LimitOutcome => ({ wait: 0, remaining: 3, reset: 0, slot })
const denied = (slot: number): LimitOutcome => ({ wait: 1000, remaining: 0, reset: 0, slot })

test('a request that is let in tells of what ended before, so no report is due', () => {
  const slots = slotsOf()
  slots.granted(slots.ask(), given(1), 0)
  slots.hold(-1)
  expect(slots.isDue).toBe(true)
  const next = slots.ask()
  expect(slots.isDue).toBe(false)
  slots.granted(next, given(2), 0)
  expect([slots.isDue, slots.isUnreported, slots.held, slots.known]).toEqual([false, false, 1, 2])
})

test('a denied request need not tell of it: then a report is due, however many requests follow', () => {
  const slots = slotsOf()
  slots.granted(slots.ask(), given(1), 0)
  slots.hold(-1)
  slots.denied(slots.ask(), denied(1))
  expect(slots.isDue).toBe(true)
  for (let i = 0; i < 10; i += 1) {
    const flood = slots.ask()
    expect(slots.isDue).toBe(true)
    slots.denied(flood, denied(1))
  }
  const report = slots.report('release')
  expect([report.held, report.known]).toEqual([0, 1])
  slots.reported(report, given(1))
  slots.denied(slots.ask(), denied(1))
  expect([slots.isDue, slots.isUnreported]).toEqual([false, false])
})

test('requests in the order in which they were sent cost no report, whatever becomes of them', () => {
  const slots = slotsOf()
  let number = 0
  const running: number[] = []
  for (let i = 0; i < 50; i += 1) {
    const sent = [slots.ask(), slots.ask(), slots.ask()]
    for (const [at, each] of sent.entries()) {
      if ((i + at) % 3 === 0) slots.denied(each, denied(number))
      else slots.granted(each, given((number += 1)), 0)
    }
    running.push(slots.held)
    expect([slots.isUnreported, slots.known]).toEqual([false, number])
  }
  expect(running.at(-1)).toBe(100)
})
