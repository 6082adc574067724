import { ConfigError } from '../../base/errors.js'
import { type Given, givenOf, needOptions } from '../../base/options.js'
import type { Decision, LimitState } from '../../limiter/decision/decision.js'
import { isUntold, ownersOf } from '../../limiter/settle/settlement.js'
import type { HideId } from '../../requests/key.js'
import { fixedOf, listValues, NO_KEYS, partitionKeyOf, seconds, type Fixed } from './header-values.js'

/** How headers of a response are read and set. Every `HttpAdapter` is one. */
export interface HeaderAccess<Res> {
  getHeader(res: Res, name: string): string | undefined
  setHeader(res: Res, name: string, value: string): void
}

/** Writes the rate limit headers of a decision to a response. */
export type HeaderWriter<Res> = (decision: Decision, access: HeaderAccess<Res>, res: Res) => void

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
 * since their numbers are not known; of one from a lease or a place only the policy, which is.
 *
 * @param hide hashes ids with the limiter's secret; undefined without `hashIds`
 * @throws {ConfigError} when an option is wrong
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function headerWriter<Res>(options: HeaderOptions | false = {}, hide?: HideId): HeaderWriter<Res> {
  const read = readHeaderOptions(options)
  const { standard, single, legacy, partitionKey, expose } = read
  const exposed = sentWith(read)
  const known = new WeakMap<readonly unknown[], Fixed>()
  return (decision, access, res) => {
    // Also without limits to report: a script must be able to read Retry-After of any denial.
    if (expose) access.setHeader(res, EXPOSE, withOurs(access.getHeader(res, EXPOSE), exposed))
    const { limits } = decision
    const isPolicyOnly = isUntold(decision)
    if (limits.length === 0 && !isPolicyOnly) return
    // The numbers of a limiter before this one would stand beside our policy.
    if (isPolicyOnly && access.getHeader(res, 'RateLimit') !== undefined) return
    if (standard) {
      const keys = partitionKey ? ownersOf(decision).map((owner) => partitionKeyOf(owner, hide)) : NO_KEYS
      const { policy, standing } = listValues(decision, fixedOf(decision, known), keys)
      // A copy of a decision from a lease has none.
      if (policy !== '') access.setHeader(res, 'RateLimit-Policy', policy)
      if (standing !== '') access.setHeader(res, 'RateLimit', standing)
    }
    if (isPolicyOnly || (!single && !legacy)) return
    const limit = closestLimit(decision)
    // Not the quota: a token bucket can hold more or less than that. The remaining units must not exceed this number.
    const most = String(limit.used + limit.remaining)
    const remaining = String(limit.remaining)
    const toReset = resetOf(limit, decision)
    if (single) {
      access.setHeader(res, 'RateLimit-Limit', most)
      access.setHeader(res, 'RateLimit-Remaining', remaining)
      access.setHeader(res, 'RateLimit-Reset', String(seconds(toReset)))
    }
    if (!legacy) return
    access.setHeader(res, 'X-RateLimit-Limit', most)
    access.setHeader(res, 'X-RateLimit-Remaining', remaining)
    const resetMs = legacy === 'epoch' ? Date.now() + toReset : toReset
    access.setHeader(res, 'X-RateLimit-Reset', String(seconds(resetMs)))
  }
}

/** The headers that are sent with these options. */
function sentWith({ standard, single, legacy }: Required<Given<HeaderOptions>>): readonly string[] {
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

/**
 * The limit that headers with room for one tell of. For a denial, the violated limit with the longest wait; otherwise
 * the limit with the least remaining. One of requests in flight only if it alone denied, or there is no other: how many
 * are in flight changes too fast to plan by.
 */
function closestLimit({ limits, violated }: Decision): LimitState {
  if (limits.length === 1) return limits[0] as LimitState
  const denying = limits.filter(({ name }) => violated.includes(name))
  // None of a decision that was made by hand, and names another limit.
  if (denying.length > 0) {
    return inTime(denying).reduce((worst, limit) => (limit.resetMs > worst.resetMs ? limit : worst))
  }
  return inTime(limits).reduce((least, limit) => (limit.remaining < least.remaining ? limit : least))
}

function inTime(limits: readonly LimitState[]): readonly LimitState[] {
  const found = limits.filter(({ windowMs }) => windowMs > 0)
  return found.length > 0 ? found : limits
}

/** In how many ms such headers say that the limit has more: of requests in flight, when a denied client should retry. */
function resetOf({ name, windowMs, resetMs }: LimitState, { violated, retryAfterMs }: Decision): number {
  return windowMs === 0 && violated.includes(name) ? (retryAfterMs ?? 0) : resetMs
}

/** Which rate limit headers are sent. */
export interface HeaderOptions {
  /** `RateLimit` and `RateLimit-Policy` of the IETF draft, with one item per limit. Default: true. */
  readonly standard?: boolean | undefined
  /** `RateLimit-Limit`, `-Remaining` and `-Reset` (seconds) of the limit that is closest to denying. Default: true. */
  readonly single?: boolean | undefined
  /**
   * `X-RateLimit-*` of the same limit. The reset is in seconds from now with `delta`, and in seconds since 1970 with
   * `epoch`. Default: false.
   */
  readonly legacy?: false | 'delta' | 'epoch' | undefined
  /**
   * Adds `pk` to the standard headers: a short hash of the subject that each limit belongs to. Short ids can be guessed
   * from the hash, unless the limiter has `hashIds`: then it is made with that secret. Default: false.
   */
  readonly partitionKey?: boolean | undefined
  /** Lets scripts of other origins read all these headers (`Access-Control-Expose-Headers`). Default: false. */
  readonly expose?: boolean | undefined
}

const SWITCHES = ['standard', 'single', 'partitionKey', 'expose'] as const

export function readHeaderOptions(options: HeaderOptions | false): Required<Given<HeaderOptions>> {
  const none = { standard: false, single: false, legacy: false, partitionKey: false, expose: false } as const
  if (options === false) return none
  needOptions(options, Object.keys(none), 'headers')
  const all = { ...none, standard: true, single: true, ...givenOf(options) }
  for (const name of SWITCHES) {
    if (typeof all[name] !== 'boolean') throw ConfigError.wrong(`headers.${name}`, all[name], 'true or false')
  }
  if (![false, 'delta', 'epoch'].includes(all.legacy)) {
    throw ConfigError.wrong('headers.legacy', all.legacy, "false, 'delta' or 'epoch'")
  }
  return all
}
