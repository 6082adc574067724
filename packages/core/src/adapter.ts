/**
 * For authors of adapters to HTTP frameworks, and of tools that watch all limiters of a process. Users need none of it.
 * docs/frameworks.md begins with how an adapter is made.
 */
import type { LimiterEvents } from './limiter/events.js'

export type { HttpAdapter, HttpAnswer, ResponseEnd } from './http/adapter.js'
export { createHttpLimiter, type HttpLimiter } from './http/http-limiter.js'
export { hasLeft } from './http/has-left.js'
export { onResponseEnd } from './http/response-end.js'
export { toThrown } from './http/thrown.js'
export { toError } from './base/errors.js'

/** The channel of `node:diagnostics_channel` that all limiters of the process tell an event on: `tollgate:store-error`. */
export function channelOf(event: keyof LimiterEvents): string {
  return `tollgate:${event.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
