export { ConfigError, ERROR_CODES, StoreError, toError, TollgateError, type ErrorCode } from './errors.js'
export type { Algorithm, LimitInput, LimitOptions } from './limit.js'
export type { CalendarAnchor } from './calendar.js'
export type { PlanInput, PlanOptions, PlansInput } from './plan.js'
export type { Subject } from './subject.js'
export type { Decision, DecisionSource, DenialReason, LimitState } from './decision.js'
export type { LimiterEvents } from './events.js'
export {
  createLimiter,
  type ConsumeOptions,
  type FailurePolicy,
  type Limiter,
  type LimiterOptions,
} from './limiter.js'
export { memoryStore, type MemoryStoreOptions } from './stores/memory.js'
export { redisStore, type RedisStoreOptions } from './stores/redis/redis-store.js'
export type { IoredisClient, RedisClient } from './stores/redis/clients.js'
export type { MaybePromise, Store } from './stores/store.js'
export type { HttpAdapter, HttpAnswer, ResponseEnd } from './http/adapter.js'
export { onResponseEnd } from './http/response-end.js'
export { createHttpLimiter, type HttpLimiter, type RateLimitOptions } from './http/http-limiter.js'
export type { HeaderOptions } from './http/headers.js'
export { byHeader, byIp, type ByHeaderOptions, type ByIpOptions, type Identify } from './http/identify.js'
