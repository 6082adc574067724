import { IncomingMessage, METHODS } from 'node:http'
import { ConfigError } from '../base/errors.js'
import { isOptions, needOptions, type KnownOptions, isWhole } from '../base/options.js'
import { attempt } from '../base/show.js'
import type { Limiter } from '../limiter/limiter.js'
import { LIMITER_OPTIONS, ONLY_HTTP_OPTIONS, findRouteRemedy } from '../limiter/options/limiter-options.js'
import { errorOfKnown, errorOfWhole, remedyOf } from '../limiter/options/option-remedies.js'
import type { HttpAdapter } from './adapter.js'
import { checkDenialOptions } from './answers/denial.js'
import { readHeaderOptions } from './headers.js'
import type { RateLimitOptions } from './options.js'
import { readShed } from './shedding/shedder.js'
import { byBearerToken, byJwtClaim } from './who/credentials.js'
import { byHeader, byIp } from './who/identify.js'

/** What to write instead of a cost of 0. */
export const USE_SKIP = '; to let a request pass uncounted use skip: (req) => ...'

export const HTTP_OPTIONS: readonly string[] = [...ONLY_HTTP_OPTIONS, 'cost', 'group', 'stacked']
const ROUTE_OPTIONS = ['limit', ...HTTP_OPTIONS]
/** The options that are functions, each with an example for its error message. */
const FUNCTIONS = {
  identify: "(req) => req.user?.id, or byHeader('x-api-key')",
  skip: "(req) => req.path === '/health'",
  refundWhen: '({ status = 0 }) => status >= 500',
  body: '(decision) => ({ error: decision.reason })',
  onDenied: '(req, res, decision) => ...',
} as const
const KNOWN: KnownOptions = {
  names: [...LIMITER_OPTIONS, ...HTTP_OPTIONS],
  example: "rateLimit({ limit: '100/min' })",
  errorOf: errorOfKnown,
  errorOfWhole,
  remedyOf,
}
/** Without the options that make the limiter, which are the same for all routes. */
const KNOWN_AT_ROUTE: KnownOptions = {
  names: ROUTE_OPTIONS,
  example: '{ cost: 5 }',
  errorOf: errorOfKnown,
  remedyOf: findRouteRemedy,
}

/**
 * Checks the options of an adapter. Those of the limiter and of a scope are checked where they are used.
 *
 * @throws {ConfigError} when an option is wrong
 */
export function checkHttpOptions<Req, Res>(
  options: RateLimitOptions<Req, Res>,
  { mounting, taken }: Pick<HttpAdapter<Req, Res>, 'mounting' | 'taken'>,
): void {
  const known = mounting === undefined ? KNOWN : { ...KNOWN, example: mounting }
  if (isOfRequest(options)) {
    throw new ConfigError('', `rateLimit was mounted without calling it: write ${known.example}`)
  }
  needOptions(options, known)
  const { limiter, cost, methods } = options
  refuseUncalled(options.identify)
  for (const name of Object.keys(FUNCTIONS) as (keyof typeof FUNCTIONS)[]) {
    const given = options[name]
    if (given === undefined || typeof given === 'function') continue
    throw ConfigError.wrongSecret(name, given, `a function: ${FUNCTIONS[name]}`)
  }
  if (cost !== undefined && typeof cost !== 'function' && !isWhole(cost, 1)) {
    const expected = 'a whole number of units from 1, or a function that returns one: (req) => 5'
    throw ConfigError.wrong('cost', cost, cost === 0 ? expected + USE_SKIP : expected)
  }
  if (methods !== undefined) checkMethods(methods)
  if (options.headers !== undefined) readHeaderOptions(options.headers)
  if (options.shed !== undefined) readShed(options.shed)
  checkDenialOptions(options)
  checkEventContext(options.eventContext)
  if (options.requestProperty !== undefined) checkRequestProperty(options.requestProperty, taken)
  if (limiter !== undefined) checkShared(options, limiter)
}

/** @throws {ConfigError} when it is no list of methods */
function checkMethods(given: unknown): void {
  if (!Array.isArray(given) || given.length === 0) {
    throw ConfigError.wrong('methods', given, "a list of methods in upper case, such as ['POST']")
  }
  Array.from(given).forEach((method: unknown, i) => {
    if (METHODS.includes(method as string)) return
    throw ConfigError.wrong(`methods[${i}]`, method, "a method in upper case, such as 'POST'")
  })
}

/** @throws {ConfigError} when the option is neither a boolean nor a function */
function checkEventContext(given: unknown): void {
  if (given === undefined || typeof given === 'boolean' || typeof given === 'function') return
  const expected = 'true, false, or a function that returns an object: (req) => ({ path: req.path })'
  throw ConfigError.wrong('eventContext', given, expected)
}

/** @throws {ConfigError} when a route cannot have one of the options */
export function checkRouteOptions(own: unknown): void {
  if (!isOptions(own))
    throw ConfigError.wrong('', own, `an object of options, such as ${KNOWN_AT_ROUTE.example}`)
  needOptions(own, KNOWN_AT_ROUTE)
}

/** Properties that requests have in most frameworks, also from plugins. A decision stored there would overwrite them. */
const TAKEN = (
  'app auth baseUrl body complete cookies host hostname httpVersion id ip ips log method originalUrl params path protocol ' +
  'query raw rawHeaders res route routeOptions secure server session signedCookies state url user'
).split(' ')

/** @param taken property names that requests of the framework have */
function checkRequestProperty(given: unknown, taken: readonly string[] = []): void {
  const isName = typeof given === 'string' && /^[a-z_$][\w$]*$/i.test(given)
  if (isName && !TAKEN.includes(given) && !taken.includes(given) && !isOfNode(given)) return
  throw ConfigError.wrong(
    'requestProperty',
    given,
    "a name that requests do not have yet, such as 'loginLimit'",
  )
}

/** Whether requests of Node have this property. Asks an instance, since some are not on the prototype. */
function isOfNode(name: string): boolean {
  return name in new IncomingMessage(undefined as never)
}

function checkShared<Req, Res>(options: RateLimitOptions<Req, Res>, limiter: Limiter): void {
  if (typeof (limiter as Partial<Limiter> | null)?.scope !== 'function') {
    if (typeof limiter === 'function' && 'limiter' in limiter) {
      throw new ConfigError(
        'limiter',
        'got a middleware: pass its limiter: { limiter: thatMiddleware.limiter }',
      )
    }
    throw ConfigError.wrong('limiter', limiter, "a limiter: createLimiter({ limit: '100/min' })")
  }
  const doubled = LIMITER_OPTIONS.find(
    (name) => name !== 'limit' && options[name as keyof typeof options] !== undefined,
  )
  if (doubled === undefined) return
  const remedy = `pass it to createLimiter({ ${doubled} }), which makes the limiter`
  throw new ConfigError(doubled, `\`${doubled}\` cannot be combined with \`limiter\`: ${remedy}`)
}

/** Functions that create an `identify`, and how to call them. */
const MAKERS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [byHeader, "byHeader('x-api-key')"],
  [byIp, 'byIp()'],
  [byBearerToken, 'byBearerToken()'],
  [byJwtClaim, "byJwtClaim('sub')"],
])

/** @throws {ConfigError} when `identify` is such a function itself, which would be called with requests */
function refuseUncalled(identify: unknown): void {
  const called = MAKERS.get(identify)
  if (called === undefined) return
  const name = called.slice(0, called.indexOf('('))
  throw new ConfigError('identify', `${name} was given without calling it: write identify: ${called}`)
}

/** Whether this is a request of Node or Express, or a context of Koa: then `rateLimit` itself was mounted as middleware. */
function isOfRequest(given: unknown): boolean {
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
