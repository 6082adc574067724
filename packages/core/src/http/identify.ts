import { ConfigError, show, TollgateError } from '../base/errors.js'
import { needOptions } from '../base/option-checks.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import type { Subject, SubjectOf } from '../plans/subject.js'
import { createHash } from 'node:crypto'
import { isIP } from 'node:net'
import { keepWritten } from '../requests/address-id.js'
import { readSubjects } from '../requests/subject.js'
import { IPV6_PREFIX, ipSubject, plainIp } from '../requests/ip.js'

/**
 * Who pays for a request: an id, or `{ id, plan }`; or several, such as a tenant and its user, whose limits must all
 * have room. Nothing, or an empty id: the client's address on the default plan. May be async; what it throws goes to
 * the framework's error handling.
 */
export type Identify<Req, Plans extends string = string> = (
  req: Req,
) => MaybePromise<Identified<Plans> | readonly Identified<Plans>[]>

/** Nothing, or an empty text, in a list of several is left out. */
export type Identified<Plans extends string = string> = SubjectOf<Plans> | null | undefined

/** The part of a request that all frameworks share. */
export interface RequestWithHeaders {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

export interface ByHeaderOptions {
  /** The plan of whoever sends the header, or how to find it for a value. Default: the default plan. */
  readonly plan?: string | ((value: string) => string | undefined)
  /** The id is the value itself, which must be no secret: stores, events and logs will hold it. Default: false. */
  readonly plain?: boolean
}

/**
 * The value of a request header, such as an API key, is the id: hashed, since most such values are secrets. Without the
 * header: the client's address.
 *
 * It takes any value for a subject, and anyone can send any header: reject unknown keys before, or whoever makes up a
 * new key for each request is never limited. Better look the key up in your database and count by whose it is.
 *
 * @throws {ConfigError} when the name is not that of a header, or an option is wrong
 * @example
 * identify: byHeader('x-api-key')                                     // behind what rejects unknown keys
 * identify: (req) => tenantOfKey.get(String(req.headers['x-api-key'])) // nothing for an unknown one: its address
 */
export function byHeader(
  name: string,
  options: ByHeaderOptions = {},
): (req: RequestWithHeaders) => Subject | undefined {
  if (typeof name !== 'string' || !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
    throw ConfigError.wrong('byHeader(name)', name, "the name of a header, such as 'x-api-key'")
  }
  needOptions(options, ['plan', 'plain'], 'byHeader')
  const { plan, plain = false } = options
  if (plan !== undefined && typeof plan !== 'string' && typeof plan !== 'function') {
    throw ConfigError.wrong(
      'byHeader.plan',
      plan,
      "the name of a plan, such as 'pro', or a function of the value that returns one",
    )
  }
  if (typeof plain !== 'boolean') throw ConfigError.wrong('byHeader.plain', plain, 'true or false')
  const header = name.toLowerCase()
  return (req) => {
    const given = req.headers[header]
    const value = (Array.isArray(given) ? given.join(',') : given)?.trim()
    if (!value) return undefined
    const id = plain ? value : `${header}:${hashOf(value)}`
    return { id, plan: typeof plan === 'function' ? plan(value) : plan }
  }
}

/** Of a secret, as an id: long enough that nobody finds another with the same, and none that was not guessable before. */
export function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}

export interface ByIpOptions {
  /** IPv6 addresses that share this many leading bits are one client, from 32 to 128. Default: 64. */
  readonly ipv6Prefix?: number
  /** The plan of every address. Default: the default plan. */
  readonly plan?: string
}

/**
 * The client's address, by the framework's own trust-proxy setting. What a limiter does without `identify`.
 *
 * @throws {ConfigError} when an option is wrong
 */
export function byIp(options: ByIpOptions = {}): (req: { readonly ip?: string | undefined }) => Subject {
  needOptions(options, ['ipv6Prefix', 'plan'], 'byIp')
  const { ipv6Prefix = IPV6_PREFIX, plan } = options
  if (!Number.isInteger(ipv6Prefix) || ipv6Prefix < 32 || ipv6Prefix > 128) {
    throw ConfigError.wrong(
      'byIp.ipv6Prefix',
      ipv6Prefix,
      'a whole number of bits from 32 to 128, such as 64',
    )
  }
  if (plan !== undefined && typeof plan !== 'string') {
    throw ConfigError.wrong('byIp.plan', plan, "the name of a plan, such as 'free'")
  }
  // Also of a client without an address: left out of several subjects, its limits would be passed by.
  const identify = ({ ip }: { readonly ip?: string | undefined }): Subject => {
    return { ...subjectOfAddress(ip, ipv6Prefix), plan }
  }
  return Object.assign(identify, { [BY_ADDRESS]: true })
}

/** A registered symbol, since a process may load both builds of core. */
const BY_ADDRESS = Symbol.for('tollgate.byAddress')

/** Whether who pays can be told before anyone is authenticated: by the address alone. */
export function isByAddress(identify: object | undefined): boolean {
  return identify === undefined || BY_ADDRESS in identify
}

/** Whether what `identify` gave is somebody, and not just an address. */
export function isSomebody(found: Identified): boolean {
  const [subject] = readSubjects(found) ?? []
  return subject !== undefined && subject.kind !== 'ip'
}

const UNKNOWN = 'unknown'

/** Whether it is a client whose address could not be told. */
export function isUnknownIp({ id, kind }: Subject): boolean {
  return kind === 'ip' && id === UNKNOWN
}

/**
 * The subject that a client's address is counted as, for `peek` and `reset` by hand.
 *
 * @param address as the framework tells it; undefined for clients that have none
 * @param ipv6Prefix as `byIp` has it, where that is not 64
 * @throws {TollgateError} ERR_TOLLGATE_SUBJECT when it is no address
 * @example await limiter.reset(subjectOfIp(req.ip))
 */
export function subjectOfIp(address: string | undefined, ipv6Prefix: number = IPV6_PREFIX): Subject {
  if (address === undefined || address === '' || address === UNKNOWN) return subjectOfAddress(undefined)
  // Also a network, as the id of such a subject has it.
  const [base = ''] = typeof address === 'string' ? address.split('/', 1) : []
  if (isIP(plainIp(base)) !== 0) {
    const subject = subjectOfAddress(base, ipv6Prefix)
    return subject.id === address ? subject : keepWritten(subject, { id: address, kind: 'ip' })
  }
  const expected = "a client's address, such as req.ip or '192.0.2.1'"
  throw new TollgateError('ERR_TOLLGATE_SUBJECT', `subjectOfIp: got ${show(address)}, expected ${expected}`)
}

/** The same of whatever a framework says: a socket of Unix has a path, and a client can forge what a proxy forwards. */
export function subjectOfAddress(address: string | undefined, ipv6Prefix: number = IPV6_PREFIX): Subject {
  return { id: (address && ipSubject(address, ipv6Prefix)) || UNKNOWN, kind: 'ip' }
}
