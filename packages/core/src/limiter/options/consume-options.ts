import { readDuration } from '../../base/duration.js'
import { ConfigError } from '../../base/errors.js'
import { needOptions, type KnownOptions } from '../../base/options.js'
import { isPromise } from '../../base/promises.js'
import { needCost } from '../../requests/cost.js'
import type { Request } from '../../requests/request.js'
import type { ConsumeOptions, PeekOptions } from '../limiter.js'

const KNOWN: KnownOptions = {
  names: ['cost', 'context', 'signal'],
  example: '{ cost: 5 }',
  remedyOf: (name) => (name === 'onStoreFailure' ? 'it goes to createLimiter, or to peek' : undefined),
}
const OF_PEEK: KnownOptions = { ...KNOWN, names: [...KNOWN.names, 'onStoreFailure'] }

/**
 * Checks all options. Returns the cost.
 *
 * @throws {ConfigError} when an option is wrong
 * @throws {TollgateError} ERR_TOLLGATE_COST
 */
export function readConsumeOptions(options: ConsumeOptions | undefined, known = KNOWN): number {
  if (options === undefined) return 1
  needOptions(options, known)
  const { cost = 1, context, signal } = options
  needCost(cost, 1)
  if (context !== undefined) needContext(context)
  if (signal !== undefined) needSignal(signal)
  return cost
}

/** As `readConsumeOptions`, for a look. */
export function readPeekOptions(options: PeekOptions | undefined): number {
  const cost = readConsumeOptions(options, OF_PEEK)
  const { onStoreFailure = 'throw' } = options ?? {}
  if (onStoreFailure === 'throw') return cost
  const expected = "'throw', or no option: the limiter's onStoreFailure then answers"
  throw ConfigError.wrong('onStoreFailure', onStoreFailure, expected)
}

export function needContext(given: unknown): void {
  if (typeof given === 'object' && given !== null && !isPromise(given)) return
  throw ConfigError.wrong('context', given, "an object, such as { job: 'export' }")
}

/** A signal of any realm or package that works as Node's. */
function needSignal(given: unknown): void {
  const { aborted, addEventListener, removeEventListener } = (given ?? {}) as Partial<AbortSignal>
  const isSignal = typeof aborted === 'boolean' && typeof addEventListener === 'function'
  if (isSignal && typeof removeEventListener === 'function') return
  throw ConfigError.wrong(
    'signal',
    given,
    'an AbortSignal, such as AbortSignal.timeout(500) or controller.signal',
  )
}

/** The request with what its options say beside the cost. */
export function withOptions(request: Request, { context, signal }: ConsumeOptions = {}): Request {
  if (context === undefined && signal === undefined) return request
  return { ...request, ...(context && { context }), ...(signal && { signal }) }
}

export interface ReserveOptions {
  /** The most quota units that the request may turn out to cost: a whole number from 1. Default: 1. */
  readonly cost?: number | undefined
  /**
   * How long the units are held at most: `'2min'`, or a number of ms; from 100 ms to 24 h. What is not committed by then
   * comes back by itself.
   */
  readonly for: string | number
  /** As in ConsumeOptions. */
  readonly context?: object | undefined
}

const [LEAST_MS, MOST_MS] = [100, 86_400_000]
const FOR = "write for: '2min', after which the units come back by themselves"
const REMEDIES: Readonly<Record<string, string>> = {
  ttl: FOR,
  ttlMs: FOR,
  duration: FOR,
  timeout: FOR,
  forMs: FOR,
}
const OF_RESERVE: KnownOptions = {
  names: ['cost', 'for', 'context'],
  example: "{ cost: 4000, for: '2min' }",
  remedyOf: (name) => (Object.hasOwn(REMEDIES, name) ? REMEDIES[name] : undefined),
}

/**
 * @throws {ConfigError} for `for`, `context` or an unknown option
 * @throws {TollgateError} ERR_TOLLGATE_COST
 */
export function readReserveOptions(options: ReserveOptions): {
  cost: number
  lengthMs: number
  context: object | undefined
} {
  needOptions(options, OF_RESERVE)
  const { cost = 1, for: length, context } = options
  needCost(cost, 1)
  if (context !== undefined) needContext(context)
  const lengthMs = readDuration(length)?.ms ?? 0
  if (lengthMs >= LEAST_MS && lengthMs <= MOST_MS) return { cost, lengthMs, context }
  throw ConfigError.wrong(
    'for',
    length,
    "how long the units are held at most: from 100 ms to 24 h, such as '2min'",
  )
}
