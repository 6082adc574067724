import { ConfigError, show } from '../../base/errors.js'
import { isOptions, needOptions, needWhole } from '../../base/options.js'
import type { LeaseTerms } from '../limit/limit-set.js'
import type { Limit } from '../limit/limit.js'

/** How long leases last, and how many units they take. */
export interface LeaseOptions {
  /**
   * The longest that a lease lasts, in ms: from 10 to 1000, and no longer than the shortest window. Default: 500. In the
   * mode `exact` the default is at most 1/32 of the shortest window, token buckets aside.
   */
  readonly maxMs?: number | undefined
  /** The largest share of the units left that one lease takes: from 0.001 to 1. Default: 0.25. */
  readonly maxShare?: number | undefined
  /**
   * What leases may change.
   * - `exact` (the default): no window admits more than without leases. Units come back up to one lease late.
   * - `smooth`: units come back on time. A window can also admit the units that were on lease when it started.
   */
  readonly mode?: 'exact' | 'smooth' | undefined
}

/** Whether a plan is leased: `true` with the defaults, or with these options. */
export type LeaseOption = boolean | LeaseOptions

/** An option `lease` as a user wrote it, on a plan or on one of its limits. */
export interface LeaseSaid {
  readonly given: LeaseOption
  /** Where it stands: `plans.pro.lease`. */
  readonly path: string
}

const MAX_SHARE = 0.25
const LEAST_SHARE = 0.001
const MODES = ['exact', 'smooth']

/** The options `lease` of one limit, or of several. */
export function leasesSaidBy(input: unknown, path: string): LeaseSaid[] {
  if (Array.isArray(input)) {
    return input.flatMap((limit: unknown, i) => leasesSaidBy(limit, `${path}[${i}]`))
  }
  if (!isOptions(input)) return []
  const { lease } = input as { readonly lease?: LeaseOption }
  return lease === undefined ? [] : [{ given: lease, path: `${path}.lease` }]
}

/**
 * Compiles the options `lease` of a plan; undefined if it is not leased.
 *
 * @param said on the plan or on its limits. All limits of a key are decided together, so one limit leases its whole plan
 * @throws {ConfigError} when an option is wrong, two places differ, or these limits cannot be leased
 */
export function compileLease(said: readonly LeaseSaid[], limits: readonly Limit[]): LeaseTerms | undefined {
  const [first, ...rest] = said
  if (!first) return undefined
  needLeaseOption(first)
  for (const other of rest) {
    needLeaseOption(other)
    needSameLease(other, first)
  }
  const { given, path } = first
  if (given === false) return undefined
  const { maxMs, maxShare = MAX_SHARE, mode = 'exact' } = given === true ? {} : given
  if (limits.length === 0) {
    throw new ConfigError(path, 'this plan has no limits, so there is nothing to lease: leave lease out')
  }
  if (limits.some(({ windowMs }) => windowMs === 0)) {
    const problem =
      'units of requests in flight come back when a request ends, so none can be taken in advance'
    throw new ConfigError(path, `${problem}: leave lease out, or the limit of requests in flight`)
  }
  if (limits.some(({ overage }) => overage)) {
    const problem = 'units beyond a quota are counted at once, so none can be taken in advance'
    throw new ConfigError(path, `${problem}: leave lease out, or overage`)
  }
  for (const limit of limits) needUnits(limit, maxShare, path)
  const isSmooth = mode === 'smooth'
  const longestMs = Math.min(...limits.map((limit) => longestOf(limit, { maxMs, isSmooth, path })))
  const lengthUs = Math.floor(longestMs * 1000)
  return { lengthUs, share: maxShare, lagUs: isSmooth ? lengthUs : 0 }
}

function needLeaseOption({ given, path }: LeaseSaid): void {
  if (typeof given === 'boolean') return
  if (!isOptions(given)) {
    throw ConfigError.wrong(path, given, 'true, false, or an object of options, such as { maxMs: 200 }')
  }
  needOptions(given, ['maxMs', 'maxShare', 'mode'], path)
  const { maxMs, maxShare = MAX_SHARE, mode = 'exact' } = given
  needWhole(`${path}.maxMs`, maxMs, { of: 'ms', least: LEAST_MS, most: 1000, such: 200 })
  if (!(typeof maxShare === 'number' && maxShare >= LEAST_SHARE && maxShare <= 1)) {
    throw ConfigError.wrong(`${path}.maxShare`, maxShare, `a number from ${LEAST_SHARE} to 1, such as 0.25`)
  }
  if (!MODES.includes(mode))
    throw ConfigError.wrong(`${path}.mode`, mode, `one of ${MODES.map(show).join(', ')}`)
}

function needSameLease({ given, path }: LeaseSaid, first: LeaseSaid): void {
  const text = (lease: LeaseOption): string => {
    if (typeof lease === 'boolean') return String(lease)
    return JSON.stringify([lease.maxMs, lease.maxShare, lease.mode])
  }
  if (text(given) === text(first.given)) return
  const remedy = 'write it once, on the plan: { limits: [...], lease: true }'
  const problem = `this differs from ${first.path}, and all limits of a plan are leased together`
  throw new ConfigError(path, `${problem}: ${remedy}`)
}

const MAX_MS = 500
const LEAST_MS = 10
/** The default lease is this part of a window. Units come back up to one lease late, which costs up to this part of the quota. */
const PART_OF_WINDOW = 32
/** A shorter lease saves so little that it is never the default. */
const LEAST_DEFAULT_MS = 50
/** A lease of fewer units spares the store too few requests. */
const LEAST_UNITS = 16

/** @throws {ConfigError} when a lease of this limit would be too small */
function needUnits({ name, capacity }: Limit, maxShare: number, path: string): void {
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
function longestOf(
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
