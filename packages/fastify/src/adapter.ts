import { LimitedError, type Decision } from '@tollgate/core'
import {
  admitThen,
  hasLeft,
  onResponseEnd,
  toThrown,
  type HttpAdapter,
  type HttpLimiter,
} from '@tollgate/core/adapter'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { removeHeader, setHeader } from './reply-headers.js'
import { configOf } from './last-hooks.js'

/** A hook that limits requests. It works in every stage before the handler and with every type of server. */
export type RateLimitHook = (request: unknown, reply: unknown, ...rest: unknown[]) => void

export type Http = HttpLimiter<FastifyRequest, FastifyReply>

/** Marks the config of a route that has its own error handler. Fastify does not expose that handler during a request. */
const OWN_ERROR_HANDLER = Symbol('tollgate.ownErrorHandler')

/** Properties of Fastify's requests. A test compares them with a real request. */
const TAKEN =
  'compileValidationSchema getDecorator getValidationFunction is404 mediaType port setDecorator signal validateInput'

/** The adapter. If the application has set an error handler, it gets the denials. */
export const fastify: HttpAdapter<FastifyRequest, FastifyReply> = {
  framework: 'Fastify',
  mounting: "app.register(rateLimit, { limit: '100/min' })",
  taken: TAKEN.split(' '),
  trustSetting: "Fastify({ trustProxy: ['10.0.0.0/8'] })",
  method: (request) => request.method,
  header: (request, name) => request.headers[name]?.toString(),
  ip: (request) => request.ip,
  hasLeft: (request) => hasLeft(request.raw.socket),
  // `ips` holds the peer and the addresses that trusted proxies forwarded. The setting itself does not help: if it is a number,
  // Fastify trusts no proxy.
  trustsProxy: (request) => (request.ips?.length ?? 0) > 1,
  trustsAll,
  route: (request) => request.routeOptions.url,
  attach: (request, decision, property) => {
    ;(request as unknown as Record<string, Decision>)[property] = decision
  },
  isSent: (reply) => reply.sent || reply.raw.headersSent,
  getHeader: (reply, name) => reply.getHeader(name)?.toString(),
  setHeader,
  removeHeader,
  // Not by `reply.code`: Fastify would take it for the application's own status, and redirect with it.
  setStatus: ({ raw }, status) => {
    const before = raw.statusCode
    raw.statusCode = status
    return before
  },
  end: (reply, answer) => {
    if (hasErrorHandler(reply)) throw new LimitedError(answer)
    // Without a serializer, Fastify adds a charset to strings, which this media type does not have. Not a buffer, which Node
    // would send apart from the headers.
    void reply.code(answer.status).type(answer.contentType).serializer(unchanged).send(answer.body)
  },
  sendReturned: (reply, returned) => {
    if (returned !== undefined && !reply.sent) void reply.send(returned)
  },
  onEnd: (reply, listener) => onResponseEnd(reply.raw, listener),
}

/** A serializer for a body that is text already. */
export function unchanged(body: string): string {
  return body
}

/** Whether each server trusts all proxies. Cached, since the setting belongs to the server. */
const trustingAll = new WeakMap<object, boolean>()

/** The setting cannot be read. So this checks whether Fastify trusts example addresses (RFC 5737). */
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

/** Notes whether a route has its own error handler. Call it for each route when it is declared. */
export function noteErrorHandler(route: { readonly errorHandler?: unknown; config?: object }): void {
  if (route.errorHandler) route.config = { ...route.config, [OWN_ERROR_HANDLER]: true }
}

/** Fastify binds the error handlers that an application sets, but not the default one. The function's name shows it. */
function hasErrorHandler({ server, request }: FastifyReply): boolean {
  return server.errorHandler.name.startsWith('bound ') || OWN_ERROR_HANDLER in configOf(request)
}

/**
 * Creates a hook that decides each request once.
 *
 * @param find    finds the limiter of a request; undefined if the request is not limited
 * @param decided marks the requests that were decided. Hooks that share this symbol decide each request only once.
 */
export function createHook(
  find: (request: FastifyRequest) => Http | undefined,
  decided: symbol = Symbol('tollgate.decided'),
): RateLimitHook {
  return function rateLimit(given, givenReply, ...rest) {
    const request = given as FastifyRequest
    const reply = givenReply as FastifyReply
    // The last argument: in the stage `preParsing` a payload comes before it.
    const done = rest[rest.length - 1] as (thrown?: object) => void
    const marks = request as unknown as Record<symbol, boolean | undefined>
    let http
    try {
      // After reply.callNotFound() Fastify runs the hooks again.
      http = marks[decided] ? undefined : find(request)
    } catch (error) {
      return done(toThrown(error))
    }
    if (!http) return done()
    marks[decided] = true
    admitThen(http, request, reply, done)
  }
}
