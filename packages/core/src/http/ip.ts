import { isIP } from 'node:net'

/**
 * A client address as an id: IPv4 as it is, also when it is mapped into IPv6; of IPv6 the network of
 * `ipv6Prefix` bits, since one client has all addresses of it.
 *
 * @returns the text itself when it is no address, such as a path of a Unix socket
 */
export function ipSubject(address: string, ipv6Prefix: number): string {
  const [ip = ''] = address.split('%', 1)
  if (isIP(ip) !== 6) return ip
  const groups = expand(ip)
  const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  if (mapped)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.')
  const kept = groups.map((group, i) => group & maskOf(ipv6Prefix - 16 * i))
  return `${kept
    .slice(0, Math.ceil(ipv6Prefix / 16))
    .map((group) => group.toString(16))
    .join(':')}::/${ipv6Prefix}`
}

function maskOf(bits: number): number {
  if (bits >= 16) return 0xffff
  return bits <= 0 ? 0 : (0xffff << (16 - bits)) & 0xffff
}

/** The eight groups of an IPv6 address. A URL writes every spelling of one in the same way. */
function expand(ip: string): number[] {
  const [head = '', tail] = new URL(`http://[${ip}]`).hostname.slice(1, -1).split('::')
  const before = toGroups(head)
  const after = toGroups(tail ?? '')
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after]
}

function toGroups(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}
