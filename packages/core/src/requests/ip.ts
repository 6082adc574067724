import { isIP } from 'node:net'

/** IPv6 addresses that share so many leading bits are one client, where nobody says otherwise. */
export const IPV6_PREFIX = 64

/** Prefixes of 96 bits before an IPv4 address: mapped (RFC 4291) and translated (NAT64, RFC 6052). */
const IPV4_PREFIXES = [
  [0, 0, 0, 0, 0, 0xffff],
  [0x64, 0xff9b, 0, 0, 0, 0],
]
/** Nobody's network: the loopback and IPv4-compatible addresses, each of which is a host of its own. */
const SINGLE_HOSTS = [0, 0, 0, 0]

/**
 * A client address as an id: IPv4 as it is, also within IPv6; of IPv6 the network of `ipv6Prefix` bits, since one
 * client has all addresses of it.
 *
 * @returns the text itself when it is no address, such as a path of a Unix socket
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

/**
 * Whether a text is an address and nothing else. Asked of every id, so most are told by their first character.
 */
export function isAddress(text: string): boolean {
  const first = text.charCodeAt(0) | LOWER_CASE
  const mayBe = (first >= ZERO && first <= COLON) || (first >= A && first <= F)
  if (!mayBe) return false
  // A zone can be of any length. It must not make a subject of its own of each text that a client puts behind the sign.
  const start = text.slice(0, LONGEST + 1)
  const zone = start.indexOf('%')
  const base = zone === -1 ? start : start.slice(0, zone)
  if (base.length > LONGEST || !(base.includes('.') || base.includes(':'))) return false
  return zone === -1 ? isIP(base) !== 0 : isIP(base) === 6
}

/** Makes a letter lower case, and leaves digits and the colon as they are. */
const LOWER_CASE = 0x20
const ZERO = 0x30
const COLON = 0x3a
const A = 0x61
const F = 0x66
/** Without a zone, which is the name of a network interface. */
const LONGEST = 45

/** How some proxies forward addresses: with the port, which is another for every connection. */
const WITH_PORT = /^(?:\[([^\]]+)\](?::\d+)?|(\d+(?:\.\d+){3}):\d+)$/

/** An address without port and zone and in one spelling; the IPv4 address where IPv6 only carries one. */
export function plainIp(address: string): string {
  const [, inBrackets, withPort] = WITH_PORT.exec(address) ?? []
  const [ip = ''] = (inBrackets ?? withPort ?? address).split('%', 1)
  if (isIP(ip) !== 6) return ip
  const text = canonical(ip)
  const groups = expand(text)
  return IPV4_PREFIXES.some((prefix) => startsWith(groups, prefix)) ? ipv4Of(groups.slice(6)) : text
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

/** A URL writes every spelling of an IPv6 address in the same way. */
function canonical(ip: string): string {
  return new URL(`http://[${ip}]`).hostname.slice(1, -1)
}

/** The eight groups of an IPv6 address. */
function expand(text: string): number[] {
  const [head = '', tail] = text.split('::')
  const before = toGroups(head)
  const after = toGroups(tail ?? '')
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after]
}

function toGroups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}
