import { readDuration } from '../../base/duration.js'
import { ConfigError, show } from '../../base/errors.js'
import { isOptions, isUnits, needOptions, needWhole, type KnownOptions } from '../../base/options.js'
import type { LeaseTerms, WaitTerms } from '../limit/limit-set.js'
import { lengthTextOf, rateTextOf, type Limit } from '../limit/limit.js'

/** How long requests wait in line, and how many. */
export interface WaitOptions {
  /**
   * The longest that a request waits: `'2s'`, or a number of ms. From 10 ms to 60 s, and no longer than the shortest window or,
   * for a token bucket, than it takes to fill.
   */
  readonly maxDelay: string | number
  /** The most requests of a subject that wait at a time, in all processes together: from 1 to 1000. Default: 100. */
  readonly maxWaiting?: number | undefined
}

const MAX_WAITING = 100
const MOST_WAITING = 1000
const [LEAST_DELAY_MS, MOST_DELAY_MS] = [10, 60_000]
const [LEAST_SLACK_MS, MOST_SLACK_MS] = [50, 100]
/** A place stays usable for this part of a window, or of the time in which a bucket gains a unit. */
const [PART_OF_WINDOW, PART_OF_UNIT] = [50, 0.9]

const MAX_DELAY = 'write maxDelay, the longest that a request waits'
const REMEDIES: Readonly<Record<string, string>> = {
  maxWaitMs: MAX_DELAY,
  maxDelayMs: MAX_DELAY,
  delay: MAX_DELAY,
  timeout: MAX_DELAY,
  timeoutMs: MAX_DELAY,
  maxQueue: 'write maxWaiting, the most requests of a subject that wait at a time',
  queue: 'write maxWaiting, the most requests of a subject that wait at a time',
}
const KNOWN: KnownOptions = {
  names: ['maxDelay', 'maxWaiting'],
  example: "{ maxDelay: '2s' }",
  remedyOf: (name) => (Object.hasOwn(REMEDIES, name) ? REMEDIES[name] : undefined),
}

/** The plan that has the option. */
export interface WaitingPlan {
  readonly limits: readonly Limit[]
  readonly lease: LeaseTerms | undefined
  /** Where the option stands: `plans.batch.wait`. */
  readonly path: string
}

/**
 * Compiles the option `wait` of a plan; undefined if its requests do not wait in line.
 *
 * @throws {ConfigError} when an option is wrong, or no place can be booked in these limits
 */
export function compileWait(given: unknown, { limits, lease, path }: WaitingPlan): WaitTerms | undefined {
  if (given === undefined || given === false) return undefined
  const { maxDelay, maxWaiting = MAX_WAITING } = needWaitOption(given, path)
  const inTime = limits.filter(({ windowMs }) => windowMs > 0)
  if (inTime.length === 0) throw new ConfigError(path, nothingToBook(limits))
  if (lease) {
    const remedy =
      'leave out one of the two, since requests wait for places that the store books, and a lease does not ask it'
    throw new ConfigError(path, `this plan also has lease: ${remedy}`)
  }
  const delayMs = needDelay(maxDelay, inTime, `${path}.maxDelay`)
  return { delayUs: delayMs * 1000, slackUs: slackUsOf(inTime), most: maxWaiting }
}

function nothingToBook(limits: readonly Limit[]): string {
  const remedy = "leave wait out, or add a limit in time, such as '100/min'"
  if (limits.length === 0) return `this plan has no limits, so nothing has to wait: leave wait out`
  return `it is not known when a request in flight ends, so no place in line can be booked for it: ${remedy}`
}

function needWaitOption(given: unknown, path: string): WaitOptions {
  const example = "{ maxDelay: '2s' }"
  if (given === true) {
    throw new ConfigError(
      path,
      `got true, but how long a request waits must be bounded: write wait: ${example}`,
    )
  }
  if (!isOptions(given)) {
    const own = readDuration(given) ? `{ maxDelay: ${show(given)} }` : example
    throw ConfigError.wrong(path, given, `an object of options, such as ${own}`)
  }
  needOptions(given, KNOWN, path)
  const { maxDelay, maxWaiting = MAX_WAITING } = given as Partial<WaitOptions>
  if (maxDelay === undefined) {
    throw new ConfigError(`${path}.maxDelay`, `the longest that a request waits is missing: write ${example}`)
  }
  const bounds = { of: 'requests', least: 1, most: MOST_WAITING, such: MAX_WAITING }
  needWhole(`${path}.maxWaiting`, maxWaiting, bounds)
  return { maxDelay, maxWaiting }
}

/** The delay in ms. No request has to wait longer than its window for units. */
function needDelay(given: unknown, limits: readonly Limit[], path: string): number {
  const ms = readDuration(given)?.ms ?? 0
  if (ms < LEAST_DELAY_MS || ms > MOST_DELAY_MS) {
    throw ConfigError.wrong(path, given, "a time from 10 ms to 60 s, such as '2s' or 500 (ms)")
  }
  const shortest = limits.reduce((least, limit) => (longestOf(limit) < longestOf(least) ? limit : least))
  const longest = Math.floor(longestOf(shortest))
  if (ms <= longest) return ms
  const { name, compiled } = shortest
  const what = compiled.algorithm === 'token-bucket' ? 'fills in' : 'has a window of'
  const problem = `got ${show(given)}, but the limit ${show(name)} ${what} ${longest} ms`
  const shorter = longest < LEAST_DELAY_MS ? 'leave wait out' : `maxDelay: '${lengthTextOf(longest)}'`
  throw new ConfigError(path, `${problem}: write ${[...longerThan(shortest, ms), shorter].join(', or ')}`)
}

/** The same rate with a burst that takes this many ms to come back, if there can be one. */
function longerThan(limit: Limit, ms: number): string[] {
  const burst = Math.ceil((ms / limit.windowMs) * limit.quota)
  return isUnits(burst) ? [`'${rateTextOf(limit)} burst ${burst}'`] : []
}

/** The longest that a request can usefully wait for this limit, in ms. */
function longestOf({ windowMs, capacity, quota, compiled }: Limit): number {
  if (compiled.algorithm !== 'token-bucket') return windowMs
  return Math.max(windowMs, (capacity / quota) * windowMs)
}

/**
 * How long after its time a place may still be used. For a bucket it is less than the time in which it gains a unit: places
 * count as used at their time, so up to 18 units a second no window holds a unit more. It is longer than a large batch takes to
 * be decided and read.
 */
function slackUsOf(limits: readonly Limit[]): number {
  const ms = Math.min(
    ...limits.map(({ windowMs, quota, compiled }) =>
      compiled.algorithm === 'token-bucket' ? (windowMs / quota) * PART_OF_UNIT : windowMs / PART_OF_WINDOW,
    ),
  )
  return Math.floor(Math.min(Math.max(ms, LEAST_SLACK_MS), MOST_SLACK_MS) * 1000)
}
