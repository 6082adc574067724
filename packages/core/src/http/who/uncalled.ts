import { ConfigError } from '../../base/errors.js'
import { isOptions } from '../../base/options.js'
import { attempt } from '../../base/show.js'
import { byBearerToken, byJwtClaim } from './credentials.js'
import { byHeader, byIp } from './identify.js'

/** What makes an `identify`, and how it is called. */
const MAKERS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [byHeader, "byHeader('x-api-key')"],
  [byIp, 'byIp()'],
  [byBearerToken, 'byBearerToken()'],
  [byJwtClaim, "byJwtClaim('sub')"],
])

/** @throws {ConfigError} when `identify` is one of core's own that was not called: it would be given requests */
export function refuseUncalled(identify: unknown): void {
  const called = MAKERS.get(identify)
  if (called === undefined) return
  const name = called.slice(0, called.indexOf('('))
  throw new ConfigError('identify', `${name} was given without calling it: write identify: ${called}`)
}

/** Whether this is a request of Node or Express, or a context of Koa: what middleware is called with. */
export function isOfRequest(given: unknown): boolean {
  return attempt(
    () =>
      typeof given === 'object' &&
      given !== null &&
      !isOptions(given) &&
      'headers' in given &&
      'method' in given,
    false,
  )
}
