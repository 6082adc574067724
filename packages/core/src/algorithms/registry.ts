import { calendarWindow } from './calendar-window.js'
import { fixedWindow } from './fixed-window.js'
import type { Implementation } from './implementation.js'
import type { LimitTerms, Params } from './limit-terms.js'
import { slidingLog } from './sliding-log.js'
import { slidingWindow } from './sliding-window.js'
import { tokenBucket } from './token-bucket.js'

/**
 * Every algorithm, by the name of its two files; the script for Redis is assembled from the .lua files. Of those that
 * are meant by a limit's options the first is used; of none the limit is a DEFAULT_ALGORITHM.
 */
const registry = {
  'token-bucket': tokenBucket,
  'calendar-window': calendarWindow,
  'fixed-window': fixedWindow,
  'sliding-window': slidingWindow,
  'sliding-log': slidingLog,
} as const

export type AlgorithmName = keyof typeof registry
type Registered = (typeof registry)[AlgorithmName]

/** What users call algorithms. */
export type Algorithm = Registered['name']

export const DEFAULT_ALGORITHM: Algorithm = 'sliding-log'

type OptionsOf<T> = T extends { compile(terms: LimitTerms<infer Options>): unknown } ? Options : never
type All<T> = (T extends unknown ? (one: T) => void : never) extends (all: infer U) => void ? U : never

/** The options that limits of only one algorithm have, of all. */
export type OwnOptions = All<OptionsOf<Registered>>

/** An implementation whose state, parameters and options only it knows. */
export type AnyImplementation = Implementation<object, Params, OwnOptions, Algorithm>

/** An algorithm in the words of users, for whom a window on the calendar is a fixed one. */
export function spokenName(algorithm: AlgorithmName): string {
  const { name } = registry[algorithm]
  return name === algorithm ? `algorithm: '${name}'` : `algorithm: '${name}' with a month, timeZone or anchor`
}

export const implementations = registry as unknown as Readonly<Record<AlgorithmName, AnyImplementation>>
