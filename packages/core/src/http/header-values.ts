import { createHash } from 'node:crypto'
import type { Decision, LimitState } from '../limiter/decision.js'
import { limitsOf } from '../limiter/settlement.js'
import type { Subject } from '../plans/subject.js'
import type { HideId } from '../requests/key.js'

/** What is the same in every response on a plan. */
export interface Fixed {
  /** `RateLimit-Policy`. */
  readonly policy: string
  /** For each limit its item of `RateLimit`, up to the number: `"minute";r=`. */
  readonly items: readonly string[]
}

/** For headers without `pk`. */
export const NO_KEYS: readonly string[] = []

/** @param known those that were made before, by the limits of the decision */
export function fixedOf(decision: Decision, known: WeakMap<readonly unknown[], Fixed>): Fixed {
  const limits = limitsOf(decision)
  const before = limits && known.get(limits)
  if (before !== undefined) return before
  const policies = policiesOf(decision)
  const items = policies.map(({ name }) => `${quoted(name)};r=`)
  const fixed = { policy: policyOf(policies, NO_KEYS), items }
  if (limits) known.set(limits, fixed)
  return fixed
}

/** What `RateLimit-Policy` tells of a limit. */
type Policy = Pick<LimitState, 'name' | 'quota' | 'windowMs'>

/** Those of a decision. One from a lease has no `limits` of its own. */
export function policiesOf(decision: Decision): readonly Policy[] {
  return decision.limits.length > 0 ? decision.limits : (limitsOf(decision) ?? [])
}

/** What the policy of a limit of requests in flight has in place of a window. */
const IN_FLIGHT = 'qu="concurrent-requests"'

/**
 * The value of `RateLimit-Policy`.
 *
 * @param keys the parameter `pk` of each limit
 */
export function policyOf(policies: readonly Policy[], keys: readonly string[]): string {
  const policy = ({ name, quota, windowMs }: Policy, i: number): string =>
    `${quoted(name)};q=${quota};${windowMs > 0 ? `w=${seconds(windowMs)}` : IN_FLIGHT}${keys[i] ?? ''}`
  return policies.map(policy).join(', ')
}

/** The value of `RateLimit`. */
export function standing(
  limits: readonly LimitState[],
  items: readonly string[],
  keys: readonly string[],
): string {
  let all = ''
  for (let i = 0; i < limits.length; i += 1) {
    const { remaining, resetMs } = limits[i] as LimitState
    if (i > 0) all += ', '
    all += items[i] + String(remaining)
    if (resetMs !== 0) all += `;t=${seconds(resetMs)}`
    if (keys !== NO_KEYS) all += keys[i]
  }
  return all
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

/** The parameter `pk`. Hashed, since the draft allows no sensitive data in it. */
export function partitionKeyOf({ id, kind = 'id' }: Subject, hide?: HideId): string {
  const whose = `${kind}:${id}`
  // Not the hash that the store's keys have, so that neither can be derived from the other.
  const hash = hide
    ? Buffer.from(hide(`pk ${whose}`), 'base64url')
    : createHash('sha256').update(whose).digest()
  return `;pk=:${hash.subarray(0, 9).toString('base64')}:`
}

/** Whole seconds, rounded up. */
export function seconds(ms: number): number {
  return Math.ceil(ms / 1000)
}
