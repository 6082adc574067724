import { BlockList, isIP } from 'node:net'
import { ConfigError } from '../../base/errors.js'
import { chain, isPromise, type MaybePromise } from '../../base/promises.js'
import type { Subject } from '../../plans/subject.js'
import { addressOf, formsOfIp, mappedIp, plainIp } from '../../requests/subject/address.js'

/**
 * The entries of a list: ids, client addresses and networks (`'10.0.0.0/8'`). Or a function that checks a subject; it may
 * be async.
 *
 * Addresses and networks are compared with the client's address as the framework reports it. A `blockList` also compares
 * them with ids that are addresses, such as an id that `identify` takes from a header. An `allowList` does not: a client
 * that writes its own id could put itself on it.
 */
export type ListOption<Req> = readonly string[] | ((subject: Subject, req: Req) => MaybePromise<boolean>)

export interface List<Req> {
  /** Whether the list has addresses or networks. A client without a known address cannot be checked against them. */
  readonly hasAddresses: boolean
  /** Whether one of the subjects, or the client's address, is on the list. */
  has(subjects: readonly Subject[], address: string | undefined, req: Req): MaybePromise<boolean>
}

/**
 * Validates a list and prepares it for fast lookups.
 *
 * @throws {ConfigError} when it is neither an array of strings nor a function, or an entry is a misspelt address
 */
export function compileList<Req>(name: 'allowList' | 'blockList', given: ListOption<Req>): List<Req> {
  if (typeof given === 'function') {
    return {
      hasAddresses: false,
      has: (subjects, _, req) => anyOf(subjects, (subject) => given(subject, req)),
    }
  }
  if (!Array.isArray(given))
    throw ConfigError.wrong(
      name,
      given,
      "a list of ids, addresses and networks, such as ['acme', '10.0.0.0/8'], or a function",
    )
  const findsIds = name === 'blockList'
  const { ids, addresses } = readEntries(name, given, findsIds)
  return {
    hasAddresses: !addresses.isEmpty,
    has: (subjects, address) =>
      subjects.some((subject) =>
        subject.kind === 'ip' ? findsIds && addresses.hasAllOf(subject) : ids.has(String(subject.id)),
      ) ||
      (address !== undefined && addresses.has(address)),
  }
}

/** @param keepsTexts whether an address is also an id */
function readEntries(
  name: string,
  given: readonly unknown[],
  keepsTexts: boolean,
): { readonly ids: ReadonlySet<string>; readonly addresses: Addresses } {
  const ids = new Set<string>()
  const addresses = new Addresses()
  Array.from(given).forEach((entry, i) => {
    const path = `${name}[${i}]`
    if (typeof entry !== 'string' || entry === '')
      throw ConfigError.wrong(path, entry, "an id, an address, or a network such as '10.0.0.0/8'")
    const [start = '', bits, more] = entry.split('/')
    const isId = !isIP(bits === undefined ? plainIp(start) : start) || more !== undefined
    if (isId) needId(path, entry)
    if (isId || keepsTexts) ids.add(entry)
    if (!isId) addresses.add(path, entry)
  })
  return { ids, addresses }
}

/** Looks like an address or a network but is not valid. As an id it would match no subject. */
const MISWRITTEN =
  /^(?:\[[\da-f:.%]+\](?:[/:].*)?|\d+(?:\.\d+){3}|[\d.]+\/.*|[\da-f:.]*(?:::|(?::[\da-f]*){7})[\da-f:.]*(?:\/.*)?)$/i

function needId(path: string, entry: string): void {
  if (entry.trim() === entry && !MISWRITTEN.test(entry)) return
  throw ConfigError.wrong(path, entry, "an id, an address, or a network such as '10.0.0.0/8'")
}

/** Whether the test holds for one of the subjects. Stops at the first. */
function anyOf(
  subjects: readonly Subject[],
  test: (subject: Subject) => MaybePromise<boolean>,
): MaybePromise<boolean> {
  for (const [i, subject] of subjects.entries()) {
    const found = test(subject)
    if (isPromise(found)) return chain(found, (yes) => Boolean(yes) || anyOf(subjects.slice(i + 1), test))
    if (found) return true
  }
  return false
}

/**
 * Addresses and networks. IPv4 and IPv6 are kept apart: Node's `BlockList` treats an IPv4 address as a mapped IPv6 address,
 * which `::/0` contains.
 */
class Addresses {
  readonly #lists = { 4: new BlockList(), 6: new BlockList() } as const
  isEmpty = true

  /** @throws {ConfigError} when no network can have that many bits */
  add(path: string, entry: string): void {
    this.isEmpty = false
    const { base, length } = readNetwork(path, entry)
    const family = isIP(base) as 4 | 6
    this.#lists[family].addSubnet(base, length, `ipv${family}`)
  }

  /** Whether the address of a subject is listed. If it was given as a network, the whole network must be. */
  hasAllOf(subject: Subject): boolean {
    const [base = '', bits] = addressOf(subject).split('/', 2)
    if (!this.has(base)) return false
    return bits === undefined || this.has(lastAddressIn(base, Number(bits)))
  }

  has(address: string): boolean {
    return formsOfIp(address).some((ip = '') => {
      const family = isIP(ip) as 0 | 4 | 6
      return family !== 0 && this.#lists[family].check(ip, `ipv${family}`)
    })
  }
}

/**
 * Reads an address or a network. An address is a network of one.
 *
 * @throws {ConfigError} when no network can have that many bits
 */
function readNetwork(path: string, entry: string): { readonly base: string; readonly length: number } {
  const [start = '', bits] = entry.split('/', 2)
  const base = bits === undefined ? plainIp(start) : start
  const most = isIP(base) === 6 ? 128 : 32
  if (bits === undefined) return { base, length: most }
  const length = needBits(path, entry, bits, most)
  const mapped = mappedIp(base)
  if (mapped === undefined) return { base, length }
  if (length >= 96) return { base: mapped, length: length - 96 }
  // Mapped addresses of clients are compared as IPv4, so this network would hold none of them.
  throw ConfigError.wrong(
    path,
    entry,
    `a network of 96 to 128 bits, or the IPv4 network that is meant: '${mapped}/${Math.min(length, 32)}'`,
  )
}

/** The last address of an IPv6 network as `ipSubject` writes it: of `2001:db8::/64` it is `2001:db8::ffff:ffff:ffff:ffff`. */
function lastAddressIn(base: string, bits: number): string {
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
