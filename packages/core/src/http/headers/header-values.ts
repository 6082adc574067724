import { createHash } from 'node:crypto'
import type { Decision, LimitState } from '../../limiter/decision/decision.js'
import { limitsOf } from '../../limiter/settle/settlement.js'
import type { Subject } from '../../plans/subject.js'
import type { HideId } from '../../requests/key.js'

/** What is the same in every response on a plan. */
export interface Fixed {
  /** `RateLimit-Policy`. */
  readonly policy: string
  /** For each limit its item of `RateLimit`, up to the number: `"minute";r=`. */
  readonly items: readonly string[]
}

/**
 * The longest `RateLimit-Policy` and `RateLimit`, in bytes: they are ASCII. Clients and proxies refuse a response whose headers are
 * too long, Node's own above 16 kB, and names can be long and many.
 */
const LONGEST = 4096

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
function policiesOf(decision: Decision): readonly Policy[] {
  return decision.limits.length > 0 ? decision.limits : (limitsOf(decision) ?? [])
}

/** What the policy of a limit of requests in flight has in place of a window. */
const IN_FLIGHT = 'qu="concurrent-requests"'

/**
 * The value of `RateLimit-Policy`.
 *
 * @param keys the parameter `pk` of each limit
 */
function policyOf(policies: readonly Policy[], keys: readonly string[]): string {
  const policy = ({ name, quota, windowMs }: Policy, i: number): string =>
    `${quoted(name)};q=${quota};${windowMs > 0 ? `w=${seconds(windowMs)}` : IN_FLIGHT}${keys[i] ?? ''}`
  return policies.map(policy).join(', ')
}

/** Both values of a decision; `standing` is empty if the decision has no numbers. */
export interface ListValues {
  readonly policy: string
  readonly standing: string
}

/** @param fixed of the decision */
export function listValues(decision: Decision, fixed: Fixed, keys: readonly string[]): ListValues {
  const { limits } = decision
  const policy = keys === NO_KEYS ? fixed.policy : policyOf(policiesOf(decision), keys)
  const values = { policy, standing: standing(limits, fixed.items, keys) }
  if (policy.length <= LONGEST && values.standing.length <= LONGEST) return values
  const kept = closestThatFit(decision, fixed, keys)
  const pick = <T>(all: readonly T[]): T[] => kept.flatMap((i) => (i in all ? [all[i] as T] : []))
  const keysKept = keys === NO_KEYS ? keys : pick(keys)
  return {
    policy: policyOf(pick(policiesOf(decision)), keysKept),
    standing: standing(pick(limits), pick(fixed.items), keysKept),
  }
}

/** Indices of the limits that both values have room for, in order. What denied comes first, then what has the least left. */
function closestThatFit(decision: Decision, { items }: Fixed, keys: readonly string[]): number[] {
  const { limits, violated } = decision
  const rank = (i: number): number =>
    violated.includes(limits[i]?.name ?? '') ? -1 : (limits[i]?.remaining ?? 0)
  const size = (policy: Policy, i: number): number => {
    const state = limits[i]
    const told = state ? standing([state], [items[i] ?? ''], [keys[i] ?? '']).length : 0
    return Math.max(policyOf([policy], [keys[i] ?? '']).length, told) + ', '.length
  }
  const sizes = policiesOf(decision).map(size)
  let left = LONGEST
  const fits = (i: number): boolean => {
    const isKept = (sizes[i] as number) <= left
    if (isKept) left -= sizes[i] as number
    return isKept
  }
  const closest = [...sizes.keys()].sort((a, b) => rank(a) - rank(b))
  return closest.filter(fits).sort((a, b) => a - b)
}

/** The value of `RateLimit`. */
function standing(limits: readonly LimitState[], items: readonly string[], keys: readonly string[]): string {
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
