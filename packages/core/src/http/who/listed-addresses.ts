import { BlockList, isIP } from 'node:net'
import { ConfigError } from '../../base/errors.js'
import type { Subject } from '../../plans/subject.js'
import { addressOf, formsOfIp, mappedIp, plainIp } from '../../requests/subject/address.js'

/**
 * Addresses and networks. Those of IPv4 and of IPv6 are kept apart: a `BlockList` of Node takes an IPv4 address for a mapped one,
 * which `::/0` contains.
 */
export class Addresses {
  readonly #lists = { 4: new BlockList(), 6: new BlockList() } as const
  isEmpty = true

  /** @throws {ConfigError} when no network can have that many bits */
  add(path: string, entry: string): void {
    this.isEmpty = false
    const { base, length } = networkOf(path, entry)
    const family = isIP(base) as 4 | 6
    this.#lists[family].addSubnet(base, length, `ipv${family}`)
  }

  /** Whether the address of a subject is listed. If it was given as a network, the whole network must be. */
  hasAllOf(subject: Subject): boolean {
    const [base = '', bits] = addressOf(subject).split('/', 2)
    if (!this.has(base)) return false
    return bits === undefined || this.has(lastOf(base, Number(bits)))
  }

  has(address: string): boolean {
    return formsOfIp(address).some((ip = '') => {
      const family = isIP(ip) as 0 | 4 | 6
      return family !== 0 && this.#lists[family].check(ip, `ipv${family}`)
    })
  }
}

/**
 * An address is a network of its own.
 *
 * @throws {ConfigError} when no network can have that many bits
 */
function networkOf(path: string, entry: string): { readonly base: string; readonly length: number } {
  const [start = '', bits] = entry.split('/', 2)
  const base = bits === undefined ? plainIp(start) : start
  const most = isIP(base) === 6 ? 128 : 32
  if (bits === undefined) return { base, length: most }
  const length = needBits(path, entry, bits, most)
  const mapped = mappedIp(base)
  if (mapped === undefined) return { base, length }
  if (length >= 96) return { base: mapped, length: length - 96 }
  // As a network of IPv6 it would hold none of the addresses that were meant.
  throw ConfigError.wrong(
    path,
    entry,
    `a network of 96 to 128 bits, or what it holds: '${mapped}/${Math.min(length, 32)}'`,
  )
}

/** The last address of an IPv6 network as `ipSubject` writes it: of `2001:db8::/64` it is `2001:db8::ffff:ffff:ffff:ffff`. */
function lastOf(base: string, bits: number): string {
  const groups = base.replace(/::$/, '').split(':')
  const all = Array.from({ length: 8 }, (_, i) => {
    const free = Math.min(16, Math.max(0, 16 * (i + 1) - bits))
    return Number.parseInt(groups[i] || '0', 16) | (2 ** free - 1)
  })
  return all.map((group) => group.toString(16)).join(':')
}

function needBits(path: string, entry: string, bits: string, most: number): number {
  if (/^\d{1,3}$/.test(bits) && Number(bits) <= most) return Number(bits)
  throw ConfigError.wrong(
    path,
    entry,
    `a network of 0 to ${most} bits, such as ${most === 32 ? "'10.0.0.0/8'" : "'2001:db8::/32'"}`,
  )
}
