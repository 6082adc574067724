import { UNIT_MS } from '../../base/duration.js'
import { ConfigError } from '../../base/errors.js'
import type { Limit } from '../limit/limit.js'

const MOST_SHARES = 16
/** 80, for 80 %, would be 80 times the quota. */
const MOST_SHARE = 10
/** The shortest window, in ms, for which a plan's `warnAt` holds. */
const LEAST_WINDOW_MS = UNIT_MS.h

const EXPECTED = 'a list of shares of the quota, such as [0.8, 1]'

/**
 * The shares of a limit at which listeners are warned, in ascending order.
 *
 * @throws {ConfigError} when it is no list of shares, or a limit that denies never passes one of them
 */
export function readWarnAt(given: unknown, canExceed: boolean, path: string): readonly number[] {
  if (!Array.isArray(given) || given.length > MOST_SHARES) throw ConfigError.wrong(path, given, EXPECTED)
  // Not forEach, which steps over holes.
  for (const [i, share] of (given as readonly unknown[]).entries()) {
    const at = `${path}[${i}]`
    if (typeof share !== 'number' || !(share > 0 && share <= MOST_SHARE)) {
      const expected = `a share of the quota above 0 and at most ${canExceed ? MOST_SHARE : 1}, such as 0.8 for 80 %`
      throw ConfigError.wrong(at, share, expected)
    }
    if (share <= 1 || canExceed) continue
    throw ConfigError.wrong(
      at,
      share,
      'a share up to 1: only a limit with overage: true can exceed its quota',
    )
  }
  return [...new Set(given as number[])].sort((a, b) => a - b)
}

/**
 * Warns at a plan's shares of those limits that have none of their own and a window of an hour or more. A share above 1 is only for
 * limits with overage. A limit that observes beside others is on trial: customers know nothing of it.
 *
 * @throws {ConfigError} when it is no list of shares, or holds for none of the limits
 */
export function withWarnings(limits: readonly Limit[], given: unknown, path: string): readonly Limit[] {
  if (given === undefined) return limits
  const isTrial = !limits.every(({ observes }) => observes)
  const meant = limits.filter(
    (limit) => limit.windowMs >= LEAST_WINDOW_MS && !limit.warnAt && !(isTrial && limit.observes),
  )
  const shares = readWarnAt(
    given,
    meant.some(({ overage }) => overage),
    path,
  )
  if (shares.length > 0 && meant.length === 0) {
    const problem = 'no limit of this plan has a window of an hour or more, and no warnAt of its own'
    throw new ConfigError(
      path,
      `${problem}: leave warnAt out, or write it in a limit: { ..., warnAt: [0.8] }`,
    )
  }
  const warned = (limit: Limit): Limit => {
    const warnAt = limit.overage ? shares : shares.filter((share) => share <= 1)
    return warnAt.length > 0 ? { ...limit, warnAt } : limit
  }
  return limits.map((limit) => (meant.includes(limit) ? warned(limit) : limit))
}
