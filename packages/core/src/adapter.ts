/**
 * For authors of adapters to HTTP frameworks, and of tools that watch all limiters of a process. Users need none of it.
 * docs/frameworks.md begins with how an adapter is made.
 */
export type { HttpAdapter, HttpAnswer, ResponseEnd } from './http/adapter.js'
export { admitThen } from './http/admit-then.js'
export { createHttpLimiter, type HttpLimiter } from './http/http-limiter.js'
export { hasLeft } from './http/has-left.js'
export { onResponseEnd } from './http/response-end.js'
export { toThrown } from './http/thrown.js'
export { toError } from './base/errors.js'
export { channelOf } from './limiter/events.js'
