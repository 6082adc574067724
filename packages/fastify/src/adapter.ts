import { LimitedError } from '@tollgate/core'
import { hasLeft, onResponseEnd, toThrown, type HttpAdapter, type HttpLimiter } from '@tollgate/core/adapter'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'

/** A hook, for any stage before the handler. */
export type RateLimitHook = (
  request: FastifyRequest,
  reply: FastifyReply,
  ...rest: [...unknown[], HookHandlerDoneFunction]
) => void

export type Http = HttpLimiter<FastifyRequest, FastifyReply>

/** In a route's config: it has an error handler of its own, which nothing else tells at request time. */
const OWN_ERROR_HANDLER = Symbol('tollgate.ownErrorHandler')

/** What Fastify says to core. A denial goes to the error handler of the application, where there is one. */
export const fastify: HttpAdapter<FastifyRequest, FastifyReply> = {
  framework: 'Fastify',
  trustSetting: 'Fastify({ trustProxy: [...networks] })',
  method: (request) => request.method,
  header: (request, name) => request.headers[name]?.toString(),
  ip: (request) => request.ip,
  hasLeft: (request) => hasLeft(request.raw.socket),
  // The peer, and further ones as far as they are trusted. The setting does not tell: of a number Fastify trusts nobody.
  trustsProxy: (request) => (request.ips?.length ?? 0) > 1,
  trustsAll,
  attach: (request, decision) => void (request.rateLimit = decision),
  isSent: (reply) => reply.sent || reply.raw.headersSent,
  getHeader: (reply, name) => reply.getHeader(name)?.toString(),
  // On Node's response, so that what an application writes past Fastify has them too, such as an event stream.
  // Those of Fastify are written over them in the end, so what an earlier hook has set there leaves.
  setHeader: (reply, name, value) => void reply.removeHeader(name).raw.setHeader(name, value),
  end: (reply, answer) => {
    if (hasErrorHandler(reply)) throw new LimitedError(answer)
    // As bytes: to text Fastify adds a charset, which this media type does not have.
    reply.removeHeader('Content-Type').raw.setHeader('Content-Type', answer.contentType)
    void reply.code(answer.status).send(Buffer.from(answer.body))
  },
  onEnd: (reply, listener) => onResponseEnd(reply.raw, listener),
}

/** By server, since the setting is the application's. */
const trustingAll = new WeakMap<object, boolean>()

/** Asks with addresses that nobody has (RFC 5737), as the setting itself cannot be read. */
function trustsAll(request: FastifyRequest): boolean {
  const known = trustingAll.get(request.server)
  if (known !== undefined) return known
  const headers = { 'x-forwarded-for': '203.0.113.1, 203.0.113.2' }
  const raw = {
    headers,
    socket: { remoteAddress: '203.0.113.3' },
    connection: { remoteAddress: '203.0.113.3' },
  }
  const { ips } = Object.create(request, { raw: { value: raw } }) as FastifyRequest
  const trusts = ips?.length === 3
  trustingAll.set(request.server, trusts)
  return trusts
}

/** To be called for each route when it is declared. */
export function noteErrorHandler(route: { readonly errorHandler?: unknown; config?: object }): void {
  if (route.errorHandler) route.config = { ...route.config, [OWN_ERROR_HANDLER]: true }
}

/** Fastify binds the handlers that applications set to an instance; its default one is bound to nothing. */
function hasErrorHandler({ server, request }: FastifyReply): boolean {
  return server.errorHandler.name.startsWith('bound ') || OWN_ERROR_HANDLER in request.routeOptions.config
}

/**
 * A hook that has requests decided, each one once.
 *
 * @param find    by what a request is decided; undefined: not at all
 * @param decided requests of this hook, and of others that count as the same
 */
export function makeHook(
  find: (request: FastifyRequest) => Http | undefined,
  decided = new WeakSet<FastifyRequest>(),
): RateLimitHook {
  return function rateLimit(request, reply, ...rest) {
    const done = rest.at(-1) as HookHandlerDoneFunction
    const goOn = (admitted: boolean): void => {
      if (admitted) done()
    }
    let admitted
    try {
      // A handler that calls reply.callNotFound() has the hooks run once more.
      const http = decided.has(request) ? undefined : find(request)
      if (http) decided.add(request)
      admitted = http ? http.admit(request, reply) : true
    } catch (error) {
      done(toThrown(error) as Error)
      return
    }
    // done stands outside of what catches, so that an error of the application is not reported twice.
    if (typeof admitted === 'boolean') goOn(admitted)
    else admitted.then(goOn, (error: unknown) => done(toThrown(error) as Error))
  }
}
