/**
 * All that core takes from Node, except in the HTTP limiter. In the build for browsers, platform.browser.ts replaces this file
 * and exports the same.
 */
import cluster from 'node:cluster'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import * as timers from 'node:timers'

export { channel } from 'node:diagnostics_channel'
export { isIP } from 'node:net'
export { isDeepStrictEqual } from 'node:util'

/**
 * Timers that a user's tests cannot fake. With a fake timer that stands still, a request would never be answered. They
 * come from `node:timers` when this file is loaded, and not from the globals, which a test runner may have replaced by
 * then.
 */
export const { setImmediate, setTimeout, clearTimeout } = timers

/** The time since this process started, in ms with µs as decimals. */
export const elapsedMs = performance.now.bind(performance)

/** When this process started, in ms since 1970. */
export const startedAtMs = performance.timeOrigin

/** The SHA-256 hash of a text in this encoding, as base64url. */
export function sha256(text: string, encoding: 'utf8' | 'utf16le'): string {
  return createHash('sha256').update(Buffer.from(text, encoding)).digest('base64url')
}

/** The HMAC-SHA-256 of a text in UTF-16, as base64url. */
export function hmacSha256(secret: string, text: string): string {
  return createHmac('sha256', secret).update(Buffer.from(text, 'utf16le')).digest('base64url')
}

/** Random bytes that cannot be guessed, as base64url. */
export function randomText(bytes: number): string {
  return randomBytes(bytes).toString('base64url')
}

export function toBase64url(bytes: readonly number[]): string {
  return Buffer.from(bytes).toString('base64url')
}

/** Reports a warning of Tollgate. A process warning goes to stderr by default. */
export function reportWarning(code: string, text: string): void {
  process.emitWarning(text, { type: 'TollgateWarning', code })
}

/**
 * Whether this is one of several processes of an application. PM2 sets a process number from 0 and the number of processes.
 * It uses node:cluster even for a single process.
 */
export function isOneOfSeveral(): boolean {
  const { NODE_APP_INSTANCE: number, instances } = process.env
  if (number && number !== '0') return true
  if (Number(instances) > 1) return true
  return cluster.isWorker && !(number === '0' && Number(instances) === 1)
}
