/**
 * For authors of adapters to HTTP frameworks, and of tools that watch all limiters of a process. Applications do not need it.
 * docs/guides/frameworks.md ends with how to write an adapter.
 */
export type { HttpAdapter, HttpDenial, HttpLimiter, Looked, ResponseEnd } from './http/adapter.js'
export { admitThen, createHttpLimiter, toThrown } from './http/http-limiter.js'
export { watchIdentity } from './http/who/identity-watch.js'
export { hasLeft, onResponseEnd } from './http/response-end.js'
export { createUsage, noteHttp, type UsageAnswer } from './http/usage/usage.js'
export { groupForRoute } from './http/options.js'
export { processWide, thrownText, warn, type Warn, type WarningCode } from './base/warnings.js'
export { within } from './base/timers.js'
export { internalsOf, type Internals } from './limiter/internals.js'
export { atCaller, toError } from './base/errors.js'
export { needOptions } from './base/options.js'
export { isHiddenId } from './requests/key.js'
export type { MaybePromise } from './base/promises.js'
export { areIdsHashed } from './limiter/traffic/given-plans.js'
export { channelFor } from './limiter/report/events.js'
export {
  COMMANDS as REDIS_COMMANDS,
  FOR_RULES as REDIS_COMMANDS_FOR_RULES,
} from './stores/redis/reactions.js'
