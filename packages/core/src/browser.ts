/**
 * For web pages: a limiter that counts in the browser's memory and needs nothing from Node. docs/guides/in-the-browser.md says
 * what it is for.
 */
export type { MaybePromise } from './base/promises.js'
export { ConfigError, ERROR_CODES, StoreError, TollgateError, type ErrorCode } from './base/errors.js'
export { toHttpResponse, type HttpResponse, type HttpResponseOptions } from './http/answers/http-response.js'
export { createLimiter } from './limiter/create-limiter.js'
export type { Decision, DecisionSource, DenialReason, LimitState } from './limiter/decision/decision.js'
export type { ConsumeOptions, Consumer, Limiter } from './limiter/limiter.js'
export type { LimiterOptions } from './limiter/options/limiter-options.js'
export { createLimitSet, type LimitInput, type LimitOptions } from './plans/limit/limit.js'
export type { LimitSet } from './plans/limit/limit-set.js'
export type { PlanInput } from './plans/plan.js'
export type { PlansInput } from './plans/plans.js'
export type { Subject } from './plans/subject.js'
export type { Subjects } from './requests/subject/subject.js'
export type { Store } from './stores/contract.js'
export { memoryStore, type MemoryStoreOptions } from './stores/memory/memory-store.js'
