/**
 * For users. Adapters export all of it again, so what only authors of adapters need is in adapter.ts. The types of what calls return
 * and listeners receive are exported: TypeScript has to name them in the declarations of programs that return such values. The types
 * of single options are not: write `LimiterOptions['local']`.
 */
export type { MaybePromise } from './base/promises.js'
export {
  ConfigError,
  ERROR_CODES,
  StoreError,
  TollgateError,
  type ErrorCode,
  type StoreErrorReason,
} from './base/errors.js'
export type { LimitInput, LimitOptions } from './plans/limit/limit.js'
export type { LimitMode } from './plans/limit/observing-limit.js'
export type { PlanInput } from './plans/plan.js'
export type { PlansInput } from './plans/plans.js'
export type { Subject } from './plans/subject.js'
export type { Subjects } from './requests/subject/subject.js'
export type {
  Block,
  Decision,
  DecisionSource,
  DenialReason,
  LimitState,
  ObservedLimit,
} from './limiter/decision/decision.js'
export type {
  BreakerChange,
  EventContext,
  LimiterEvents,
  Shed,
  StoreCall,
  SubjectBlocked,
} from './limiter/report/events.js'
export type { Outage } from './limiter/report/reporter.js'
export type { BreakerState } from './failure/guard/shard-guard.js'
export type { Reconciled } from './failure/local/reconciliation.js'
export type { ReservationStats } from './features/holds/holds.js'
export type { NearLimit } from './features/near-limit/near-limit.js'
export type { InFlightChange } from './features/in-flight/slot-reports.js'
export type { ListState } from './features/rules/list-reader.js'
export type { Rule, RuleKind } from './features/rules/rule.js'
export type { RuleChanged } from './features/rules/rules.js'
export type { DenialRecord } from './limiter/traffic/denial-log.js'
export { type GivenPlans, readPlans } from './limiter/traffic/given-plans.js'
export type { HeldLimit } from './limiter/look.js'
export type { Inspection } from './limiter/traffic/questions.js'
export type { SubjectShare } from './limiter/traffic/figures.js'
export type { RuleRecord } from './limiter/traffic/rule-log.js'
export type {
  DenialLog,
  DenialLogOptions,
  RuleLogOptions,
  SubjectDenials,
  SubjectTraffic,
  TrafficView,
  TrafficViewOptions,
} from './limiter/traffic/traffic-calls.js'
export type { LeaseChange, LeaseStats } from './features/leases/lease-reporter.js'
export type { WaitingChange, WaitingStats } from './limiter/waiting/waiting-change.js'
export type { FailurePolicy } from './plans/failure-policy.js'
export type { DecisionCounts, LimiterHealth, LimiterStats } from './limiter/report/stats.js'
export { createLimiter } from './limiter/create-limiter.js'
export type { ConsumeOptions, Consumer, Limiter } from './limiter/limiter.js'
export type { BookedChange, Booking, PeriodUsage, Usage, UsageOptions } from './limiter/booking.js'
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
  type HttpResponse,
  type HttpResponseOptions,
} from './http/answers/http-response.js'
export {
  denialReferences,
  type DenialReferences,
  type DenialReferencesOptions,
  type ReferredDenial,
} from './http/answers/denial-references.js'
export { refuseUpgrade } from './http/answers/refuse-upgrade.js'
export { decisionsOf } from './http/decisions.js'
export type { RateLimitOptions, RequestContext, RouteOptions } from './http/options.js'
export type { UsageRouteOptions } from './http/usage/usage.js'
export type { UsageOfLimit, UsageReport } from './http/usage/report.js'
export { RATE_LIMIT_HEADERS } from './http/headers.js'
export { byBearerToken, byJwtClaim } from './http/who/credentials.js'
export { byHeader, byIp, subjectForIp, type Identify, type RequestWithHeaders } from './http/who/identify.js'
