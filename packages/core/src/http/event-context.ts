import { ConfigError } from '../base/errors.js'
import { isPromise, quiet } from '../base/promises.js'
import type { HttpAdapter } from './adapter.js'

/** The second argument of `decision` and `limited` events with `eventContext: true`. */
export interface RequestContext {
  /** The method in upper case. */
  readonly method: string
  /** The pattern of its route, such as `/items/:id`, if the framework knows it before the limiter runs. */
  readonly route: string | undefined
  /** The client's address, as found by the framework with its trust-proxy setting. */
  readonly address: string | undefined
}

export type EventContextOption<Req> = boolean | ((req: Req) => object | undefined)

/** @throws {ConfigError} when the option is neither a boolean nor a function */
export function checkEventContext(given: unknown): void {
  if (given === undefined || typeof given === 'boolean' || typeof given === 'function') return
  throw ConfigError.wrong(
    'eventContext',
    given,
    'true, false, or a function that returns an object: (req) => ({ path: req.path })',
  )
}

/** @param address reads the client's address, also after the client disconnected */
export function contextOf<Req>(
  option: EventContextOption<Req> | undefined,
  adapter: HttpAdapter<Req, never>,
  req: Req,
  address: () => string | undefined,
): object | undefined {
  if (!option) return undefined
  if (typeof option === 'function') {
    const made: unknown = option(req)
    if (made === undefined || (typeof made === 'object' && made !== null && !isPromise(made))) return made
    quiet(made)
    throw ConfigError.wrong(
      'what eventContext returned',
      made,
      'an object, and no promise: (req) => ({ path: req.path })',
    )
  }
  const context: RequestContext = {
    method: adapter.method(req),
    route: adapter.route?.(req),
    address: address(),
  }
  return context
}
