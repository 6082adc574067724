import { atCaller, fromCaller, ConfigError, show, TollgateError } from '../../base/errors.js'
import { needBoolean, needOptions, needWhole } from '../../base/options.js'
import type { MaybePromise } from '../../base/promises.js'
import type { Subject, SubjectOf } from '../../plans/subject.js'
import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import { IPV6_PREFIX, keepWritten, plainIp, toIpSubject, UNKNOWN } from '../../requests/subject/address.js'
import { readSubjects } from '../../requests/subject/subject.js'

/**
 * Returns who a request counts against: an id, `{ id, plan }`, or an array of several, such as a tenant and its user. Then
 * the limits of all of them must have room. If it returns undefined, null or an empty id, the client's address counts, on
 * the default plan. It may be async, and its errors go to the framework's error handling.
 *
 * If it finds no subject, it may be called again when the response is over, for up to 50 requests. This shows whether
 * authentication runs after the limiter, and causes a warning if so.
 */
export type Identify<Req, Plans extends string = string> = (
  req: Req,
) => MaybePromise<Identified<Plans> | readonly Identified<Plans>[]>

/** One subject. In an array, undefined, null and empty ids are skipped. */
export type Identified<Plans extends string = string> = SubjectOf<Plans> | null | undefined

/** What the requests of all frameworks have in common. */
export interface RequestWithHeaders {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** Options of `byHeader`. */
export interface ByHeaderOptions {
  /** The plan of every client that sends the header, or a function of its value. Default: the default plan. */
  readonly plan?: string | ((value: string) => string | undefined) | undefined
  /** Uses the value itself as the id, without a hash. Not for secrets: stores, events and logs get it. Default: false. */
  readonly plain?: boolean | undefined
}

/**
 * Counts requests by the value of a header, such as an API key. The id is a hash, since most such values are secrets.
 * Requests without the header count by the client's address.
 *
 * Each value is a subject, and clients can send any value. Reject unknown keys first, or a client that makes up a new key
 * for each request is never limited. Better still, look the key up and count by its owner.
 *
 * @param name the header's name, in upper or lower case
 * @throws {ConfigError} when the name or an option is wrong
 * @example
 * identify: byHeader('x-api-key')                                      // if unknown keys were rejected before
 * identify: (req) => tenantOfKey.get(String(req.headers['x-api-key'])) // unknown keys count by address
 */
export function byHeader(
  name: string,
  options: ByHeaderOptions = {},
): (req: RequestWithHeaders) => Subject | undefined {
  atCaller(byHeader, () => checkByHeader(name, options))
  const { plan, plain = false } = options
  const header = name.toLowerCase()
  return (req) => {
    const given = req.headers[header]
    const value = (Array.isArray(given) ? given.join(',') : given)?.trim()
    if (!value) return undefined
    const id = plain ? value : `${header}:${hashOf(value)}`
    return { id, plan: typeof plan === 'function' ? plan(value) : plan }
  }
}

function checkByHeader(name: unknown, options: ByHeaderOptions): void {
  if (typeof name !== 'string' || !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
    throw ConfigError.wrong('byHeader(name)', name, "the name of a header, such as 'x-api-key'")
  }
  needOptions(options, ['plan', 'plain'], 'byHeader')
  const { plan, plain } = options
  needPlanOf('byHeader.plan', plan, 'value')
  needBoolean('byHeader.plain', plain)
}

/** @param what the argument that the function gets, for the error */
export function needPlanOf(path: string, plan: unknown, what: string): void {
  if (plan === undefined || typeof plan === 'string' || typeof plan === 'function') return
  const expected = `the name of a plan, such as 'pro', or a function of the ${what} that returns one`
  throw ConfigError.wrong(path, plan, expected)
}

/** Hashes a secret to use as an id. SHA-256: no other text with the same hash can be found. */
export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

/** Options of `byIp`. */
export interface ByIpOptions {
  /** IPv6 addresses with the same first bits count as one client: how many bits, from 32 to 128. Default: 64. */
  readonly ipv6Prefix?: number | undefined
  /** The plan of every address. Default: the default plan. */
  readonly plan?: string | undefined
}

/**
 * Counts requests by the client's address, as found by the framework with its trust-proxy setting. This is the default
 * without `identify`.
 *
 * @throws {ConfigError} when an option is wrong
 * @example identify: byIp({ ipv6Prefix: 56 })
 */
export function byIp(options: ByIpOptions = {}): (req: { readonly ip?: string | undefined }) => Subject {
  atCaller(byIp, () => checkByIp(options))
  const { ipv6Prefix = IPV6_PREFIX, plan } = options
  // A client without an address gets a subject too. Otherwise a list of several subjects would skip it.
  const identify = ({ ip }: { readonly ip?: string | undefined }): Subject => {
    return { ...toIpSubject(ip, ipv6Prefix), plan }
  }
  return Object.assign(identify, { [BY_ADDRESS]: true })
}

function checkByIp(options: ByIpOptions): void {
  needOptions(options, ['ipv6Prefix', 'plan'], 'byIp')
  const { ipv6Prefix, plan } = options
  needWhole('byIp.ipv6Prefix', ipv6Prefix, { of: 'bits', least: 32, most: 128, such: 64 })
  if (plan !== undefined && typeof plan !== 'string') {
    throw ConfigError.wrong('byIp.plan', plan, "the name of a plan, such as 'free'")
  }
}

/** A registered symbol, since a process may load both builds of core. */
const BY_ADDRESS = Symbol.for('tollgate.byAddress')

/** Whether `identify` needs no authentication, because it uses the client's address only. */
export function isByAddress(identify: object | undefined): boolean {
  return identify === undefined || BY_ADDRESS in identify
}

/** Whether `identify` returned a subject other than a client's address. */
export function isSomebody(found: Identified): boolean {
  const [subject] = readSubjects(found) ?? []
  return subject !== undefined && subject.kind !== 'ip'
}

/**
 * Returns the subject that a client's address counts as, for your own calls of `peek`, `reset` or `consume`.
 *
 * @param address    such as `req.ip`; undefined for a client without an address
 * @param ipv6Prefix the option of `byIp`, if you use it, in bits
 * @throws {TollgateError} ERR_TOLLGATE_SUBJECT when `address` is not an address
 * @example await limiter.reset(subjectForIp(req.ip))
 */
export function subjectForIp(address: string | undefined, ipv6Prefix: number = IPV6_PREFIX): Subject {
  if (address === undefined || address === '' || address === UNKNOWN) return toIpSubject(undefined)
  // Also accepts a network such as '2001:db8::/64': the ids of IPv6 clients have this form.
  const [base = ''] = typeof address === 'string' ? address.split('/', 1) : []
  if (isIP(plainIp(base)) !== 0) {
    const subject = toIpSubject(base, ipv6Prefix)
    return subject.id === address ? subject : keepWritten(subject, { id: address, kind: 'ip' })
  }
  const problem = `got ${show(address)}, expected a client's address, such as req.ip or '192.0.2.1'`
  throw fromCaller(new TollgateError('ERR_TOLLGATE_SUBJECT', `subjectForIp: ${problem}`), subjectForIp)
}
