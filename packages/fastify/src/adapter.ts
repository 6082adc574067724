import { LimitedError, type Decision, type MaybePromise } from '@tollgate/core'
import { admitThen, hasLeft, onResponseEnd, type HttpAdapter, type HttpLimiter } from '@tollgate/core/adapter'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'

/** A hook, for any stage before the handler. */
export type RateLimitHook = (
  request: FastifyRequest,
  reply: FastifyReply,
  ...rest: [...unknown[], HookHandlerDoneFunction]
) => void

export type Http = HttpLimiter<FastifyRequest, FastifyReply>

/** Marks the config of a route that has an error handler of its own: Fastify does not tell that at request time. */
const OWN_ERROR_HANDLER = Symbol('tollgate.ownErrorHandler')

/** Of Fastify's requests; a test holds it to them. */
const TAKEN =
  'compileValidationSchema getDecorator getValidationFunction is404 mediaType port setDecorator signal validateInput'

/** How core talks to Fastify. A denial goes to the error handler of the application, where there is one. */
export const fastify: HttpAdapter<FastifyRequest, FastifyReply> = {
  framework: 'Fastify',
  mounting: "app.register(rateLimit, { limit: '100/min' })",
  taken: TAKEN.split(' '),
  trustSetting: "Fastify({ trustProxy: ['10.0.0.0/8'] })",
  method: (request) => request.method,
  header: (request, name) => request.headers[name]?.toString(),
  ip: (request) => request.ip,
  hasLeft: (request) => hasLeft(request.raw.socket),
  // The peer, and further ones as far as they are trusted. The setting does not tell: of a number Fastify trusts nobody.
  trustsProxy: (request) => (request.ips?.length ?? 0) > 1,
  trustsAll,
  route: (request) => request.routeOptions.url,
  attach: (request, decision, property) => {
    ;(request as unknown as Record<string, Decision>)[property] = decision
  },
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

/** Fastify binds an error handler that the application has set; its default one is not bound, which its name shows. */
function hasErrorHandler({ server, request }: FastifyReply): boolean {
  return server.errorHandler.name.startsWith('bound ') || OWN_ERROR_HANDLER in request.routeOptions.config
}

/**
 * Makes a hook that decides each request once.
 *
 * @param find    finds the limiter of a request; undefined where it is not limited
 * @param decided the requests that were decided: hooks that share it decide a request once between them
 */
export function makeHook(
  find: (request: FastifyRequest) => Http | undefined,
  decided = new WeakSet<FastifyRequest>(),
): RateLimitHook {
  return function rateLimit(request, reply, ...rest) {
    const done = rest.at(-1) as HookHandlerDoneFunction
    const admit = (): MaybePromise<boolean> => {
      // A handler that calls reply.callNotFound() has the hooks run once more.
      const http = decided.has(request) ? undefined : find(request)
      if (!http) return true
      decided.add(request)
      return http.admit(request, reply)
    }
    admitThen(admit, done as (thrown?: object) => void)
  }
}
