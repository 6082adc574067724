import { billingWindow } from './billing-window/billing-window.js'
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
  'billing-window': billingWindow,
  'fixed-window': fixedWindow,
  'sliding-window': slidingWindow,
  'sliding-log': slidingLog,
  concurrent,
} as const

/** The name of an implementation. Users write `fixed-window` for a `calendar-window`, too; a `billing-window` is one of a subject with a billing day. */
export type AlgorithmName = keyof typeof registry
type Registered = (typeof registry)[AlgorithmName]

/**
 * How a limit counts units.
 * - `sliding-log` (the default): exact. No window holds more than the quota, wherever it starts.
 * - `sliding-window`: two counters; the previous one is weighted by its overlap. At worst just under 2 x quota.
 * - `fixed-window`: one counter, which starts with the first request or by the calendar. At worst 2 x quota, around a
 *   boundary.
 * - `token-bucket`: an even rate with a burst (GCRA). At worst quota + burst.
 */
export type Algorithm = Exclude<Registered['name'], 'concurrent'>

export const DEFAULT_ALGORITHM: Algorithm = 'sliding-log'

type OptionsOf<T> = T extends { compile(terms: LimitTerms<infer Options>): unknown } ? Options : never
type All<T> = (T extends unknown ? (one: T) => void : never) extends (all: infer U) => void ? U : never

/** The options of all algorithms that users can name, together. Each belongs to one algorithm. */
export type OwnOptions = All<OptionsOf<Exclude<Registered, typeof concurrent>>>

/** Any algorithm, without the types of its state and parameters. */
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

/** The algorithms that a store can decide with, by name. */
export const implementations = registry as unknown as Readonly<Record<AlgorithmName, AnyImplementation>>

/** The algorithms that count units in time. The others count requests in flight. */
export const windowAlgorithms = (Object.keys(registry) as AlgorithmName[]).filter(
  (name) => !implementations[name].inFlight,
)
