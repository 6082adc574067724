import { ConfigError } from '../base/errors.js'
import { isPromise } from '../base/maybe-promise.js'
import { quiet } from '../base/quiet.js'
import type { HttpAdapter } from './adapter.js'

/** What listeners of `decision` and `limited` are told of a request with `eventContext: true`. */
export interface RequestContext {
  /** In upper case. */
  readonly method: string
  /** The pattern of its route, such as `/items/:id`, where the framework knows it when the limiter is asked. */
  readonly route: string | undefined
  /** The client's address, by the framework's own trust-proxy setting. */
  readonly address: string | undefined
}

export type EventContextOption<Req> = boolean | ((req: Req) => object | undefined)

/** @throws {ConfigError} when it is neither */
export function checkEventContext(given: unknown): void {
  if (given === undefined || typeof given === 'boolean' || typeof given === 'function') return
  throw ConfigError.wrong(
    'eventContext',
    given,
    'true, false, or a function that returns an object: (req) => ({ path: req.path })',
  )
}

/** @param address of the client, which may have left meanwhile */
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
