import { createLimiterFor } from '../limiter/create-limiter.js'
import type { Limiter } from '../limiter/limiter.js'
import { limiterOptions, scopeOptions, type RateLimitOptions } from './options.js'

/** The limiter of a middleware that shares none. */
export function makeLimiter<Req, Res>(options: RateLimitOptions<Req, Res>): Limiter {
  const defaultFor = options.identify ? {} : { defaultFor: 'client addresses, since there is no identify' }
  return createLimiterFor(limiterOptions(options), { ...defaultFor, scope: scopeOptions(options) })
}
