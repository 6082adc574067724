import { ConfigError, show, TollgateError } from '../base/errors.js'
import { chain, type MaybePromise } from '../base/maybe-promise.js'
import { needOptions } from '../base/option-checks.js'
import { warn } from '../base/warnings.js'
import type { Subject } from '../plans/subject.js'
import type { RequestWithHeaders } from './identify.js'
import { hashOf } from './identify.js'

export interface ByBearerTokenOptions {
  /** The plan of whoever has a token, or how to find it for one. Default: the default plan. */
  readonly plan?: string | ((token: string) => string | undefined)
}

const BEARER = /^bearer +([\w.~+/-]+=*) *$/i
const LONGEST_TOKEN = 8192

/**
 * The bearer token of the Authorization header is the id, hashed, since tokens are secrets; one token is one id, however
 * it is spelled. Without one that is well formed: the client's address.
 *
 * A token is not a tenant. It says nothing of whether it is valid, so check it before, or every made-up token is a
 * subject with a quota of its own. A tenant that can have several valid ones, as by logging in again, has the quota
 * several times: where that matters, count by what the token stands for, with `byJwtClaim` or an `identify` of yours.
 *
 * @throws {ConfigError} when an option is wrong
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function byBearerToken(
  options: ByBearerTokenOptions = {},
): (req: RequestWithHeaders) => Subject | undefined {
  needOptions(options, ['plan'], 'byBearerToken')
  const { plan } = options
  if (plan !== undefined && typeof plan !== 'string' && typeof plan !== 'function') {
    throw ConfigError.wrong(
      'byBearerToken.plan',
      plan,
      "the name of a plan, such as 'pro', or a function of the token that returns one",
    )
  }
  return (req) => {
    const token = bearerOf(req)
    if (token === undefined) return undefined
    return { id: `bearer:${hashOf(canonical(token))}`, plan: typeof plan === 'function' ? plan(token) : plan }
  }
}

/** Of signed tokens (RFC 7515) and of encrypted ones (RFC 7516). */
const JOSE_PARTS = [3, 5]

/**
 * A token in one spelling. The parts of a JSON Web Token are base64url, whose last character has bits that nothing
 * reads, and most decoders also take padding, the other alphabet and characters that are neither: a client could write
 * one valid token in many ways. Any other token is compared as a text by whoever issued it, so all of it counts.
 */
function canonical(token: string): string {
  const bare = token.replace(/=+$/, '')
  const parts = bare.split('.')
  return JOSE_PARTS.includes(parts.length) ? parts.map(recode).join('.') : bare
}

/** A part that is too short to be base64url is left, since it would become nothing. */
function recode(part: string): string {
  return Buffer.from(part, 'base64url').toString('base64url') || part
}

export interface ByJwtClaimOptions<Req> {
  /** The claim that names the plan. Default: none, so the default plan, or `planOf`. */
  readonly planClaim?: string
  /** The verified token on a request, or a promise of it. Default: what express-jwt, @fastify/jwt and koa-jwt leave there. */
  readonly token?: (req: Req) => unknown
}

/** Where packages that verify tokens leave the payload. */
interface Verified {
  readonly auth?: unknown
  readonly user?: unknown
  readonly state?: { readonly user?: unknown }
}

/**
 * A claim of a JSON Web Token is the id. The token must have been verified by then: this reads what a package that
 * verifies left on the request, never the header, which anyone can write. Without it: the client's address, and a
 * warning when a token came that nobody verified.
 *
 * @param claim such as `sub` or `org_id`; its value is a text or a number
 * @throws {ConfigError} when an option is wrong
 * @see https://www.rfc-editor.org/rfc/rfc7519
 */
export function byJwtClaim<Req extends RequestWithHeaders>(
  claim: string,
  options: ByJwtClaimOptions<Req> = {},
): (req: Req) => MaybePromise<Subject | undefined> {
  if (typeof claim !== 'string' || claim === '')
    throw ConfigError.wrong('byJwtClaim(claim)', claim, "a claim, such as 'sub'")
  needOptions(options, ['planClaim', 'token'], 'byJwtClaim')
  const { planClaim, token = verifiedOf } = options
  if (planClaim !== undefined && (typeof planClaim !== 'string' || planClaim === '')) {
    throw ConfigError.wrong('byJwtClaim.planClaim', planClaim, "the name of a claim, such as 'plan'")
  }
  if (typeof token !== 'function')
    throw ConfigError.wrong('byJwtClaim.token', token, 'a function: (req) => req.auth')
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

function verifiedOf({ auth, user, state }: Verified): unknown {
  return auth ?? user ?? state?.user
}

/** Own claims only, so that one called `constructor` is none. */
function claimsOf(payload: unknown): Readonly<Record<string, unknown>> {
  if (typeof payload === 'object' && payload !== null) return Object.assign(Object.create(null), payload)
  throw new TollgateError(
    'ERR_TOLLGATE_SUBJECT',
    `byJwtClaim: got ${typeof payload === 'string' ? 'a text' : show(payload)}, expected the claims of a verified token: { token: (req) => req.auth }`,
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
    'byJwtClaim met a request with a bearer token that nothing has verified, and counts it by client address. ' +
      'Mount the limiter behind what verifies tokens, or say with `token` where that leaves them.',
  )
}
