import { ConfigError, show } from '../../base/errors.js'
import {
  isOptions,
  nearestOf,
  needOptions,
  needWhole,
  type KnownOptions,
  isWhole,
} from '../../base/options.js'
import type { ConcurrentLimitOptions, Limit } from './limit.js'
import { CONCURRENT_NOTATION, severalAtOnce, severalIn } from './limit-notation.js'
import { CONCURRENT_REMEDIES, meansNoLimit, wholeNumberIn } from './meant-limit.js'

const MOST = 1_000_000
const LONGEST_NOTATION = 100
const LONGEST_HINT_MS = 3_600_000
/** Words for requests that run at the same time. */
const MEANT = /concurren|parallel|simultan|in[\s-]*flight|inflight|at (?:a|the same) time|at once/i
const NO_SUCH_LIMIT = '; for no such limit leave it out'
const KNOWN: KnownOptions = {
  names: ['concurrent', 'name', 'retryAfterMs', 'mode'],
  example: '{ concurrent: 20 }',
  remedyOf: (name) => CONCURRENT_REMEDIES.get(name),
}

/** Whether this is meant as a limit of requests in flight, valid or not: `'20 concurrent'`, or the option `concurrent`. */
export function isConcurrent(input: unknown): input is string | ConcurrentLimitOptions {
  if (typeof input !== 'string') return isOptions(input) && 'concurrent' in input
  return input.length <= LONGEST_NOTATION && (MEANT.test(input) || hasTypo(input))
}

/**
 * Reads a limit of requests in flight.
 *
 * @throws {ConfigError} when it is wrong
 */
export function readConcurrent(input: string | ConcurrentLimitOptions, path: string): ConcurrentLimitOptions {
  if (typeof input === 'string') {
    const [, digits = ''] = CONCURRENT_NOTATION.exec(input) ?? []
    const concurrent = numberOf(digits)
    if (isConcurrency(concurrent)) return { concurrent }
    throw notConcurrent(path, input)
  }
  needOptions(input, KNOWN, path)
  const { concurrent, retryAfterMs } = input
  if (!isConcurrency(concurrent)) {
    const none = meansNoLimit(concurrent) ? NO_SUCH_LIMIT : ''
    const expected = `a whole number of requests at a time from 1 to ${MOST}, such as 20${none}`
    throw ConfigError.wrong(`${path}.concurrent`, concurrent, expected)
  }
  needWhole(`${path}.retryAfterMs`, retryAfterMs, { of: 'ms', least: 1, most: LONGEST_HINT_MS, such: 1000 })
  return input
}

/**
 * Refuses a second limit of requests in flight: of two that count the same requests, only the smaller one ever denies.
 *
 * @throws {ConfigError}
 */
export function needOneConcurrent(limits: readonly Limit[], path: string): void {
  const all = limits.flatMap(({ windowMs, quota }, i) => (windowMs === 0 ? [{ quota, i }] : []))
  const [, second] = all
  if (!second) return
  const least = Math.min(...all.map(({ quota }) => quota))
  const problem = 'a plan can have only one limit of requests in flight'
  throw new ConfigError(`${path}[${second.i}]`, `${problem}: keep '${least} concurrent'`)
}

/** Whether a name given as the algorithm means requests in flight. */
export function isNamedConcurrent(algorithm: unknown): boolean {
  return typeof algorithm === 'string' && /concurren|parallel|in[\s_-]*flight|semaphore/i.test(algorithm)
}

/** The error for such an algorithm: a limit of requests in flight is not written with one. */
export function namedConcurrent(
  path: string,
  { quota, algorithm }: { readonly quota?: unknown; readonly algorithm?: unknown },
): ConfigError {
  const written = isConcurrency(quota) ? Number(quota) : 20
  return ConfigError.wrong(
    `${path}.algorithm`,
    algorithm,
    `the limit written as '${written} concurrent' or { concurrent: ${written} }, without quota and window`,
  )
}

function notConcurrent(path: string, text: string): ConfigError {
  const several = severalIn(text)
  if (several !== undefined) return severalAtOnce(path, text, several)
  const meant = wholeNumberIn(text)
  const written = isConcurrency(meant) ? show(`${meant} concurrent`) : "'20 concurrent'"
  const blocked = meant === 0 ? "; a plan that lets nothing pass is plans: { suspended: 'blocked' }" : ''
  const isInTime = /\/|\bper\b/i.test(text)
  const timeless = isInTime
    ? ` (it limits how many run at a time and has no window; to limit requests in a window, add a limit, such as '${isConcurrency(meant) ? meant : 100}/min')`
    : ''
  const expected = `a number of requests from 1 to ${MOST}, written as ${written}`
  const unlimited = meansNoLimit(text.split(MEANT)[0]) ? NO_SUCH_LIMIT : ''
  return ConfigError.wrong(path, text, expected + timeless + blocked + unlimited)
}

/** Whether a word is `concurrent` with one letter wrong. */
function hasTypo(text: string): boolean {
  return text
    .split(/[\s\d/]+/)
    .some((word) => word.length > 8 && nearestOf(word, ['concurrent']) !== undefined)
}

function numberOf(digits: string): number {
  return Number(digits.replace(/[,_']/g, '') || Number.NaN)
}

function isConcurrency(given: unknown): given is number {
  return isWhole(given, 1, MOST)
}
