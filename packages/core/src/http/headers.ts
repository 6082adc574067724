import { createHash } from 'node:crypto'
import type { Decision, LimitState } from '../limiter/decision.js'
import { limitsOf, ownersOf } from '../limiter/settlement.js'
import type { Subject } from '../plans/subject.js'
import type { HideId } from '../requests/key.js'
import { readHeaderOptions, type HeaderOptions } from './header-options.js'

/** The headers of a response. */
export interface ResponseHeaders {
  get(name: string): string | undefined
  set(name: string, value: string): void
}

/** All headers that Tollgate can send, for the options of a CORS package. Not readonly, as their types require. */
export const RATE_LIMIT_HEADERS: string[] = [
  'RateLimit-Policy',
  'RateLimit',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Retry-After',
]
const EXPOSE = 'Access-Control-Expose-Headers'

/**
 * Makes a function that writes the rate limit headers of a decision. It writes none for decisions that no store made,
 * since their numbers are not known.
 *
 * @param hide hashes ids with the limiter's secret; undefined without `hashIds`
 * @throws {ConfigError} when an option is wrong
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function headerWriter(
  options: HeaderOptions | false = {},
  hide?: HideId,
): (decision: Decision, response: ResponseHeaders) => void {
  const read = readHeaderOptions(options)
  const { standard, single, legacy, partitionKey, expose } = read
  const exposed = sentWith(read)
  const policies = new WeakMap<readonly unknown[], string>()
  return (decision, response) => {
    // Also without limits to report: a script must be able to read Retry-After of any denial.
    if (expose) response.set(EXPOSE, withOurs(response.get(EXPOSE), exposed))
    if (decision.limits.length === 0) return
    if (standard) {
      const keys = partitionKey ? ownersOf(decision).map((owner) => partitionKeyOf(owner, hide)) : undefined
      response.set('RateLimit-Policy', keys ? policyFor(decision, keys) : policyOf(decision, policies))
      response.set('RateLimit', decision.limits.map((limit, i) => standing(limit, keys?.[i])).join(', '))
    }
    if (!single && !legacy) return
    const limit = closest(decision)
    if (single) setSingle('RateLimit', limit, seconds(limit.resetMs), response)
    if (legacy === 'delta') setSingle('X-RateLimit', limit, seconds(limit.resetMs), response)
    if (legacy === 'epoch') setSingle('X-RateLimit', limit, seconds(Date.now() + limit.resetMs), response)
  }
}

/** Whole seconds, rounded up. */
export function seconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

/** Cached, since it is the same for every response on a plan. */
function policyOf(decision: Decision, known: WeakMap<readonly unknown[], string>): string {
  const limits = limitsOf(decision)
  const before = limits && known.get(limits)
  if (before !== undefined) return before
  const policy = policyFor(decision, [])
  if (limits) known.set(limits, policy)
  return policy
}

function policyFor({ limits }: Decision, keys: readonly string[]): string {
  const policy = ({ name, quota, windowMs }: LimitState, i: number): string =>
    `${quoted(name)};q=${quota};w=${seconds(windowMs)}${keys[i] ?? ''}`
  return limits.map(policy).join(', ')
}

function standing({ name, remaining, resetMs }: LimitState, key = ''): string {
  const item = `${quoted(name)};r=${remaining}`
  return resetMs === 0 ? `${item}${key}` : `${item};t=${seconds(resetMs)}${key}`
}

/** The parameter `pk`. Hashed, since the draft allows no sensitive data in it. */
function partitionKeyOf({ id, kind = 'id' }: Subject, hide?: HideId): string {
  const whose = `${kind}:${id}`
  // Not the hash that the store's keys have, so that neither can be derived from the other.
  const hash = hide
    ? Buffer.from(hide(`pk ${whose}`), 'base64url')
    : createHash('sha256').update(whose).digest()
  return `;pk=:${hash.subarray(0, 9).toString('base64')}:`
}

/** The headers that are sent with these options. */
function sentWith({ standard, single, legacy }: Required<HeaderOptions>): readonly string[] {
  return RATE_LIMIT_HEADERS.filter((name) => {
    if (name === 'Retry-After') return true
    if (name.startsWith('X-')) return legacy !== false
    return name.startsWith('RateLimit-') && name !== 'RateLimit-Policy' ? single : standard
  })
}

/** The application's list of exposed headers, with ours added. */
function withOurs(exposed: string | undefined, ours: readonly string[]): string {
  const given = (exposed ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (given.includes('*')) return given.join(', ')
  const known = new Set(given.map((name) => name.toLowerCase()))
  return [...given, ...ours.filter((name) => !known.has(name.toLowerCase()))].join(', ')
}

/** A name as a String of structured fields (RFC 9651). */
function quoted(name: string): string {
  return `"${policyName(name).replace(/["\\]/g, '\\$&')}"`
}

/** A limit's name in headers and bodies. `%` and everything that is not printable ASCII is percent-encoded. */
export function policyName(name: string): string {
  return name.replace(/[^\x20-\x24\x26-\x7e]+/gu, (part) =>
    [...Buffer.from(part)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  )
}

/** For a denial, the violated limit with the longest wait; otherwise the limit with the least remaining. */
function closest({ limits, violated }: Decision): LimitState {
  const denying = limits.filter(({ name }) => violated.includes(name))
  // None of a decision that was made by hand, and names another limit.
  if (denying.length > 0) {
    return denying.reduce((worst, limit) => (limit.resetMs > worst.resetMs ? limit : worst))
  }
  return limits.reduce((least, limit) => (limit.remaining < least.remaining ? limit : least))
}

function setSingle(prefix: string, limit: LimitState, reset: number, { set }: ResponseHeaders): void {
  // Not the quota: a token bucket can hold more or less than that. The remaining units must not exceed this number.
  set(`${prefix}-Limit`, String(limit.used + limit.remaining))
  set(`${prefix}-Remaining`, String(limit.remaining))
  set(`${prefix}-Reset`, String(reset))
}
