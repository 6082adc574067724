import { ConfigError } from '../base/errors.js'
import { isPromise } from '../base/maybe-promise.js'
import { needOptions, type KnownOptions } from '../base/option-checks.js'
import { needCost } from '../requests/cost.js'
import type { Request } from '../requests/request.js'
import type { ConsumeOptions } from './limiter.js'

const KNOWN: KnownOptions = {
  names: ['cost', 'context', 'signal'],
  example: '{ cost: 5 }',
  remedyOf: () => undefined,
}

/**
 * Checks all options. Returns the cost.
 *
 * @throws {ConfigError} when an option is wrong
 * @throws {TollgateError} ERR_TOLLGATE_COST
 */
export function readConsumeOptions(options: ConsumeOptions | undefined): number {
  if (options === undefined) return 1
  needOptions(options, KNOWN)
  const { cost = 1, context, signal } = options
  needCost(cost, 1)
  if (context !== undefined) needContext(context)
  if (signal !== undefined) needSignal(signal)
  return cost
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
