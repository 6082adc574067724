export {
  ConfigError,
  ERROR_CODES,
  StoreError,
  toError,
  TollgateError,
  type ErrorCode,
  type StoreErrorReason,
} from './errors.js'
export type { Algorithm, LimitInput, LimitOptions } from './limit.js'
export type { CalendarAnchor } from './calendar.js'
export type { PlanInput, PlanInputOptions, PlanOptions, PlansInput } from './plan.js'
export type { Subject, Subjects } from './subject.js'
export type { Decision, DecisionSource, DenialReason, LimitState } from './decision.js'
export type { BreakerChange, LimiterEvents } from './events.js'
export type { FailurePolicy, FailurePolicyOption } from './failure-policy.js'
export type { BreakerState } from './failure/breaker.js'
export type { LocalOptions } from './failure/local.js'
export type { DecisionCounts, LimiterHealth, LimiterStats } from './stats.js'
export type { Settled } from './failure/settlement.js'
export { createLimiter } from './create-limiter.js'
export type { ConsumeOptions, Consumer, Limiter, LimiterOptions } from './limiter.js'
export type { ScopeOptions } from './scope.js'
export type { PlanCacheOptions, PlanlessSubject, PlanOf } from './plan-lookup.js'
export { memoryStore, type MemoryStoreOptions } from './stores/memory.js'
export type { WaitForReplicasOptions } from './stores/redis/confirmed-store.js'
export { redisStore, type RedisStoreOptions } from './stores/redis/redis-store.js'
export type { IoredisClient, NodeRedisClient, RedisClient } from './stores/redis/clients/index.js'
export type { MaybePromise } from './maybe-promise.js'
export type { Store } from './stores/store.js'
export type { HttpAdapter, HttpAnswer, ResponseEnd } from './http/adapter.js'
export { LimitedError } from './http/limited-error.js'
export { hasLeft } from './http/has-left.js'
export { onResponseEnd } from './http/response-end.js'
export { refuseUpgrade } from './http/upgrade.js'
export { toThrown } from './http/thrown.js'
export { createHttpLimiter, type HttpLimiter } from './http/http-limiter.js'
export type { PlaceOptions, RateLimitOptions } from './http/options.js'
export { RATE_LIMIT_HEADERS, type HeaderOptions } from './http/headers.js'
export type { ListOption } from './http/lists.js'
export {
  byBearerToken,
  byJwtClaim,
  type ByBearerTokenOptions,
  type ByJwtClaimOptions,
} from './http/credentials.js'
export {
  byHeader,
  byIp,
  subjectOfIp,
  type ByHeaderOptions,
  type ByIpOptions,
  type Identified,
  type Identify,
  type RequestWithHeaders,
} from './http/identify.js'
