import { ConfigError } from '../base/errors.js'
import { isOptions, needOptions } from '../base/option-checks.js'
import type { ConcurrentLimitOptions } from './limit.js'

const MOST = 1_000_000
const NOTATION = /^\s*(\d+(?:_\d+)*)\s+concurrent\s*$/i
const LONGEST_NOTATION = 100
const LONGEST_HINT_MS = 3_600_000

/** Whether a limit is one of requests in flight, right or wrong: `'20 concurrent'`, or with the option `concurrent`. */
export function isConcurrent(input: unknown): input is string | ConcurrentLimitOptions {
  if (typeof input === 'string') return input.length <= LONGEST_NOTATION && /\bconcurrent\b/i.test(input)
  return isOptions(input) && 'concurrent' in input
}

/**
 * Reads a limit of requests in flight.
 *
 * @throws {ConfigError} when it is wrong
 */
export function readConcurrent(input: string | ConcurrentLimitOptions, path: string): ConcurrentLimitOptions {
  if (typeof input === 'string') {
    const [, digits] = NOTATION.exec(input) ?? []
    const concurrent = Number((digits ?? '').replaceAll('_', ''))
    if (isSlots(concurrent)) return { concurrent }
    throw ConfigError.wrong(path, input, `a number of requests from 1 to ${MOST}, such as '20 concurrent'`)
  }
  needOptions(input, ['concurrent', 'name', 'retryAfterMs'], path)
  const { concurrent, retryAfterMs = 1 } = input
  if (!isSlots(concurrent)) {
    const expected = `a whole number of requests at a time from 1 to ${MOST}, such as 20`
    throw ConfigError.wrong(`${path}.concurrent`, concurrent, expected)
  }
  if (!(Number.isSafeInteger(retryAfterMs) && retryAfterMs >= 1 && retryAfterMs <= LONGEST_HINT_MS)) {
    const expected = `a whole number of ms from 1 to ${LONGEST_HINT_MS}, such as 1000`
    throw ConfigError.wrong(`${path}.retryAfterMs`, retryAfterMs, expected)
  }
  return input
}

function isSlots(given: unknown): boolean {
  return Number.isSafeInteger(given) && (given as number) >= 1 && (given as number) <= MOST
}
