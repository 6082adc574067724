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
import { readWarnAt } from '../options/warn-option.js'
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
  type CompilableTerms,
  type CompiledLimit,
  type LimitSet,
} from './limit-set.js'
import { algorithmMeantBy, limitRemedy, meansNoLimit, windowMeantBy } from './meant-limit.js'
import { readOverage, withOverage } from './overage-limit.js'
import { inMode, type LimitMode, modeOf, needWatch, toWatched, withWatched } from './observing-limit.js'

export type { Algorithm }

/** What holds for limits that do not say otherwise. */
export interface LimitDefaults {
  /** The algorithm, unless the limit's options or its window call for another. Default: DEFAULT_ALGORITHM. */
  readonly algorithm?: Algorithm | undefined
  readonly mode?: LimitMode | undefined
}

/** A limit of units in a window, in its long form. */
export interface LimitOptions extends OwnOptions {
  /** Units allowed in a window: a whole number from 1 to 10^12. */
  readonly quota: number
  /** Length of the window: `'min'`, `'15 min'`, `'2500ms'`, or a number of ms. */
  readonly window: string | number
  /**
   * How the limit counts. Default: `token-bucket` with `burst`; `fixed-window` for a month or a year, or with `timeZone`, `anchor` or
   * `overage`; else the store's default, which is `sliding-log` unless the store says otherwise.
   */
  readonly algorithm?: Algorithm | undefined
  /** The name that clients see in headers and errors. Default: the window, such as `minute`. */
  readonly name?: string | undefined
  /**
   * Whether a process takes units for a busy subject in advance. All limits of a plan are leased together, so this is
   * the same as the plan's `lease`.
   */
  readonly lease?: LeaseOption | undefined
  /**
   * `observe`: requests that do not fit pass. The decision says so in `observed`, and the event `observed` is emitted. Units that were
   * counted stay when you change the mode. Default: as the plan's `mode`.
   */
  readonly mode?: LimitMode | undefined
  /**
   * A lower quota, which is only observed beside this one: to see whom it would deny before you enforce it. The burst of a token bucket is
   * lower in the same proportion. Its name is that of this limit with `-watch` behind it. A whole number of units from 1.
   */
  readonly watch?: number | undefined
  /**
   * The shares of the quota at which the event `nearLimit` is emitted: `[0.8, 1]`. Each above 0, and up to 1, or with `overage` up to
   * 10. At most 16. Default: the plan's `warnAt`, if the window is an hour or longer.
   */
  readonly warnAt?: readonly number[] | undefined
}

/** A limit of a subject's requests in flight, in its long form. */
export interface ConcurrentLimitOptions extends ConcurrentOptions {
  /** The most requests in flight at a time: a whole number from 1 to 10^6. */
  readonly concurrent: number
  /** The name that clients see in headers and errors. Default: `concurrent`. */
  readonly name?: string | undefined
  /** `observe`: requests that do not fit pass, and take no slot. Default: as the plan's `mode`. */
  readonly mode?: LimitMode | undefined
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
  /** The window's length in ms; a calendar month counts as 30 days, and a year as 365. 0 for a limit of requests in flight. */
  readonly windowMs: number
  /** Units that can be taken at once when nothing is used: the quota, or the burst of a token bucket. */
  readonly capacity: number
  /** The form that stores get. */
  readonly compiled: CompiledLimit
  /** What it was compiled from. */
  readonly terms: CompilableTerms
  /** Set if it only observes. */
  readonly observes?: true | undefined
  /** Set if it counts overage. */
  readonly overage?: true | undefined
  /** The shares of it at which listeners are warned, in ascending order. */
  readonly warnAt?: readonly number[] | undefined
  /** The lower limit that is observed beside it. */
  readonly watched?: Limit | undefined
}

const all = (Object.entries(implementations) as [AlgorithmName, AnyImplementation][]).filter(
  ([, { inFlight }]) => !inFlight,
)
const names = [...new Set(all.map(([, { name }]) => name))]
const KNOWN: KnownOptions = {
  names: [
    'quota',
    'window',
    'algorithm',
    'name',
    'lease',
    'mode',
    'watch',
    'warnAt',
    ...all.flatMap(([, { options }]) => options),
  ],
  example: "{ quota: 100, window: 'min' }",
  remedyOf: limitRemedy,
}

/**
 * Reads a limit in either form.
 *
 * @param path where the user wrote it, for the error: `plans.free[0]`
 * @throws {ConfigError} when it is not a valid limit
 */
export function parseLimit(input: unknown, path: string, defaults: LimitDefaults = {}): Limit {
  if (isConcurrent(input)) return concurrentLimit(readConcurrent(input, path), path, defaults)
  if (typeof input === 'string') return fromOptions(readNotation(input, path), path, defaults)
  if (isOptions(input)) return fromOptions(input as LimitOptions, path, defaults)
  throw notALimit(path, input)
}

function concurrentLimit(
  { concurrent, name = 'concurrent', retryAfterMs, mode }: ConcurrentLimitOptions,
  path: string,
  defaults: LimitDefaults,
): Limit {
  needLimitName(name, path)
  const options = retryAfterMs === undefined ? {} : { retryAfterMs }
  const window = { count: 0, unit: 'ms', ms: 0 } as const
  const limit = toLimit(name, 'concurrent', { quota: concurrent, window, options, path })
  return inMode(limit, modeOf(mode, path, defaults))
}

function fromOptions(given: LimitOptions, path: string, defaults: LimitDefaults): Limit {
  needOptions(given, KNOWN, path)
  const isExceedable = readOverage(given, path)
  // `overage: false` is the default of every algorithm.
  const options = isExceedable ? given : { ...given, overage: undefined }
  const { quota, name, mode, watch, warnAt } = options
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
  const algorithm = algorithmOf(
    options,
    window,
    readAlgorithm(options, path),
    defaults.algorithm ?? DEFAULT_ALGORITHM,
  )
  refuseMisplaced(options, implementations[algorithm], path)
  const limit = toLimit(name ?? durationName(window), algorithm, { quota, window, options, path })
  const inItsMode = isExceedable ? withOverage(limit) : inMode(limit, modeOf(mode, path, defaults))
  const warning =
    warnAt === undefined
      ? inItsMode
      : { ...inItsMode, warnAt: readWarnAt(warnAt, isExceedable, `${path}.warnAt`) }
  if (watch === undefined) return warning
  needWatch(watch, quota, `${path}.watch`)
  const lower = withUnits(limit, (units) => Math.max(Math.round((units * watch) / quota), 1))
  return { ...warning, watched: toWatched(lower) }
}

function toLimit(name: string, algorithm: AlgorithmName, terms: CompilableTerms): Limit {
  const compiled = compileLimit(algorithm, terms)
  const { quota, window } = terms
  const capacity = capacityOf(compiled, Date.now())
  return { name, quota, windowMs: window.ms, capacity, compiled, terms }
}

/** The same limit with other numbers of units: its quota, and the burst of a token bucket. */
export function withUnits(limit: Limit, unitsFor: (units: number) => number): Limit {
  const { compiled, observes, overage, warnAt } = limit
  const made = resized(limit, unitsFor)
  const { stateId, otherId } = compiled
  const same = { ...made, compiled: { ...made.compiled, stateId, otherId, observes }, observes, warnAt }
  return overage ? withOverage(same) : same
}

/** A limit of the same algorithm and window, which counts up to a quota. */
export function countingTo(limit: Limit, quota: number): Limit {
  return resized(limit, () => quota)
}

function resized({ name, compiled, terms }: Limit, unitsFor: (units: number) => number): Limit {
  const { burst } = terms.options
  const options = burst === undefined ? terms.options : { ...terms.options, burst: unitsFor(burst) }
  return toLimit(name, compiled.algorithm, { ...terms, quota: unitsFor(terms.quota), options })
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
  const [found] = (others.find(([, one]) => !one.isMeant) ?? others.at(-1)) as [
    AlgorithmName,
    AnyImplementation,
  ]
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
  return atCaller(createLimitSetFor, () => compileEach(limits, { algorithm: defaultAlgorithm }))
}

function compileEach(limits: readonly LimitInput[], defaults?: LimitDefaults): LimitSet {
  const given = limits.map((limit, i) => parseLimit(limit, `limits[${i}]`, defaults))
  needOneConcurrent(given, 'limits')
  const parsed = inFlightLast(withWatched(given))
  return toLimitSet(parsed, { lease: compileLease(leasesSaidBy(limits, 'limits'), parsed) })
}

/** The window of a limit as users write it: `min`, `15min`. */
export function windowTextOf({ windowMs, compiled }: Limit): string {
  if (windowMs === UNIT_MS.month && compiled.timeZone !== undefined) return 'month'
  if (windowMs === UNIT_MS.year && compiled.timeZone !== undefined) return 'year'
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
