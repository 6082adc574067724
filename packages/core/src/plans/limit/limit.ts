import type { ConcurrentOptions } from '../../algorithms/concurrent/concurrent.js'
import { isWindowLength } from '../../algorithms/limit-terms.js'
import {
  DEFAULT_ALGORITHM,
  implementations,
  type Algorithm,
  type AlgorithmName,
  type AnyImplementation,
  type OwnOptions,
} from '../../algorithms/registry.js'
import {
  durationName,
  LONGEST_WINDOW_MS,
  notationOf,
  readDuration,
  UNIT_MS,
  UNITS,
  type Duration,
} from '../../base/duration.js'
import { atCaller, ConfigError, show } from '../../base/errors.js'
import { isOptions, isUnits, needOptions, type KnownOptions } from '../../base/options.js'
import { isShowable } from '../../base/show.js'
import { compileLease, leasesSaidBy, type LeaseOption } from '../options/lease-option.js'
import {
  isConcurrent,
  isNamedConcurrent,
  namedConcurrent,
  needOneConcurrent,
  readConcurrent,
} from './concurrent-limit.js'
import { notALimit, readNotation } from './limit-notation.js'
import {
  capacityOf,
  compileLimit,
  toLimitSet,
  inFlightLast,
  type CompiledLimit,
  type LimitSet,
} from './limit-set.js'
import { algorithmMeantBy, limitRemedy, meansNoLimit, windowMeantBy } from './meant-limit.js'

export type { Algorithm }

/** A limit of units in a window, in its long form. */
export interface LimitOptions extends OwnOptions {
  /** Units allowed in a window: a whole number from 1 to 10^12. */
  readonly quota: number
  /** Length of the window: `'min'`, `'15 min'`, `'2500ms'`, or a number of ms. */
  readonly window: string | number
  /**
   * How the limit counts. Default: `token-bucket` with `burst`; `fixed-window` for a month, or with `timeZone` or `anchor`;
   * else the store's default, which is `sliding-log` unless the store says otherwise.
   */
  readonly algorithm?: Algorithm | undefined
  /** The name that clients see in headers and errors. Default: the window, such as `minute`. */
  readonly name?: string | undefined
  /**
   * Whether a process takes units for a busy subject in advance. All limits of a plan are leased together, so this is
   * the same as the plan's `lease`.
   */
  readonly lease?: LeaseOption | undefined
}

/** A limit of a subject's requests in flight, in its long form. */
export interface ConcurrentLimitOptions extends ConcurrentOptions {
  /** The most requests in flight at a time: a whole number from 1 to 10^6. */
  readonly concurrent: number
  /** The name that clients see in headers and errors. Default: `concurrent`. */
  readonly name?: string | undefined
}

/**
 * A limit: `'100/min'`, `'10000 per 15 min'`, `'50/s burst 100'`, `'5000000/month'`, `'20 concurrent'`, or the long form of
 * one of these.
 */
export type LimitInput = string | LimitOptions | ConcurrentLimitOptions

/** A valid, compiled limit. */
export interface Limit {
  readonly name: string
  readonly quota: number
  /** The window's length in ms; a calendar month counts as 30 days. 0 for a limit of requests in flight. */
  readonly windowMs: number
  /** Units that can be taken at once when nothing is used: the quota, or the burst of a token bucket. */
  readonly capacity: number
  /** The form that stores get. */
  readonly compiled: CompiledLimit
}

const all = (Object.entries(implementations) as [AlgorithmName, AnyImplementation][]).filter(
  ([, { inFlight }]) => !inFlight,
)
const names = [...new Set(all.map(([, { name }]) => name))]
const KNOWN: KnownOptions = {
  names: ['quota', 'window', 'algorithm', 'name', 'lease', ...all.flatMap(([, { options }]) => options)],
  example: "{ quota: 100, window: 'min' }",
  remedyOf: limitRemedy,
}

/**
 * Reads a limit in either form.
 *
 * @param path where the user wrote it, for the error: `plans.free[0]`
 * @param defaultAlgorithm the algorithm of a limit that names none, unless its options or its window call for another
 * @throws {ConfigError} when it is not a valid limit
 */
export function parseLimit(
  input: unknown,
  path: string,
  defaultAlgorithm: Algorithm = DEFAULT_ALGORITHM,
): Limit {
  if (isConcurrent(input)) return concurrentLimit(readConcurrent(input, path), path)
  if (typeof input === 'string') return fromOptions(readNotation(input, path), path, defaultAlgorithm)
  if (isOptions(input)) return fromOptions(input as LimitOptions, path, defaultAlgorithm)
  throw notALimit(path, input)
}

function concurrentLimit(
  { concurrent, name = 'concurrent', retryAfterMs }: ConcurrentLimitOptions,
  path: string,
): Limit {
  needLimitName(name, path)
  const options = retryAfterMs === undefined ? {} : { retryAfterMs }
  const window = { count: 0, unit: 'ms', ms: 0 } as const
  const compiled = compileLimit('concurrent', { quota: concurrent, window, options, path })
  return { name, quota: concurrent, windowMs: 0, capacity: concurrent, compiled }
}

function fromOptions(options: LimitOptions, path: string, defaultAlgorithm: Algorithm): Limit {
  needOptions(options, KNOWN, path)
  const { quota, name } = options
  if (isNamedConcurrent(options.algorithm)) throw namedConcurrent(path, options)
  if (!isUnits(quota)) {
    const expected = 'a whole number of units from 1 to 10^12, such as 100'
    const isNone = quota !== undefined && meansNoLimit(quota)
    const plan = isNone
      ? "; a plan without limits is 'unlimited', one that lets nothing pass is 'blocked'"
      : ''
    throw ConfigError.wrong(`${path}.quota`, quota, expected + plan)
  }
  const window = readWindow(options.window, `${path}.window`)
  if (name !== undefined) needLimitName(name, path)
  const algorithm = algorithmOf(options, window, readAlgorithm(options, path), defaultAlgorithm)
  refuseMisplaced(options, implementations[algorithm], path)
  const compiled = compileLimit(algorithm, { quota, window, options, path })
  return {
    name: name ?? durationName(window),
    quota,
    windowMs: window.ms,
    capacity: capacityOf(compiled, Date.now()),
    compiled,
  }
}

function needLimitName(name: unknown, path: string): void {
  if (typeof name === 'string' && name.length >= 1 && name.length <= 64 && isShowable(name)) return
  const expected = "a name of 1 to 64 characters that can be shown, such as 'reads'"
  throw ConfigError.wrong(`${path}.name`, name, expected)
}

function readWindow(given: unknown, path: string): Duration {
  const window = readDuration(given)
  if (window && window.ms <= LONGEST_WINDOW_MS && isWindowLength(window.ms)) return window
  const meant = typeof given === 'string' ? windowMeantBy(given) : undefined
  if (meant !== undefined) throw ConfigError.wrong(path, given, `a time such as ${meant}`)
  const expected = `a time such as 'min', '15 min' or 2500 (ms), up to 3000 d (units of time: ${UNITS})`
  const longer = window && !isWindowLength(window.ms) ? ', in whole seconds when longer than 18 h' : ''
  throw ConfigError.wrong(path, given, expected + longer)
}

function readAlgorithm({ algorithm }: LimitOptions, path: string): Algorithm | undefined {
  if (algorithm === undefined || names.includes(algorithm)) return algorithm
  const all = names.map(show).join(', ')
  const meant = algorithmMeantBy(algorithm, names)
  const expected = meant === undefined ? `one of ${all}` : `${show(meant)} (there are ${all})`
  throw ConfigError.wrong(`${path}.algorithm`, algorithm, expected)
}

function algorithmOf(
  options: LimitOptions,
  window: Duration,
  algorithm: Algorithm | undefined,
  defaultAlgorithm: Algorithm,
): AlgorithmName {
  const named = all.filter(([, { name }]) => algorithm === undefined || name === algorithm)
  const meant = named.find(([, one]) => one.isMeant?.(options, window))
  if (meant) return meant[0]
  const others = all.filter(([, { name }]) => name === (algorithm ?? defaultAlgorithm))
  const [found] = (others.find(([, one]) => !one.isMeant) ?? others[0]) as [AlgorithmName, AnyImplementation]
  return found
}

/** Refuses options that this algorithm does not have and would ignore. */
function refuseMisplaced(given: LimitOptions, { name: own, options }: AnyImplementation, path: string): void {
  for (const [, { name, options: others }] of all) {
    for (const option of others as readonly (keyof OwnOptions)[]) {
      if (given[option] === undefined || options.includes(option)) continue
      const problem = `got ${show(given[option])}, but only a ${name} has ${option}, and this limit is a ${own}`
      throw new ConfigError(`${path}.${option}`, `${problem}: leave it out, or write algorithm: '${name}'`)
    }
  }
}

/**
 * Compiles limits as users write them to the form that stores get: `createLimitSet('5/min', '100/h')`.
 *
 * @throws {ConfigError} when one of them is not a valid limit
 */
export function createLimitSet(...limits: readonly LimitInput[]): LimitSet {
  return atCaller(createLimitSet, () => compileEach(limits))
}

/**
 * Like `createLimitSet`, for one store: a limit that names no algorithm gets the store's `defaultAlgorithm`, as in a limiter
 * on that store. Does not check whether the store can count the limits: `unsupportedBy` does.
 *
 * @throws {ConfigError} when one of them is not a valid limit
 */
export function createLimitSetFor(
  { defaultAlgorithm }: { readonly defaultAlgorithm?: Algorithm | undefined },
  ...limits: readonly LimitInput[]
): LimitSet {
  return atCaller(createLimitSetFor, () => compileEach(limits, defaultAlgorithm))
}

function compileEach(limits: readonly LimitInput[], defaultAlgorithm?: Algorithm): LimitSet {
  const given = limits.map((limit, i) => parseLimit(limit, `limits[${i}]`, defaultAlgorithm))
  needOneConcurrent(given, 'limits')
  const parsed = inFlightLast(given)
  return toLimitSet(parsed, { lease: compileLease(leasesSaidBy(limits, 'limits'), parsed) })
}

/** The window of a limit as users write it: `min`, `15min`. */
export function windowTextOf({ windowMs, compiled }: Limit): string {
  if (windowMs === UNIT_MS.month && compiled.timeZone !== undefined) return 'month'
  return windowMs === UNIT_MS.week ? 'week' : notationOf(windowMs)
}

/** A length of time as users write it by itself: `1s`. */
export function lengthTextOf(ms: number): string {
  const text = notationOf(ms)
  return /^\d/.test(text) ? text : `1${text}`
}

/** Units and window of a limit as users write them, without the burst of a token bucket: `5/s`. */
export function rateTextOf(limit: Limit): string {
  return `${limit.quota}/${windowTextOf(limit)}`
}

/** The burst of a token bucket; undefined for all others. */
export function burstOf({ capacity, compiled }: Limit): number | undefined {
  return compiled.algorithm === 'token-bucket' ? capacity : undefined
}

/** The limit as users write it, without its name: `5/s burst 10`. */
export function limitTextOf(limit: Limit): string {
  const burst = burstOf(limit)
  return burst === undefined ? rateTextOf(limit) : `${rateTextOf(limit)} burst ${burst}`
}
