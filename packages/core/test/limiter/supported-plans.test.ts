// Plans that a store cannot count are refused when the limiter is made.
import { createLimiter } from '../../src/index.js'
import { needSupported } from '../../src/limiter/options/supported-plans.js'
import { compilePlan } from '../../src/plans/plan.js'
import { asyncStore } from '../support/stores.js'
import { waiting } from '../support/store-requests.js'

const plans = { free: '5/min', pro: ['100/min', '20 concurrent'] } as const

test('requests in flight need a store that counts them', () => {
  const store = asyncStore({ slots: false })
  expect(() => createLimiter({ store, plans })).toThrow(
    "plans.pro: this store cannot count requests in flight: leave '20 concurrent' out, or use redisStore",
  )
  expect(() =>
    needSupported(asyncStore(), compilePlan('pro', plans.pro, 'plans.pro'), 'plans.pro'),
  ).not.toThrow()
})

test('waiting in line needs a store that books places', () => {
  const plan = compilePlan('free', plans.free, 'plans.free')
  if (!plan.set) throw new Error('a plan without limits')
  const line = { ...plan, set: waiting(plan.set) }
  expect(() => needSupported(asyncStore({ holds: false }), line, 'plans.free')).toThrow(
    'plans.free: this store books no places for requests: leave wait out, or use redisStore',
  )
  expect(() => needSupported(asyncStore(), line, 'plans.free')).not.toThrow()
  expect(() => needSupported(asyncStore({ holds: false }), plan, 'plans.free')).not.toThrow()
})
