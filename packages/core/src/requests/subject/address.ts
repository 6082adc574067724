import { isIP } from '../../base/platform.js'
import type { OwnLimits } from '../../plans/own-limits.js'
import type { Subject } from '../../plans/subject.js'

/** The default number of leading bits that IPv6 addresses of one client share. */
export const IPV6_PREFIX = 64

/** The 96-bit prefixes of IPv6 addresses that contain an IPv4 address: mapped (RFC 4291) and NAT64 (RFC 6052). */
const MAPPED = [0, 0, 0, 0, 0, 0xffff]
const NAT64 = [0x64, 0xff9b, 0, 0, 0, 0]
/** The prefix of the loopback and IPv4-compatible addresses. Each of these is a host by itself, without a network. */
const SINGLE_HOSTS = [0, 0, 0, 0]

/**
 * The id of a client address. An IPv4 address stays as it is, even if it came inside an IPv6 address. An IPv6 address
 * becomes its network of `ipv6Prefix` bits, since one client can use all addresses of its network.
 *
 * @returns the text itself, without a port or zone, when it is not an address, such as the path of a Unix socket
 */
export function ipSubject(address: string, ipv6Prefix: number): string {
  const ip = plainIp(address)
  if (isIP(ip) !== 6) return ip
  const groups = expand(ip)
  if (startsWith(groups, SINGLE_HOSTS)) return ip
  const kept = groups.map((group, i) => group & maskOf(ipv6Prefix - 16 * i))
  return `${kept
    .slice(0, Math.ceil(ipv6Prefix / 16))
    .map((group) => group.toString(16))
    .join(':')}::/${ipv6Prefix}`
}

/** The id of clients whose address is not known. */
export const UNKNOWN = 'unknown'

/**
 * The subject that a client's address counts as. Never throws: frameworks may report a Unix socket's path, or a forged
 * forwarded address.
 */
export function toIpSubject(address: string | undefined, ipv6Prefix: number = IPV6_PREFIX): Subject {
  return { id: (address && ipSubject(address, ipv6Prefix)) || UNKNOWN, kind: 'ip' }
}

/** Whether this is the subject of a client's address. */
export function isIpSubject({ kind }: Subject): boolean {
  return kind === 'ip'
}

/** Whether a subject is known by an address alone, also by one with the port of a connection. */
export function isOnlyAddress({ id, kind }: Subject): boolean {
  return kind === 'ip' || (kind === undefined && typeof id === 'string' && isIP(plainIp(id)) !== 0)
}

/** Whether a text is an IP address and nothing else. */
export function isAddress(text: string): boolean {
  if (!hasMarkOfAddress(text)) return false
  // A zone can have any length. A client must not get a new subject for each text that it puts behind the sign.
  const start = text.slice(0, LONGEST + 1)
  const zone = start.indexOf('%')
  const base = zone === -1 ? start : start.slice(0, zone)
  if (base.length > LONGEST || !(base.includes('.') || base.includes(':'))) return false
  return zone === -1 ? isIP(base) !== 0 : isIP(base) === 6
}

/**
 * Whether there is a dot or colon where the first group of an address can end: behind four digits at most. This runs for
 * every id, and rules nearly all of them out.
 */
function hasMarkOfAddress(text: string): boolean {
  const end = Math.min(text.length, LONGEST_GROUP + 1)
  for (let i = 0; i < end; i += 1) {
    const code = text.charCodeAt(i)
    if (code === DOT || code === COLON) return true
  }
  return false
}

const DOT = 0x2e
const COLON = 0x3a
const LONGEST_GROUP = 4
/** The longest address without a zone (the name of a network interface), in characters. */
const LONGEST = 45

/** Some proxies forward addresses with the port, which differs for every connection. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/

/** An address in one spelling, without port and zone. For an IPv4 address inside an IPv6 address, the IPv4 address. */
export function plainIp(address: string): string {
  return formsOfIp(address)[0]
}

/**
 * All forms in which an address can be listed: its plain form, and for a client of NAT64 also its IPv6 address. A mapped
 * address is only another way to write an IPv4 address.
 */
export function formsOfIp(address: string): readonly [plain: string, written?: string] {
  const [, inBrackets, withPort] = WITH_PORT.exec(address) ?? []
  const [ip = ''] = (inBrackets ?? withPort ?? address).split('%', 1)
  if (isIP(ip) !== 6) return [ip]
  const text = canonical(ip)
  const groups = expand(text)
  if (startsWith(groups, MAPPED)) return [ipv4Of(groups.slice(6))]
  return startsWith(groups, NAT64) ? [ipv4Of(groups.slice(6)), text] : [text]
}

/** The IPv4 address in a mapped one, such as `::ffff:10.0.0.0`; undefined for any other address. */
export function mappedIp(address: string): string | undefined {
  const [plain, written] = formsOfIp(address)
  return isIP(address) === 6 && isIP(plain) === 4 && written === undefined ? plain : undefined
}

function startsWith(groups: readonly number[], prefix: readonly number[]): boolean {
  return prefix.every((group, i) => groups[i] === group)
}

function ipv4Of(groups: readonly number[]): string {
  return groups.flatMap((group) => [group >> 8, group & 255]).join('.')
}

function maskOf(bits: number): number {
  if (bits >= 16) return 0xffff
  return bits <= 0 ? 0 : (0xffff << (16 - bits)) & 0xffff
}

/** The URL parser brings every spelling of an IPv6 address into the same form. */
function canonical(ip: string): string {
  return new URL(`http://[${ip}]`).hostname.slice(1, -1)
}

/** The eight 16-bit groups of an IPv6 address. */
function expand(text: string): number[] {
  const [head = '', tail] = text.split('::')
  const before = toGroups(head)
  const after = toGroups(tail ?? '')
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after]
}

function toGroups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}

/** The subject as it was given, for each subject that is counted under another id. */
const written = new WeakMap<Subject, Subject>()

/** Normalises a subject: an address becomes its client or network. */
export function atAddress(given: Subject): Subject {
  const { id, kind } = given
  if (typeof id !== 'string' || kind === 'id') return given
  if (kind === 'ip') return asNetwork(given, id)
  return isAddress(id) ? asAddress(given, id) : given
}

/**
 * The subject for an id that is an IP address: the same as for a client with that address. Otherwise each address of an
 * IPv6 network would be a subject, and a client that owns the network would not be limited at all.
 */
function asAddress(given: Subject, id: string): Subject {
  return keepWritten({ ...given, id: ipSubject(id, IPV6_PREFIX), kind: 'ip' }, given)
}

/**
 * The same for an id that is marked as an address (`kind: 'ip'`), in any form that `subjectForIp` takes. A network of any
 * length and the path of a socket stay as they are.
 */
function asNetwork(given: Subject, id: string): Subject {
  // This runs for each request with `byIp`, so the cheap checks come first.
  if (isIP(id) === 4 || isIP(plainIp(id)) === 0) return given
  const network = ipSubject(id, IPV6_PREFIX)
  return network === id ? given : keepWritten({ ...given, id: network }, given)
}

/** Remembers how a subject was written. */
export function keepWritten(subject: Subject, given: Subject): Subject {
  written.set(subject, given)
  return subject
}

/** The subject with limits in place of its plan. Keeps how the subject was written. */
export function withLimits(subject: Subject, limits: OwnLimits): Subject {
  const given = written.get(subject)
  const own = { ...subject, plan: undefined, limits }
  return given ? keepWritten(own, given) : own
}

/** The subject as the caller gave it, if only the form of its id showed that it is an address; otherwise undefined. */
export function asWritten(subject: Subject): Subject | undefined {
  const given = subject.kind === 'ip' ? written.get(subject) : undefined
  return given?.kind === 'ip' ? undefined : given
}

/** The address or network that was given for a subject of kind `ip`. */
export function addressOf(subject: Subject): string {
  return String((written.get(subject) ?? subject).id)
}
