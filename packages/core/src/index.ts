/** For users. Adapters export all of it again, so nothing here is only for authors of adapters. */
export {
  ConfigError,
  ERROR_CODES,
  StoreError,
  TollgateError,
  type ErrorCode,
  type StoreErrorReason,
} from './base/errors.js'
export type { Algorithm, ConcurrentLimitOptions, LimitInput, LimitOptions } from './plans/limit/limit.js'
export type { CalendarAnchor } from './calendar/calendar.js'
export type { LeaseOption, LeaseOptions } from './plans/options/lease-option.js'
export type { PlanInput, PlanInputOptions } from './plans/plan.js'
export type { PlanOptions, PlansInput } from './plans/plans.js'
export type { OwnLimits } from './plans/own-limits.js'
export type { Subject } from './plans/subject.js'
export type { Subjects } from './requests/subject/subject.js'
export type { Decision, DecisionSource, DenialReason, LimitState } from './limiter/decision/decision.js'
export type { BreakerChange, EventContext, LimiterEvents, Shed } from './limiter/report/events.js'
export type { FailurePolicy, FailurePolicyOption } from './plans/failure-policy.js'
export type { BreakerState } from './failure/guard/shard-guard.js'
export type { LocalOptions } from './failure/local/local-limiter.js'
export type { DecisionCounts, LimiterHealth, LimiterStats } from './limiter/report/stats.js'
export type { ReservationStats } from './features/holds/holds.js'
export type { InFlightChange } from './features/in-flight/slot-reports.js'
export type { Reconciled } from './failure/local/reconciliation.js'
export { createLimiter } from './limiter/create-limiter.js'
export type { ConsumeOptions, Consumer, Limiter, PeekOptions } from './limiter/limiter.js'
export type { Reservation } from './limiter/reservation.js'
export type { ReserveOptions } from './limiter/scoped-consumer.js'
export type { WaitingChange, WaitingStats } from './limiter/waiting/waiting-change.js'
export type { WaitOptions } from './plans/options/wait-option.js'
export type { LimiterOptions } from './limiter/options/limiter-options.js'
export type { ScopeOptions } from './requests/scope.js'
export type { PlanAnswer, PlanCacheOptions, PlanOf, PlanlessSubject } from './requests/plan/plan-lookup.js'
export type { RememberOptions } from './features/denials/denials.js'
export type { LeaseChange, LeaseStats } from './features/leases/lease-reporter.js'
export { memoryStore, type MemoryStoreOptions } from './stores/memory/memory-store.js'
export type { WaitForReplicasOptions } from './stores/redis/replica-wait.js'
export { redisStore, type RedisStoreOptions } from './stores/redis/redis-store.js'
export type { IoredisClient, NodeRedisClient, RedisClient } from './stores/redis/clients/index.js'
export type { MaybePromise } from './base/promises.js'
export type { Store } from './stores/contract.js'
export {
  answerOf,
  LimitedError,
  refuseUpgrade,
  type Answer,
  type AnswerOptions,
} from './http/answers/answer.js'
export type { DenialOptions } from './http/answers/denial.js'
export { decisionsOf } from './http/decisions.js'
export type { ShedOption, ShedOptions } from './http/shedding/shedder.js'
export type {
  EventContextOption,
  LimitOf,
  RateLimitOptions,
  RequestContext,
  RouteOptions,
} from './http/options.js'
export { type HeaderOptions, RATE_LIMIT_HEADERS } from './http/headers.js'
export type { ListOption } from './http/who/lists.js'
export {
  byBearerToken,
  byJwtClaim,
  type ByBearerTokenOptions,
  type ByJwtClaimOptions,
} from './http/who/credentials.js'
export {
  byHeader,
  byIp,
  subjectOfIp,
  type ByHeaderOptions,
  type ByIpOptions,
  type Identified,
  type Identify,
  type RequestWithHeaders,
} from './http/who/identify.js'
