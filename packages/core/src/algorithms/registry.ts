import { calendarWindow } from './calendar-window/calendar-window.js'
import { concurrent, type ConcurrentOptions } from './concurrent/concurrent.js'
import { fixedWindow } from './fixed-window/fixed-window.js'
import type { Implementation } from './implementation.js'
import type { LimitTerms, Params } from './limit-terms.js'
import { slidingLog } from './sliding-log/sliding-log.js'
import { slidingWindow } from './sliding-window/sliding-window.js'
import { tokenBucket } from './token-bucket/token-bucket.js'

/**
 * Every algorithm, by the name of its two files. The Redis scripts are assembled from the .lua files. A limit that
 * names no algorithm uses the first one here whose `isMeant` says yes, else DEFAULT_ALGORITHM.
 */
const registry = {
  'token-bucket': tokenBucket,
  'calendar-window': calendarWindow,
  'fixed-window': fixedWindow,
  'sliding-window': slidingWindow,
  'sliding-log': slidingLog,
  concurrent,
} as const

export type AlgorithmName = keyof typeof registry
type Registered = (typeof registry)[AlgorithmName]

/** The names that users write as the algorithm of a limit. Requests in flight have a notation of their own. */
export type Algorithm = Exclude<Registered['name'], 'concurrent'>

export const DEFAULT_ALGORITHM: Algorithm = 'sliding-log'

type OptionsOf<T> = T extends { compile(terms: LimitTerms<infer Options>): unknown } ? Options : never
type All<T> = (T extends unknown ? (one: T) => void : never) extends (all: infer U) => void ? U : never

/** The options of all algorithms that users name, together. Only one algorithm has each. */
export type OwnOptions = All<OptionsOf<Exclude<Registered, typeof concurrent>>>

/** An implementation with its state, parameters and options hidden. */
export type AnyImplementation = Implementation<
  object,
  Params,
  OwnOptions & ConcurrentOptions,
  Registered['name']
>

/** Names an algorithm in the words of users. They write `fixed-window` for calendar windows, too. */
export function spokenName(algorithm: AlgorithmName): string {
  const { name, calledForBy } = implementations[algorithm]
  return name === algorithm ? `algorithm: '${name}'` : `algorithm: '${name}' with ${calledForBy}`
}

export const implementations = registry as unknown as Readonly<Record<AlgorithmName, AnyImplementation>>

/** The algorithms that count units in time. The others count requests in flight. */
export const windowAlgorithms = (Object.keys(registry) as AlgorithmName[]).filter(
  (name) => !implementations[name].inFlight,
)
