import { nearestOf } from '../base/option-checks.js'

const WINDOW = "write window: '15 min', or a number of ms"
const QUOTA = 'write quota: 100'
const CONCURRENT = "write '20 concurrent', or { concurrent: 20 }, in a limit of its own"
/** What to write for the options of other packages. */
const LIMIT_REMEDIES = new Map([
  ['windowMs', WINDOW],
  ['timeWindow', WINDOW],
  ['duration', WINDOW],
  ['interval', WINDOW],
  ['per', WINDOW],
  ['max', QUOTA],
  ['limit', QUOTA],
  ['points', QUOTA],
  ['requests', QUOTA],
  ['concurrency', CONCURRENT],
  ['maxConcurrent', CONCURRENT],
  ['maxConcurrency', CONCURRENT],
  ['parallel', CONCURRENT],
  ['inFlight', CONCURRENT],
  ['maxInFlight', CONCURRENT],
  ['wait', "it goes to the plan: plans: { batch: { limits: '10/s burst 20', wait: { maxDelay: '2s' } } }"],
])

/** What to write in place of an option that a limit in time does not have. */
export function limitRemedy(name: string): string | undefined {
  return LIMIT_REMEDIES.get(name) ?? (nearestOf(name, ['concurrent']) && CONCURRENT)
}

const NOT_IN_TIME =
  "requests in flight count until they end, so leave it out; units in a time are a limit of their own: ['100/min', '20 concurrent']"
const NO_LEASE = 'requests in flight cannot be leased: leave it out'
const HINT = 'write retryAfterMs: 1000'
/** The same for a limit of requests in flight. */
export const CONCURRENT_REMEDIES = new Map([
  ['quota', NOT_IN_TIME],
  ['window', NOT_IN_TIME],
  ['windowMs', NOT_IN_TIME],
  ['per', NOT_IN_TIME],
  ['burst', NOT_IN_TIME],
  ['max', NOT_IN_TIME],
  ['limit', NOT_IN_TIME],
  ['algorithm', 'requests in flight are counted in one way: leave it out'],
  ['lease', NO_LEASE],
  ['retryAfter', HINT],
  ['retryMs', HINT],
])
