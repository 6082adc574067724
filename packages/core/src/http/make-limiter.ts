import { createLimiterFor } from '../limiter/create-limiter.js'
import type { Limiter } from '../limiter/limiter.js'
import { limitOfRequest } from './who/limits-of-request.js'
import { limiterOptions, scopeOptions, type RateLimitOptions } from './options.js'
import { needKnownPlans } from './shedding/shed-option.js'

/** The limiter of a middleware that shares none. */
export function makeLimiter<Req, Res>(options: RateLimitOptions<Req, Res>): Limiter {
  const defaultFor = options.identify ? {} : { defaultFor: 'client addresses, since there is no identify' }
  const checkPlans = (names: readonly string[]): void => needKnownPlans(options.shed, names)
  const scope = scopeOptions(options)
  const isWithoutPlans = limitOfRequest(options) !== undefined && !('plans' in options)
  return createLimiterFor(limiterOptions(options), { ...defaultFor, scope, checkPlans, isWithoutPlans })
}
