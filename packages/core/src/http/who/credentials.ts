import { atCaller, ConfigError, show, TollgateError } from '../../base/errors.js'
import { chain, type MaybePromise } from '../../base/promises.js'
import { needOptions } from '../../base/options.js'
import { warn } from '../../base/warnings.js'
import type { Subject } from '../../plans/subject.js'
import { type RequestWithHeaders, hashOf, needPlanOf } from './identify.js'

/** Options of `byBearerToken`. */
export interface ByBearerTokenOptions {
  /** The plan of every client with a token, or a function of the token. Default: the default plan. */
  readonly plan?: string | ((token: string) => string | undefined) | undefined
}

const BEARER = /^bearer +([\w.~+/-]+=*) *$/i
const LONGEST_TOKEN = 8192

/**
 * Counts requests by the bearer token in the Authorization header. The id is a hash, since tokens are secrets. Different
 * spellings of a token give the same id. Requests without a well-formed token count by the client's address.
 *
 * This does not check whether a token is valid. Reject invalid tokens first, or each made-up token gets its own quota. A
 * tenant with several valid tokens, for example after logging in twice, has several quotas. If that matters, count by the
 * tenant: with `byJwtClaim`, or with a function of your own.
 *
 * @throws {ConfigError} when an option is wrong
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function byBearerToken(
  options: ByBearerTokenOptions = {},
): (req: RequestWithHeaders) => Subject | undefined {
  const { plan } = atCaller(byBearerToken, () => {
    needOptions(options, ['plan'], 'byBearerToken')
    needPlanOf('byBearerToken.plan', options.plan, 'token')
    return options
  })
  return (req) => {
    const token = bearerOf(req)
    if (token === undefined) return undefined
    return { id: `bearer:${hashOf(canonical(token))}`, plan: typeof plan === 'function' ? plan(token) : plan }
  }
}

/** How many parts a signed token (RFC 7515) and an encrypted one (RFC 7516) have. */
const JOSE_PARTS = [3, 5]

/**
 * Brings a token into one spelling. The parts of a JSON Web Token are base64url. The last character of a part can have
 * unused bits, and most decoders also accept padding, the plain base64 alphabet and other characters. So a client could
 * write one valid token in many ways. Issuers compare other kinds of tokens as text, so those stay as they are.
 */
function canonical(token: string): string {
  const bare = token.replace(/=+$/, '')
  const parts = bare.split('.')
  return JOSE_PARTS.includes(parts.length) ? parts.map(recode).join('.') : bare
}

/** A part that decodes to nothing, because it is too short for base64url, stays as it is. */
function recode(part: string): string {
  return Buffer.from(part, 'base64url').toString('base64url') || part
}

/** Options of `byJwtClaim`. */
export interface ByJwtClaimOptions<Req> {
  /** The claim that names the plan. Without it, `planOf` or the default plan is used. */
  readonly planClaim?: string | undefined
  /**
   * Returns the claims of a request's verified token; may be async. Default: reads them where express-jwt, @fastify/jwt and
   * koa-jwt put them.
   */
  readonly token?: ((req: Req) => unknown) | undefined
}

/** Where packages that verify tokens put the payload. */
interface Verified {
  readonly auth?: unknown
  readonly user?: unknown
  readonly state?: { readonly user?: unknown }
}

/**
 * Counts requests by a claim of a verified JSON Web Token. Another package must verify the token first: this reads the
 * claims that it put on the request, never the header, which anyone can write. Requests without a verified token count by
 * the client's address. If such a request has a bearer token, there is a warning.
 *
 * @param claim such as `sub` or `org_id`; its value must be a string or a number
 * @throws {ConfigError} when an option is wrong
 * @see https://www.rfc-editor.org/rfc/rfc7519
 * @example identify: byJwtClaim('org_id', { planClaim: 'plan' })
 */
export function byJwtClaim<Req extends RequestWithHeaders>(
  claim: string,
  options: ByJwtClaimOptions<Req> = {},
): (req: Req) => MaybePromise<Subject | undefined> {
  atCaller(byJwtClaim, () => checkByJwtClaim(claim, options))
  const { planClaim, token = verifiedOf } = options
  let mayWarn = true
  const read = (payload: unknown, req: Req): Subject | undefined => {
    if (payload === undefined || payload === null) {
      if (mayWarn && bearerOf(req) !== undefined) {
        mayWarn = false
        warnOfUnverified()
      }
      return undefined
    }
    const claims = claimsOf(payload)
    const plan = planClaim === undefined ? undefined : claims[planClaim]
    const id = claims[claim]
    return id === undefined || id === null || id === '' ? undefined : ({ id, plan } as Subject)
  }
  return (req) => chain(token(req), (payload) => read(payload, req))
}

function checkByJwtClaim(claim: unknown, options: ByJwtClaimOptions<never>): void {
  if (typeof claim !== 'string' || claim === '')
    throw ConfigError.wrong('byJwtClaim(claim)', claim, "a claim, such as 'sub'")
  needOptions(options, ['planClaim', 'token'], 'byJwtClaim')
  const { planClaim, token = verifiedOf } = options
  if (planClaim !== undefined && (typeof planClaim !== 'string' || planClaim === '')) {
    throw ConfigError.wrong('byJwtClaim.planClaim', planClaim, "the name of a claim, such as 'plan'")
  }
  if (typeof token !== 'function')
    throw ConfigError.wrong('byJwtClaim.token', token, 'a function: (req) => req.auth')
}

function verifiedOf({ auth, user, state }: Verified): unknown {
  return auth ?? user ?? state?.user
}

/** A copy without a prototype, so that only the token's own claims are found: not `constructor`. */
function claimsOf(payload: unknown): Readonly<Record<string, unknown>> {
  if (typeof payload === 'object' && payload !== null) return Object.assign(Object.create(null), payload)
  throw new TollgateError(
    'ERR_TOLLGATE_SUBJECT',
    `byJwtClaim: got ${typeof payload === 'string' ? 'a string' : show(payload)}, expected the claims of a verified token: { token: (req) => req.auth }`,
  )
}

function bearerOf({ headers }: RequestWithHeaders): string | undefined {
  const { authorization } = headers
  if (typeof authorization !== 'string' || authorization.length > LONGEST_TOKEN) return undefined
  return BEARER.exec(authorization)?.[1]
}

function warnOfUnverified(): void {
  warn(
    'TOLLGATE_UNVERIFIED',
    'byJwtClaim found a bearer token that has not been verified, so the request counts by client address. ' +
      'Mount the limiter after the middleware that verifies tokens, or read the claims where it puts them: ' +
      "byJwtClaim('sub', { token: (req) => req.auth }).",
  )
}
