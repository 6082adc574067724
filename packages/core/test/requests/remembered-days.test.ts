// How many billing days a plan remembers: so many, whatever the time zones are.
import { compilePlan } from '../../src/plans/plan.js'
import { BillingDays } from '../../src/requests/plan/billing-days.js'

test('of many days in several time zones, those of long ago are forgotten', () => {
  let made = 0
  const days = new BillingDays(() => {
    made += 1
    return true
  })
  const plan = compilePlan('pro', '50/month', 'plans.pro')
  const zones = ['UTC', 'Asia/Tokyo', 'America/Lima', 'Asia/Kolkata']
  const dayOf = (i: number): object => {
    const minute = new Date(Date.UTC(2026, 0, 1, 0, Math.floor(i / zones.length)))
    return { id: 'acme', anchor: minute.toISOString().slice(0, 16), timeZone: zones[i % zones.length] }
  }
  const first = days.setFor(plan, dayOf(0) as never)
  expect(days.setFor(plan, dayOf(0) as never)).toBe(first)
  expect(made).toBe(1)
  for (let i = 1; i <= 20_000; i += 1) days.setFor(plan, dayOf(i) as never)
  expect(made).toBe(20_001)
  expect(days.setFor(plan, dayOf(19_999) as never)).toBeDefined()
  expect(made).toBe(20_001)
  days.setFor(plan, dayOf(0) as never)
  expect(made).toBe(20_002)
})
