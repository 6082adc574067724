import { BlockList, isIP } from 'node:net'
import { ConfigError } from '../base/errors.js'
import { chain, isPromise, type MaybePromise } from '../base/maybe-promise.js'
import type { Subject } from '../plans/subject.js'
import { plainIp } from '../requests/ip.js'

/** The entries of a list: ids, client addresses and networks (`'10.0.0.0/8'`). Or a function that checks a subject. */
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
export function compileList<Req>(path: string, given: ListOption<Req>): List<Req> {
  if (typeof given === 'function') {
    return {
      hasAddresses: false,
      has: (subjects, _, req) => anyOf(subjects, (subject) => given(subject, req)),
    }
  }
  if (!Array.isArray(given))
    throw ConfigError.wrong(
      path,
      given,
      "a list of ids, addresses and networks, such as ['acme', '10.0.0.0/8'], or a function",
    )
  const ids = new Set<string>()
  const addresses = new BlockList()
  Array.from(given).forEach((entry: unknown, i) => {
    if (typeof entry !== 'string' || entry === '')
      throw ConfigError.wrong(`${path}[${i}]`, entry, "an id, an address, or a network such as '10.0.0.0/8'")
    const [given = '', bits, more] = entry.split('/')
    const base = bits === undefined ? plainIp(given) : given
    const family = isIP(base) === 6 ? 'ipv6' : 'ipv4'
    if (!isIP(base) || more !== undefined) ids.add(needId(`${path}[${i}]`, entry))
    else if (bits === undefined) addresses.addAddress(base, family)
    else addresses.addSubnet(base, needBits(`${path}[${i}]`, entry, bits, family), family)
  })
  const isListed = (address: string): boolean => {
    const ip = plainIp(address)
    return isIP(ip) !== 0 && addresses.check(ip, isIP(ip) === 6 ? 'ipv6' : 'ipv4')
  }
  return {
    hasAddresses: addresses.rules.length > 0,
    has: (subjects, address) =>
      subjects.some(({ id, kind }) => kind !== 'ip' && ids.has(String(id))) ||
      (address !== undefined && isListed(address)),
  }
}

/** Looks like an address or a network but is not valid. As an id it would match nobody. */
const MISWRITTEN = /^(?:\d+(?:\.\d+){3}|[\d.]+\/.*|[\da-f:.]*(?:::|(?::[\da-f]*){7})[\da-f:.]*(?:\/.*)?)$/i

function needId(path: string, entry: string): string {
  if (entry.trim() === entry && !MISWRITTEN.test(entry)) return entry
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
