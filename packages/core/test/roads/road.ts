// What a road is made of.
import type { Limiter, LimiterOptions } from '../../src/index.js'
import type { Circumstances } from './judge.js'

/** A clock that a schedule sets, in ms since 1970, with µs as the fraction. */
export interface Clock {
  now: number
}

export interface Road extends Circumstances {
  readonly name: string
  /** Called before each step. */
  readonly onStep?: () => void
  limiter(options: Omit<LimiterOptions, 'store'>, clock: Clock): Limiter
  /** Makes the limiter of another process, with the same counts as the one before. Default: there is one process. */
  another?(options: Omit<LimiterOptions, 'store'>, clock: Clock): Limiter
}
