import { ConfigError } from '../base/errors.js'
import { givenOf, needBoolean, needOptions, type Given } from '../base/options.js'
import { sha256 } from '../base/platform.js'
import type { Decision, LimitState } from '../limiter/decision/decision.js'
import { isWithoutStates, limitsOf, ownersOf } from '../limiter/settle/settlement.js'
import type { Subject } from '../plans/subject.js'
import type { HideId } from '../requests/key.js'

/** Which rate limit headers are sent. */
export interface HeaderOptions {
  /** `RateLimit` and `RateLimit-Policy` as in the IETF drafts 8 to 11, with one item for each limit. Default: true. */
  readonly standard?: boolean | undefined
  /**
   * `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (seconds) for the limit that is closest to denying, as
   * in drafts 0 to 6. Default: true.
   */
  readonly single?: boolean | undefined
  /**
   * The same three headers as `X-RateLimit-*`. The reset is in seconds from now with `delta`, and in seconds since 1970
   * with `epoch`. Default: false.
   */
  readonly legacy?: false | 'delta' | 'epoch' | undefined
  /**
   * Adds `pk` to the standard headers: a short hash of the subject that each limit belongs to. Short ids can be guessed
   * from the hash, unless the limiter has `hashIds`: then the hash is made with that secret. Default: false.
   */
  readonly partitionKey?: boolean | undefined
  /** Lets scripts of other origins read all these headers (`Access-Control-Expose-Headers`). Default: false. */
  readonly expose?: boolean | undefined
}

/** How a response's headers are read and set. Every `HttpAdapter` is one. */
export interface HeaderAccess<Res> {
  getHeader(res: Res, name: string): string | undefined
  setHeader(res: Res, name: string, value: string): void
}

/** Writes the rate limit headers of a decision to a response. */
export type HeaderWriter<Res> = (decision: Decision, access: HeaderAccess<Res>, res: Res) => void

/**
 * The fields and parameters of drafts 8 to 11, with a list item for each limit. For a later draft that renames some, add
 * a table.
 *
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
const DRAFT_11 = {
  policies: 'RateLimit-Policy',
  quota: ';q=',
  window: ';w=',
  /** In place of a window. */
  inFlight: ';qu="concurrent-requests"',
  limits: 'RateLimit',
  remaining: ';r=',
  reset: ';t=',
  partitionKey: ';pk=',
} as const

/** The fields of drafts 0 to 6, with room for one limit. */
const DRAFT_6 = {
  most: 'RateLimit-Limit',
  remaining: 'RateLimit-Remaining',
  reset: 'RateLimit-Reset',
} as const

/** The same fields under the names that many services used before there was a draft. */
const LEGACY = {
  most: 'X-RateLimit-Limit',
  remaining: 'X-RateLimit-Remaining',
  reset: 'X-RateLimit-Reset',
} as const

const LIST_FIELDS: readonly string[] = [DRAFT_11.policies, DRAFT_11.limits]

/** The names of all headers that Tollgate can send, for a CORS package's options. Not readonly, as their types require. */
export const RATE_LIMIT_HEADERS: string[] = fieldsOf({ standard: true, single: true, legacy: 'delta' })
const EXPOSE = 'Access-Control-Expose-Headers'

/**
 * Creates a function that writes the rate limit headers of a decision. It writes none for a decision that no store made,
 * since its numbers are not known. For a request that was served from a lease or waited in line, it writes only the
 * policy.
 *
 * @param hide hashes ids with the limiter's secret; undefined without `hashIds`
 * @throws {ConfigError} when an option is wrong
 */
export function createHeaderWriter<Res>(
  options: HeaderOptions | false = {},
  hide?: HideId,
): HeaderWriter<Res> {
  const read = readHeaderOptions(options)
  const { standard, single, legacy, partitionKey, expose } = read
  const exposed = fieldsOf(read)
  const known = new WeakMap<readonly unknown[], Fixed>()
  return (decision, access, res) => {
    // Also without limits to report: a script must be able to read Retry-After of any denial.
    if (expose) access.setHeader(res, EXPOSE, withOurs(access.getHeader(res, EXPOSE), exposed))
    const isPolicyOnly = isWithoutStates(decision)
    if (decision.limits.length === 0 && !isPolicyOnly) return
    // A limiter before this one wrote its numbers: they must not stand beside our policy.
    if (isPolicyOnly && access.getHeader(res, DRAFT_11.limits) !== undefined) return
    if (standard) {
      const keys = partitionKey ? ownersOf(decision).map((owner) => partitionKeyFor(owner, hide)) : NO_KEYS
      const { policy, standing } = toListValues(decision, fixedFor(decision, known), keys)
      // A copy of a decision from a lease has no policy.
      if (policy !== '') access.setHeader(res, DRAFT_11.policies, policy)
      if (standing !== '') access.setHeader(res, DRAFT_11.limits, standing)
    }
    if (isPolicyOnly || (!single && !legacy)) return
    const limit = closestLimit(decision)
    // Not the quota: a token bucket can hold more or less. The remaining units must not exceed this number.
    const most = String(limit.used + limit.remaining)
    const remaining = String(limit.remaining)
    const toReset = resetMsFor(limit, decision)
    if (single) {
      access.setHeader(res, DRAFT_6.most, most)
      access.setHeader(res, DRAFT_6.remaining, remaining)
      access.setHeader(res, DRAFT_6.reset, String(toSeconds(toReset)))
    }
    if (!legacy) return
    access.setHeader(res, LEGACY.most, most)
    access.setHeader(res, LEGACY.remaining, remaining)
    const resetMs = legacy === 'epoch' ? Date.now() + toReset : toReset
    access.setHeader(res, LEGACY.reset, String(toSeconds(resetMs)))
  }
}

const NONE = { standard: false, single: false, legacy: false, partitionKey: false, expose: false } as const

/** @throws {ConfigError} when an option is wrong */
export function readHeaderOptions(options: HeaderOptions | false): Required<Given<HeaderOptions>> {
  if (options === false) return NONE
  needOptions(options, Object.keys(NONE), 'headers')
  const all = { ...NONE, standard: true, single: true, ...givenOf(options) }
  for (const [name, given] of Object.entries(all))
    if (name !== 'legacy') needBoolean(`headers.${name}`, given)
  if ([false, 'delta', 'epoch'].includes(all.legacy)) return all
  throw ConfigError.wrong('headers.legacy', all.legacy, "false, 'delta' or 'epoch'")
}

/** The fields that are sent with these options. */
function fieldsOf({
  standard,
  single,
  legacy,
}: Pick<HeaderOptions, 'standard' | 'single' | 'legacy'>): string[] {
  return [
    ...(standard ? LIST_FIELDS : []),
    ...(single ? Object.values(DRAFT_6) : []),
    ...(legacy ? Object.values(LEGACY) : []),
    'Retry-After',
  ]
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

/**
 * The limit for headers that have room for only one. For a denial, the violated limit with the longest wait; otherwise the
 * limit with the least remaining. A limit of requests in flight only if it alone denied, or if there is no other: that
 * number changes too fast to plan by.
 */
function closestLimit({ limits, violated }: Decision): LimitState {
  if (limits.length === 1) return limits[0] as LimitState
  const denying = limits.filter(({ name }) => violated.includes(name))
  // A decision that was made by hand may name a limit that it does not have.
  if (denying.length > 0) {
    return inTime(denying).reduce((worst, limit) => (limit.resetMs > worst.resetMs ? limit : worst))
  }
  // What lets everything pass is not what is closest to denying.
  const able = limits.filter(({ over }) => over === undefined)
  return inTime(able.length > 0 ? able : limits).reduce((least, limit) =>
    limit.remaining < least.remaining ? limit : least,
  )
}

function inTime(limits: readonly LimitState[]): readonly LimitState[] {
  const found = limits.filter(({ windowMs }) => windowMs > 0)
  return found.length > 0 ? found : limits
}

/** When the limit has more units, in ms from now. If a limit of requests in flight denied: when the client should retry. */
function resetMsFor({ name, windowMs, resetMs }: LimitState, { violated, retryAfterMs }: Decision): number {
  return windowMs === 0 && violated.includes(name) ? (retryAfterMs ?? 0) : resetMs
}

/** What is the same in every response on a plan. */
interface Fixed {
  /** `RateLimit-Policy`. */
  readonly policy: string
  /** For each limit its item of `RateLimit`, up to the number: `"minute";r=`. */
  readonly items: readonly string[]
}

/**
 * The longest `RateLimit-Policy` and `RateLimit`, in bytes: they are ASCII. There can be many limits with long names, and
 * clients and proxies refuse responses with too many bytes of headers: Node's client above 16 kB.
 */
const LONGEST = 4096

/** For headers without `pk`. */
const NO_KEYS: readonly string[] = []

/** @param known caches the result by the decision's limits */
function fixedFor(decision: Decision, known: WeakMap<readonly unknown[], Fixed>): Fixed {
  const limits = limitsOf(decision)
  const before = limits && known.get(limits)
  if (before !== undefined) return before
  const policies = policiesOf(decision)
  const items = policies.map(({ name }) => quoted(name) + DRAFT_11.remaining)
  const fixed = { policy: toPolicyHeader(policies, NO_KEYS), items }
  if (limits) known.set(limits, fixed)
  return fixed
}

/** What `RateLimit-Policy` says about a limit. */
type Policy = Pick<LimitState, 'name' | 'quota' | 'windowMs'>

/** What to write for each limit of a decision. A decision from a lease has no `limits`, so its request's are used. */
function policiesOf(decision: Decision): readonly Policy[] {
  return decision.limits.length > 0 ? decision.limits : (limitsOf(decision) ?? [])
}

/**
 * The value of `RateLimit-Policy`.
 *
 * @param keys the parameter `pk` of each limit
 */
function toPolicyHeader(policies: readonly Policy[], keys: readonly string[]): string {
  const windowOf = ({ windowMs }: Policy): string =>
    windowMs > 0 ? DRAFT_11.window + String(toSeconds(windowMs)) : DRAFT_11.inFlight
  const policy = (one: Policy, i: number): string =>
    quoted(one.name) + DRAFT_11.quota + String(one.quota) + windowOf(one) + (keys[i] ?? '')
  return policies.map(policy).join(', ')
}

/** The values of `RateLimit-Policy` and `RateLimit`. The second is empty if the decision has no numbers. */
function toListValues(
  decision: Decision,
  fixed: Fixed,
  keys: readonly string[],
): { readonly policy: string; readonly standing: string } {
  const { limits } = decision
  const policy = keys === NO_KEYS ? fixed.policy : toPolicyHeader(policiesOf(decision), keys)
  const standing = toStanding(limits, fixed.items, keys)
  if (policy.length <= LONGEST && standing.length <= LONGEST) return { policy, standing }
  const kept = closestThatFit(decision, fixed, keys)
  const pick = <T>(all: readonly T[]): T[] => kept.flatMap((i) => (i in all ? [all[i] as T] : []))
  const keysKept = keys === NO_KEYS ? keys : pick(keys)
  return {
    policy: toPolicyHeader(pick(policiesOf(decision)), keysKept),
    standing: toStanding(pick(limits), pick(fixed.items), keysKept),
  }
}

/** Indices of the limits that both values have room for, in order. Those that denied have priority, then those with the least left. Limits with overage come last. */
function closestThatFit(decision: Decision, { items }: Fixed, keys: readonly string[]): number[] {
  const { limits, violated } = decision
  const rank = (i: number): number => {
    const { name = '', remaining = 0, over } = limits[i] ?? {}
    if (over !== undefined) return Number.MAX_SAFE_INTEGER
    return violated.includes(name) ? -1 : remaining
  }
  const size = (policy: Policy, i: number): number => {
    const state = limits[i]
    const standing = state ? toStanding([state], [items[i] ?? ''], [keys[i] ?? '']) : ''
    return Math.max(toPolicyHeader([policy], [keys[i] ?? '']).length, standing.length) + ', '.length
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
function toStanding(
  limits: readonly LimitState[],
  items: readonly string[],
  keys: readonly string[],
): string {
  let all = ''
  for (let i = 0; i < limits.length; i += 1) {
    const { remaining, resetMs } = limits[i] as LimitState
    if (i > 0) all += ', '
    all += items[i] + String(remaining)
    if (resetMs !== 0) all += DRAFT_11.reset + String(toSeconds(resetMs))
    if (keys !== NO_KEYS) all += keys[i]
  }
  return all
}

/** A name as a String of structured fields (RFC 9651). */
function quoted(name: string): string {
  return `"${toPolicyName(name).replace(/["\\]/g, '\\$&')}"`
}

/** A limit's name in headers and bodies. `%` and everything that is not printable ASCII is percent-encoded. */
export function toPolicyName(name: string): string {
  return name.replace(/[^\x20-\x24\x26-\x7e]+/gu, (part) =>
    [...new TextEncoder().encode(part)]
      .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
      .join(''),
  )
}

/** The parameter `pk`. Hashed, since the draft allows no sensitive data in it. */
function partitionKeyFor({ id, kind = 'id' }: Subject, hide?: HideId): string {
  const whose = `${kind}:${id}`
  // Another hash than in the store's keys, so that neither can be derived from the other.
  const hash = hide ? hide(`pk ${whose}`) : sha256(whose, 'utf8')
  // 12 characters are 9 bytes. A Byte Sequence uses the standard alphabet of base64.
  return `${DRAFT_11.partitionKey}:${hash.slice(0, 12).replaceAll('-', '+').replaceAll('_', '/')}:`
}

/** Whole seconds, rounded up. */
export function toSeconds(ms: number): number {
  return Math.ceil(ms / 1000)
}
