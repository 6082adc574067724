import type { Subject } from '../plans/subject.js'
import { IPV6_PREFIX, ipSubject, isAddress } from './ip.js'

/** For each subject made by `asAddress`, the subject as the caller gave it. */
const written = new WeakMap<Subject, Subject>()

/**
 * The subject for an id that is an IP address: the same as for a client with that address. Otherwise every address of
 * an IPv6 network would be a separate subject, and a client that owns the network would not be limited at all.
 */
export function asAddress(given: Subject): Subject {
  const subject: Subject = { ...given, id: ipSubject(String(given.id), IPV6_PREFIX), kind: 'ip' }
  written.set(subject, given)
  return subject
}

/** The subject as the caller gave it, if `asAddress` made this one; otherwise undefined. */
export function asWritten(subject: Subject): Subject | undefined {
  return subject.kind === 'ip' ? written.get(subject) : undefined
}

export function isAddressId(id: string | number | bigint): boolean {
  return typeof id === 'string' && isAddress(id)
}
