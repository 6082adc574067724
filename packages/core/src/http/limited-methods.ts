import type { HttpAdapter } from './adapter.js'

/**
 * Whether a request is of a method that is limited.
 *
 * @param methods those that are; left out: all, but for the preflights of CORS
 */
export function isLimited<Req extends object, Res>(
  adapter: HttpAdapter<Req, Res>,
  req: Req,
  methods: readonly string[] | undefined,
): boolean {
  const method = adapter.method(req)
  if (!methods) return method !== 'OPTIONS' || !isPreflight(adapter, req)
  // Frameworks answer HEAD by the handler of GET, which works as much for it.
  return methods.includes(method) || (method === 'HEAD' && methods.includes('GET'))
}

/** Browsers send both headers; with one of them it is a request like any other. */
function isPreflight<Req extends object, Res>({ header }: HttpAdapter<Req, Res>, req: Req): boolean {
  return Boolean(header(req, 'origin') && header(req, 'access-control-request-method'))
}
