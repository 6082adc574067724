/**
 * For users. Adapters export all of it again, so nothing here is only for authors of adapters. Types of single options, events
 * and figures have no name of their own: `LimiterOptions['local']`, `LimiterEvents['breaker'][0]`, `LimiterStats['leases']`.
 */
export { ConfigError, ERROR_CODES, StoreError, TollgateError } from './base/errors.js'
export type { LimitInput, LimitOptions } from './plans/limit/limit.js'
export type { PlanInput } from './plans/plan.js'
export type { PlansInput } from './plans/plans.js'
export type { Subject } from './plans/subject.js'
export type { Subjects } from './requests/subject/subject.js'
export type { Decision, LimitState } from './limiter/decision/decision.js'
export type { LimiterEvents } from './limiter/report/events.js'
export type { FailurePolicy } from './plans/failure-policy.js'
export type { LimiterHealth, LimiterStats } from './limiter/report/stats.js'
export { createLimiter } from './limiter/create-limiter.js'
export type { ConsumeOptions, Consumer, Limiter } from './limiter/limiter.js'
export type { Reservation } from './limiter/reservation.js'
export type { LimiterOptions } from './limiter/options/limiter-options.js'
export type { ScopeOptions } from './requests/scope.js'
export { memoryStore, type MemoryStoreOptions } from './stores/memory/memory-store.js'
export { redisStore, type RedisStoreOptions } from './stores/redis/redis-store.js'
export type { RedisClient } from './stores/redis/clients/index.js'
export type { Store } from './stores/contract.js'
export {
  toHttpResponse,
  LimitedError,
  refuseUpgrade,
  type HttpResponse,
  type HttpResponseOptions,
} from './http/answers/http-response.js'
export { decisionsOf } from './http/decisions.js'
export type { RateLimitOptions, RequestContext, RouteOptions } from './http/options.js'
export { RATE_LIMIT_HEADERS } from './http/headers.js'
export { byBearerToken, byJwtClaim } from './http/who/credentials.js'
export { byHeader, byIp, subjectForIp, type Identify, type RequestWithHeaders } from './http/who/identify.js'
