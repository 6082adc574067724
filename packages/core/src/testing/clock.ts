import { readDuration } from '../base/duration.js'
import { atCaller, ConfigError } from '../base/errors.js'
import { isWhole } from '../base/options.js'
import { processWide } from '../base/warnings.js'
import type { Store } from '../stores/contract.js'
import { memoryStore, type MemoryStoreOptions } from '../stores/memory/memory-store.js'

/** A clock that stands still until a test moves it. */
export interface TestClock {
  /** The time in ms since 1970. Pass it on as it is: `redisStore(redis, { now: clock.now })`. */
  readonly now: () => number
  /**
   * Moves the clock forward.
   *
   * @param by a length of time such as `'90s'` or `'15 min'`, or ms: a whole number from 0. A month is 30 days
   * @returns  the new time, in ms since 1970
   * @throws {ConfigError} when it is neither, such as a negative number. Only `set` goes back
   */
  advance(by: string | number): number
  /**
   * Sets the clock, forward or back. Back is what an administrator does to a server's clock: stores give no units back for
   * it. Units that were taken keep counting, at most for their window from the new time on.
   *
   * @param to a Date, ms since 1970, or text with a time zone: `'2030-01-31T23:59:00Z'`, or `'2030-01-31'` for midnight in UTC
   * @returns  the new time, in ms since 1970
   * @throws {ConfigError} when it is no such time
   */
  set(to: Date | number | string): number
  /**
   * Makes an empty memory store on this clock.
   *
   * @throws {ConfigError} when an option is wrong
   */
  memoryStore(options?: Omit<MemoryStoreOptions, 'now'>): Store
}

/** The clocks that were made, by their `now`, which a store on a clock has as its `testClock`. */
const clocks = processWide('test clocks', () => new WeakMap<object, TestClock>())

/** The clock of a store that was made with one; undefined for other stores. */
export function clockOf({ testClock: now }: Store): TestClock | undefined {
  return now && clocks.get(now)
}

/**
 * Makes a clock that a test moves, so that no test waits for a window to pass.
 *
 * @param start as for `set`. Default: the beginning of 2030, in UTC
 * @throws {ConfigError} when the start is no time
 * @example
 * const clock = testClock('2030-01-31T23:59:00Z')
 * const limiter = createTestLimiter({ limit: '1000/month', clock })
 * clock.advance('1min')
 */
export function testClock(start: Date | number | string = '2030-01-01'): TestClock {
  let nowMs = atCaller(testClock, () => readTime(start, 'start'))
  const clock: TestClock = {
    now: () => nowMs,
    advance: (by) => (nowMs = atCaller(clock.advance, () => readTime(nowMs + lengthOf(by), 'advance'))),
    set: (to) => (nowMs = atCaller(clock.set, () => readTime(to, 'set'))),
    memoryStore: (options) => atCaller(clock.memoryStore, () => memoryStore({ ...options, now: clock.now })),
  }
  clocks.set(clock.now, clock)
  return clock
}

function lengthOf(by: unknown): number {
  const ms = by === 0 ? 0 : readDuration(by)?.ms
  if (ms !== undefined) return ms
  throw ConfigError.wrong('advance', by, "a length of time, such as '1min', or a whole number of ms from 0")
}

/** The last time that a Date can have, in ms since 1970. */
const LAST_MS = 8.64e15
const TIME = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/

function readTime(given: unknown, path: string): number {
  const ms = typeof given === 'string' ? parsed(given) : given instanceof Date ? given.getTime() : given
  if (isWhole(ms, 0, LAST_MS)) return ms
  const expected = "a Date, ms since 1970, or text such as '2030-01-31T23:59:00Z'"
  throw ConfigError.wrong(path, given, expected)
}

/** A text without a time zone is no time: it would mean another moment on each machine. */
function parsed(text: string): number | undefined {
  const [, day] = TIME.exec(text) ?? []
  if (day === undefined) return undefined
  // Date takes February 30 for March 2.
  const midnight = new Date(day)
  const isDay = !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day)
  return isDay ? Date.parse(text) : undefined
}
