import { IncomingMessage, METHODS } from 'node:http'
import type { RateLimitOptions } from './options.js'
import { isOptions, needOptions } from '../base/option-checks.js'
import { LIMITER_OPTIONS } from '../limiter/limiter-options.js'
import { ConfigError } from '../base/errors.js'
import type { Limiter } from '../limiter/limiter.js'
import { checkDenialOptions } from './answer.js'
import { checkEventContext } from './event-context.js'

const HTTP_OPTIONS = [
  'limiter',
  'identify',
  'cost',
  'skip',
  'methods',
  'allowList',
  'blockList',
  'refundWhen',
  'headers',
  'retryJitterMs',
  'maxRetryAfterMs',
  'namePlan',
  'body',
  'onDenied',
  'requestProperty',
  'eventContext',
  'group',
  'stacked',
]
const PLACE_OPTIONS = ['limit', ...HTTP_OPTIONS]
const FUNCTIONS = ['identify', 'skip', 'refundWhen', 'body', 'onDenied'] as const

/** @throws {ConfigError} when an option is wrong that concerns HTTP; those of limiters, scopes and headers are checked there */
export function checkHttpOptions<Req, Res>(options: RateLimitOptions<Req, Res>): void {
  needOptions(options, [...LIMITER_OPTIONS, ...HTTP_OPTIONS])
  const { limiter, cost, methods } = options
  for (const name of FUNCTIONS) {
    const given = options[name]
    if (given !== undefined && typeof given !== 'function') throw ConfigError.wrong(name, given, 'a function')
  }
  if (cost !== undefined && typeof cost !== 'function' && !(Number.isSafeInteger(cost) && cost >= 1)) {
    throw ConfigError.wrong('cost', cost, 'a whole number of units from 1, or a function that returns one')
  }
  if (methods !== undefined) checkMethods(methods)
  checkDenialOptions(options)
  checkEventContext(options.eventContext)
  if (options.requestProperty !== undefined) checkRequestProperty(options.requestProperty)
  if (limiter !== undefined) checkShared(options, limiter)
}

/** @throws {ConfigError} when an option of a place is not one that it can have */
export function checkPlaceOptions(own: unknown): void {
  if (!isOptions(own)) throw ConfigError.wrong('', own, 'an object of options')
  for (const [name, given] of Object.entries(own)) {
    if (PLACE_OPTIONS.includes(name) || !LIMITER_OPTIONS.includes(name)) continue
    throw ConfigError.wrong(name, given, 'none here: it goes to the plugin, or where its limiter is made')
  }
  needOptions(own, PLACE_OPTIONS)
}

/** Of a request of Node, Express or Fastify: with a decision there much else would break. */
const TAKEN = [
  ...[
    'app',
    'auth',
    'baseUrl',
    'body',
    'complete',
    'cookies',
    'host',
    'hostname',
    'httpVersion',
    'id',
    'ip',
    'ips',
  ],
  ...[
    'log',
    'method',
    'originalUrl',
    'params',
    'path',
    'protocol',
    'query',
    'raw',
    'rawHeaders',
    'res',
    'route',
  ],
  ...['routeOptions', 'secure', 'server', 'session', 'signedCookies', 'state', 'url', 'user'],
]

function checkRequestProperty(given: unknown): void {
  const isName = typeof given === 'string' && /^[a-z_$][\w$]*$/i.test(given)
  if (isName && !TAKEN.includes(given) && !(given in IncomingMessage.prototype)) return
  throw ConfigError.wrong(
    'requestProperty',
    given,
    "a name that requests do not have yet, such as 'loginLimit'",
  )
}

function checkMethods(given: unknown): void {
  if (!Array.isArray(given) || given.length === 0) {
    throw ConfigError.wrong('methods', given, "a list of methods in upper case, such as ['POST']")
  }
  Array.from(given).forEach((method: unknown, i) => {
    if (METHODS.includes(method as string)) return
    throw ConfigError.wrong(`methods[${i}]`, method, "a method in upper case, such as 'POST'")
  })
}

function checkShared<Req, Res>(options: RateLimitOptions<Req, Res>, limiter: Limiter): void {
  if (typeof (limiter as Partial<Limiter> | null)?.scope !== 'function') {
    throw ConfigError.wrong('limiter', limiter, 'a limiter made by createLimiter')
  }
  const doubled = LIMITER_OPTIONS.find((name) => name !== 'limit' && name in options)
  if (doubled === undefined) return
  const given = (options as unknown as Record<string, unknown>)[doubled]
  throw ConfigError.wrong(doubled, given, 'none: the limiter that was given has its own')
}
