import type { Limiter } from '@tollgate/core'
import { atCaller } from '@tollgate/core/adapter'
import { readOptions, type InstrumentOptions } from './meter.js'
import { recordAll, recordOne, type Instrumentation } from './recording.js'

export type { InstrumentOptions } from './meter.js'
export type { SubjectAttribute } from './options.js'
export type { Instrumentation } from './recording.js'

/**
 * Records what a limiter does as OpenTelemetry metrics: decisions, denials by limit, store errors and more. All of them have the
 * limiter's option `name` as the attribute `tollgate.limiter.name`, or `default` if it has none.
 *
 * @param limiter from `createLimiter`, or `rateLimit(...).limiter`
 * @throws {ConfigError} when it is not a limiter, or an option is wrong
 * @example
 * const { stop } = instrument(limiter, { meterProvider })
 */
export function instrument(limiter: Limiter, options: InstrumentOptions = {}): Instrumentation {
  return atCaller(instrument, () => recordOne(limiter, readOptions(options)))
}

/**
 * Records what all limiters in this process do as OpenTelemetry metrics, including those that adapters create. A limiter is
 * included from its first event on. If you also call `instrument` for a limiter, both record it.
 *
 * @throws {ConfigError} when an option is wrong
 */
export function instrumentAll(options: InstrumentOptions = {}): Instrumentation {
  return atCaller(instrumentAll, () => recordAll(readOptions(options)))
}
