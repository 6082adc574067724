import { atCaller, ConfigError, StoreError } from '../../base/errors.js'
import { isOptions } from '../../base/options.js'
import { createLimiterFor } from '../../limiter/create-limiter.js'
import type { Decision } from '../../limiter/decision/decision.js'
import type { Limiter } from '../../limiter/limiter.js'
import type { HttpAdapter, HttpLimiter } from '../adapter.js'
import { mediaTypeFor } from '../answers/denial.js'
import { toHttpResponse } from '../answers/http-response.js'
import { createHttpLimiter } from '../http-limiter.js'
import type { RateLimitOptions } from '../options.js'
import { PAGE_POLICY, pageOf, type PageTimes } from './page.js'
import { reportOf, type UsageReport } from './report.js'

/** Whose usage to show: of a limiter without a middleware. The other options are those of `rateLimit`. */
export type UsageRouteOptions<Req, Res> = Pick<
  RateLimitOptions<Req, Res>,
  'group' | 'stacked' | 'namePlan' | 'limit'
> & {
  /** The limiter that counts. */
  readonly limiter: Limiter
  /** Who asks. Requests without a subject, or with a client's address only, get a 401. */
  readonly identify: NonNullable<RateLimitOptions<Req, Res>['identify']>
}

/** The answer to a request for usage. */
export interface UsageAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A registered symbol, since a process may load both builds of core. */
const HTTP = Symbol.for('tollgate.http')

/** Lets `usage` find the HTTP limiter behind what an adapter's `rateLimit` returns. Returns that. */
export function noteHttp<Handler extends object>(http: object, handler: Handler): Handler {
  return Object.defineProperty(handler, HTTP, { value: http })
}

/** How often a subject may ask. Each process counts that in its memory, so that asking too often costs the store nothing. */
const ASKING = '60/min'

/**
 * Makes what answers requests for usage: where the limits of the subject stand that asks. It takes no units of them.
 *
 * @param source what the adapter's `rateLimit` returned, or options
 * @throws {ConfigError} when it is neither, or knows clients by their address only
 */
export function createUsage<Req extends object, Res>(
  adapter: HttpAdapter<Req, Res>,
  source: object,
): (req: Req) => Promise<UsageAnswer> {
  const http = atCaller(createUsage, () => httpOf(adapter, source))
  const asking = guardOf(http.limiter)
  return async (req) => {
    const method = adapter.method(req)
    if (method !== 'GET' && method !== 'HEAD')
      return problem(405, 'Method Not Allowed', 'Usage can only be read.', { Allow: 'GET, HEAD' })
    const accept = adapter.header(req, 'accept')
    const looked = await http.look(req)
    if (!looked) return problem(401, 'Unauthorized', 'Usage is shown to clients that authenticate.')
    const { id, kind } = looked.subject
    const asked = await asking.consume(kind === undefined ? { id } : { id, kind })
    if (!asked.allowed) return refusal(asked, accept)
    const { list } = looked
    if (list === 'allowList') return report({ limits: [] }, accept)
    if (list === 'blockList') return report({ limits: [], blocked: { until: null } }, accept)
    try {
      const seen = await looked.see()
      const timeZones = seen.limits.map(({ timeZone }) => timeZone)
      return report(reportOf(seen, looked.namePlan), accept, { atMs: seen.atMs, timeZones })
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      const detail = 'Usage cannot be read at the moment. Try again shortly.'
      return problem(503, 'Service Unavailable', detail, { 'Retry-After': '1' })
    }
  }
}

/** Routes of one limiter share the limit on how often a subject may ask. */
const guards = new WeakMap<Limiter, Limiter>()

function guardOf(limiter: Limiter): Limiter {
  const known = guards.get(limiter)
  if (known) return known
  const made = createLimiterFor({ limit: ASKING, warnings: false }, { isHidden: true })
  guards.set(limiter, made)
  return made
}

/** @throws {ConfigError} */
function httpOf<Req extends object, Res>(
  adapter: HttpAdapter<Req, Res>,
  source: object,
): HttpLimiter<Req, Res> {
  if (typeof source === 'object' && source !== null && 'headers' in source) {
    throw new ConfigError('', 'usage was mounted without calling it: write usage(limit)')
  }
  const made = (source as { readonly [HTTP]?: HttpLimiter<Req, Res> } | undefined)?.[HTTP]
  if (!made && !(isOptions(source) && 'limiter' in source && 'identify' in source)) {
    throw ConfigError.wrong('usage(limit)', source, 'what rateLimit returned, or { limiter, identify }')
  }
  const http = made ?? createHttpLimiter(adapter, source as UsageRouteOptions<Req, Res>)
  if (http.knowsWho) return http
  const problem =
    'clients are known by their address only, which anybody can share: give identify a function that finds who asks'
  throw new ConfigError('usage(limit)', problem)
}

const PRIVATE = { 'Cache-Control': 'private, no-store', Vary: 'Accept' } as const

function report(
  said: UsageReport,
  accept: string | undefined,
  times: PageTimes = { atMs: Date.now(), timeZones: [] },
): UsageAnswer {
  if (mediaTypeFor(accept) !== 'text/html') {
    const headers = { ...PRIVATE, 'Content-Type': 'application/json' }
    return { status: 200, headers, body: JSON.stringify(said) }
  }
  const headers = {
    ...PRIVATE,
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': PAGE_POLICY,
    'X-Content-Type-Options': 'nosniff',
  }
  return { status: 200, headers, body: pageOf(said, times) }
}

/** A subject has asked too often. Nothing is said of its limits, only of this one. */
function refusal(asked: Decision, accept: string | undefined): UsageAnswer {
  const { status = 429, headers, body = '' } = toHttpResponse(asked, { accept, headers: false })
  return { status, headers: { ...headers, ...PRIVATE }, body }
}

function problem(
  status: number,
  title: string,
  detail: string,
  more: Readonly<Record<string, string>> = {},
): UsageAnswer {
  const headers = { ...PRIVATE, ...more, 'Content-Type': 'application/problem+json' }
  return { status, headers, body: JSON.stringify({ type: 'about:blank', title, status, detail }) }
}
