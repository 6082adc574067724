import { METHODS } from 'node:http'
import { ConfigError } from '../../base/errors.js'
import type { HttpAdapter } from '../adapter.js'

/**
 * Whether requests with this method are limited.
 *
 * @param methods the limited methods; undefined: all except CORS preflight requests
 */
export function isLimited<Req extends object, Res>(
  adapter: HttpAdapter<Req, Res>,
  req: Req,
  methods: readonly string[] | undefined,
): boolean {
  const method = adapter.method(req)
  if (!methods) return method !== 'OPTIONS' || !isPreflight(adapter, req)
  // Frameworks run the handler of GET for HEAD, too, and it costs as much.
  return methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
}

/** Browsers send both headers with a preflight. With only one it is an ordinary request. */
function isPreflight<Req extends object, Res>({ header }: HttpAdapter<Req, Res>, req: Req): boolean {
  return Boolean(header(req, 'origin') && header(req, 'access-control-request-method'))
}

/** @throws {ConfigError} when it is no list of methods */
export function checkMethods(given: unknown): void {
  if (!Array.isArray(given) || given.length === 0) {
    throw ConfigError.wrong('methods', given, "a list of methods in upper case, such as ['POST']")
  }
  Array.from(given).forEach((method: unknown, i) => {
    if (METHODS.includes(method as string)) return
    throw ConfigError.wrong(`methods[${i}]`, method, "a method in upper case, such as 'POST'")
  })
}
