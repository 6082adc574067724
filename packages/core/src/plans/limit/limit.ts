import {
  DEFAULT_ALGORITHM,
  implementations,
  type Algorithm,
  type AlgorithmName,
  type AnyImplementation,
  type OwnOptions,
} from '../../algorithms/registry.js'
import { isWindowLength } from '../../algorithms/limit-terms.js'
import { durationName, LONGEST_WINDOW_MS, readDuration, UNITS, type Duration } from '../../base/duration.js'
import { ConfigError, show } from '../../base/errors.js'
import { isOptions, needOptions, type KnownOptions, isUnits } from '../../base/options.js'
import { isShowable } from '../../base/show.js'
import { notALimit, readNotation } from './limit-notation.js'
import type { ConcurrentLimitOptions, Limit, LimitOptions } from './limit-options.js'
import { algorithmMeantBy, limitRemedy, meansNoLimit } from './limit-remedies.js'
import { compileLimit, capacityOf } from './limit-set.js'
import { windowMeantBy } from './meant-limit.js'
import { isConcurrent, isNamedConcurrent, namedConcurrent, readConcurrent } from './concurrent-limit.js'

export type { Algorithm, ConcurrentLimitOptions, Limit, LimitInput, LimitOptions } from './limit-options.js'

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
  if (isName(name)) return
  const expected = "a name of 1 to 64 characters that can be shown, such as 'reads'"
  throw ConfigError.wrong(`${path}.name`, name, expected)
}

function isName(name: unknown): name is string {
  return typeof name === 'string' && name.length >= 1 && name.length <= 64 && isShowable(name)
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
