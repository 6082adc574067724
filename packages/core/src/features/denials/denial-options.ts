import { ConfigError } from '../../base/errors.js'
import { needOptions } from '../../base/options.js'

/** How denials of the store are answered from memory. */
export interface RememberOptions {
  /**
   * After how long a denied subject is asked for at the store again, in ms, from 1 to 60 000. What other processes do
   * shows within this time and that of one call: a reset, a refund, a larger plan. Default: 1000.
   */
  readonly recheckMs?: number | undefined
  /** How many denied keys are remembered, from 1 to 10 000 000: the oldest is forgotten for a new one. Default: 10 000. */
  readonly size?: number | undefined
}

/** What the limiter adds to them. */
export interface DenialsOptions extends RememberOptions {
  /** The longest that a request waits for the store, in ms. */
  readonly deadlineMs: number
  /** The clock that the store counts by, in ms, if that is a test's. Default: the time since the process started. */
  readonly clock?: (() => number) | undefined
  /** Units of a key that this process holds on lease and does not use. Default: none. */
  readonly idleUnits?: ((key: string) => number) | undefined
}

const LONGEST_RECHECK_MS = 60_000
/** A Map cannot hold many more. */
const MOST_KEYS = 10_000_000

/** @throws {ConfigError} when it is neither false nor valid options */
export function needRememberOptions(path: string, given: unknown): void {
  if (given === false) return
  if (typeof given !== 'object') {
    throw ConfigError.wrong(path, given, 'false to ask the store every time, or options: { recheckMs: 1000 }')
  }
  needOptions(given, ['recheckMs', 'size'], path)
  const { recheckMs = 1, size = 1 } = given as RememberOptions
  if (!(Number.isInteger(recheckMs) && recheckMs >= 1 && recheckMs <= LONGEST_RECHECK_MS)) {
    const expected = `a whole number of ms from 1 to ${LONGEST_RECHECK_MS}`
    throw ConfigError.wrong(`${path}.recheckMs`, recheckMs, expected)
  }
  if (!(Number.isInteger(size) && size >= 1 && size <= MOST_KEYS)) {
    throw ConfigError.wrong(`${path}.size`, size, `a whole number from 1 to ${MOST_KEYS}`)
  }
}
