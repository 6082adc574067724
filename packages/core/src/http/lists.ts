import { BlockList, isIP } from 'node:net'
import { ConfigError } from '../base/errors.js'
import { chain, isPromise, type MaybePromise } from '../base/maybe-promise.js'
import type { Subject } from '../plans/subject.js'
import { addressOf } from '../requests/address-id.js'
import { plainIp } from '../requests/ip.js'

/**
 * The entries of a list: ids, client addresses and networks (`'10.0.0.0/8'`). Or a function that checks a subject.
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
    hasAddresses: addresses.rules.length > 0,
    has: (subjects, address) =>
      subjects.some((subject) =>
        subject.kind === 'ip' ? findsIds && isWhollyIn(addresses, subject) : ids.has(String(subject.id)),
      ) ||
      (address !== undefined && isIn(addresses, address)),
  }
}

/** @param keepsTexts whether an address is also an id */
function readEntries(
  name: string,
  given: readonly unknown[],
  keepsTexts: boolean,
): { readonly ids: ReadonlySet<string>; readonly addresses: BlockList } {
  const ids = new Set<string>()
  const addresses = new BlockList()
  Array.from(given).forEach((entry, i) => {
    const path = `${name}[${i}]`
    if (typeof entry !== 'string' || entry === '')
      throw ConfigError.wrong(path, entry, "an id, an address, or a network such as '10.0.0.0/8'")
    const [start = '', bits, more] = entry.split('/')
    const base = bits === undefined ? plainIp(start) : start
    const family = familyOf(base)
    const isId = !isIP(base) || more !== undefined
    if (isId) needId(path, entry)
    if (isId || keepsTexts) ids.add(entry)
    if (isId) return
    if (bits === undefined) addresses.addAddress(base, family)
    else addresses.addSubnet(base, needBits(path, entry, bits, family), family)
  })
  return { ids, addresses }
}

function familyOf(ip: string): 'ipv4' | 'ipv6' {
  return isIP(ip) === 6 ? 'ipv6' : 'ipv4'
}

function isIn(addresses: BlockList, address: string): boolean {
  const ip = plainIp(address)
  return isIP(ip) !== 0 && addresses.check(ip, familyOf(ip))
}

/** Whether the address of a subject is listed. If it was given as a network, the whole network must be. */
function isWhollyIn(addresses: BlockList, subject: Subject): boolean {
  const [base = '', bits] = addressOf(subject).split('/', 2)
  if (!isIn(addresses, base)) return false
  return bits === undefined || isIn(addresses, lastOf(base, Number(bits)))
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

/** Looks like an address or a network but is not valid. As an id it would match nobody. */
const MISWRITTEN = /^(?:\d+(?:\.\d+){3}|[\d.]+\/.*|[\da-f:.]*(?:::|(?::[\da-f]*){7})[\da-f:.]*(?:\/.*)?)$/i

function needId(path: string, entry: string): void {
  if (entry.trim() === entry && !MISWRITTEN.test(entry)) return
  throw ConfigError.wrong(path, entry, "an id, an address, or a network such as '10.0.0.0/8'")
}

function needBits(path: string, entry: string, bits: string, family: 'ipv4' | 'ipv6'): number {
  const most = family === 'ipv4' ? 32 : 128
  if (/^\d{1,3}$/.test(bits) && Number(bits) <= most) return Number(bits)
  throw ConfigError.wrong(
    path,
    entry,
    `a network of 0 to ${most} bits, such as ${most === 32 ? "'10.0.0.0/8'" : "'2001:db8::/32'"}`,
  )
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
