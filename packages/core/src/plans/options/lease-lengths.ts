import { ConfigError, show } from '../../base/errors.js'
import type { Limit } from '../limit/limit.js'

export const MAX_MS = 500
export const LEAST_MS = 10
/** Of a window, unless a user says more: units come back up to one lease late, and so much less is handed out. */
const PART_OF_WINDOW = 32
/** A shorter lease saves so little that a user must ask for it. */
const LEAST_DEFAULT_MS = 50
/** A lease of fewer units spares the store too few requests. */
const LEAST_UNITS = 16

/** @throws {ConfigError} when a lease of this limit would be too small */
export function needUnits({ name, capacity }: Limit, maxShare: number, path: string): void {
  const most = Math.floor(capacity * maxShare)
  if (most >= LEAST_UNITS) return
  const share = Math.ceil((LEAST_UNITS / capacity) * 100) / 100
  const remedies = [`a limit of at least ${Math.ceil(LEAST_UNITS / maxShare)} units`]
  if (share <= 1) remedies.push(`maxShare: ${share}`)
  const has = `the limit ${show(name)} has ${capacity} units, so a lease has at most ${most} (maxShare ${maxShare})`
  const problem = `${has}, and below ${LEAST_UNITS} it saves nothing`
  throw new ConfigError(path, `${problem}: leave lease out, or write ${remedies.join(' or ')}`)
}

/**
 * The longest that a lease of this limit may last, in ms.
 *
 * @throws {ConfigError} when that is too short
 */
export function longestOf(
  { name, windowMs, compiled }: Limit,
  { maxMs, isSmooth, path }: { maxMs: number | undefined; isSmooth: boolean; path: string },
): number {
  const isExact = !isSmooth && compiled.algorithm !== 'token-bucket'
  if (maxMs !== undefined) {
    if (maxMs <= windowMs) return maxMs
    const problem = `got ${maxMs}, but the window of the limit ${show(name)} is ${windowMs} ms`
    throw new ConfigError(`${path}.maxMs`, `${problem}: write at most that, or leave maxMs out`)
  }
  if (windowMs < LEAST_MS) {
    const problem = `the window of the limit ${show(name)} is too short: a lease lasts at least ${LEAST_MS} ms`
    throw new ConfigError(path, `${problem}: leave lease out, or write a longer window`)
  }
  if (isExact && windowMs < LEAST_DEFAULT_MS * PART_OF_WINDOW) throw tooShort(show(name), windowMs, path)
  return Math.min(MAX_MS, isExact ? windowMs / PART_OF_WINDOW : windowMs)
}

function tooShort(limit: string, windowMs: number, path: string): ConfigError {
  const ms = windowMs / PART_OF_WINDOW
  const problem = `a lease of the limit ${limit} would last ${Math.floor(ms)} ms, 1/${PART_OF_WINDOW} of its window, which saves little`
  const longer = Math.min(Math.max(Math.floor(windowMs / 10), LEAST_MS), 1000)
  const percent = Math.round((longer / windowMs) * 100)
  const remedies = [
    "a token bucket, such as '2000/s burst 4000', whose leases may be longer",
    `a window of at least ${LEAST_DEFAULT_MS * PART_OF_WINDOW} ms`,
    `lease: { maxMs: ${longer} }, with which units come back up to ${longer} ms late and up to ${percent} % fewer are handed out`,
  ]
  return new ConfigError(path, `${problem}: write ${remedies.join(', or ')}`)
}
