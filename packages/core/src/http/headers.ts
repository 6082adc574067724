import { limitsOf, type Decision, type LimitState } from '../decision.js'
import { ConfigError } from '../errors.js'
import { needOptions } from '../options.js'

/** Which families of headers tell a client where it stands. */
export interface HeaderOptions {
  /** `RateLimit` and `RateLimit-Policy` of the IETF draft, one item a limit. Default: true. */
  readonly standard?: boolean
  /** `RateLimit-Limit`, `-Remaining` and `-Reset` (seconds), of the limit closest to denying. Default: true. */
  readonly single?: boolean
  /** `X-RateLimit-*` of the same limit, its reset in seconds from now or since 1970. Default: false. */
  readonly legacy?: false | 'delta' | 'epoch'
}

/** Header names and values, in turn. */
type SetHeader = (name: string, value: string) => void

const FAMILIES = ['standard', 'single', 'legacy']

/**
 * Makes what writes a decision into headers. Nothing is written for decisions that no store made: there is no
 * number that would be true.
 *
 * @throws {ConfigError} when an option is wrong
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function headerWriter(
  options: HeaderOptions | false = {},
): (decision: Decision, set: SetHeader) => void {
  const { standard, single, legacy } = checked(options)
  const policies = new WeakMap<readonly unknown[], string>()
  return (decision, set) => {
    if (decision.limits.length === 0) return
    if (standard) {
      set('RateLimit-Policy', policyOf(decision, policies))
      set('RateLimit', decision.limits.map(standing).join(', '))
    }
    if (!single && !legacy) return
    const limit = closest(decision)
    if (single) setSingle('RateLimit', limit, seconds(limit.resetMs), set)
    if (legacy === 'delta') setSingle('X-RateLimit', limit, seconds(limit.resetMs), set)
    if (legacy === 'epoch') setSingle('X-RateLimit', limit, seconds(Date.now() + limit.resetMs), set)
  }
}

function checked(options: HeaderOptions | false): Required<HeaderOptions> {
  if (options === false) return { standard: false, single: false, legacy: false }
  needOptions(options, FAMILIES, 'headers')
  const { standard = true, single = true, legacy = false } = options
  if (typeof standard !== 'boolean') throw new ConfigError('headers.standard', standard, 'true or false')
  if (typeof single !== 'boolean') throw new ConfigError('headers.single', single, 'true or false')
  if (![false, 'delta', 'epoch'].includes(legacy)) {
    throw new ConfigError('headers.legacy', legacy, "false, 'delta' or 'epoch'")
  }
  return { standard, single, legacy }
}

/** Whole seconds, rounded up. */
export function seconds(ms: number): number {
  return Math.ceil(ms / 1000)
}

/** The same for every answer on a plan, so it is written once. */
function policyOf(decision: Decision, known: WeakMap<readonly unknown[], string>): string {
  const limits = limitsOf(decision)
  const before = limits && known.get(limits)
  if (before !== undefined) return before
  const policy = decision.limits
    .map(({ name, quota, windowMs }) => `${quoted(name)};q=${quota};w=${seconds(windowMs)}`)
    .join(', ')
  if (limits) known.set(limits, policy)
  return policy
}

function standing({ name, remaining, resetMs }: LimitState): string {
  const item = `${quoted(name)};r=${remaining}`
  return resetMs === 0 ? item : `${item};t=${seconds(resetMs)}`
}

/** A String of structured fields: printable ASCII; anything else is percent-encoded. */
function quoted(name: string): string {
  const ascii = name.replace(/[^\x20-\x7e]+/gu, (part) =>
    [...Buffer.from(part)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  )
  return `"${ascii.replace(/["\\]/g, '\\$&')}"`
}

/** Of a denial, the limit to wait longest for; else the one with the least left. */
function closest({ limits, violated }: Decision): LimitState {
  if (violated.length > 0) {
    const denying = limits.filter(({ name }) => violated.includes(name))
    return denying.reduce((worst, limit) => (limit.resetMs > worst.resetMs ? limit : worst))
  }
  return limits.reduce((least, limit) => (limit.remaining < least.remaining ? limit : least))
}

function setSingle(prefix: string, limit: LimitState, reset: number, set: SetHeader): void {
  set(`${prefix}-Limit`, String(limit.quota))
  set(`${prefix}-Remaining`, String(limit.remaining))
  set(`${prefix}-Reset`, String(reset))
}
