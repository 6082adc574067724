import type { Subject } from '../plans/subject.js'
import { IPV6_PREFIX, ipSubject, isAddress } from './ip.js'

/** Subjects whose id was written as an address, each with the subject as it was given. */
const written = new WeakMap<Subject, Subject>()

/**
 * An id that is an address counts as that client. As plain text every address of an IPv6 network would be a subject of
 * its own, and a client that has the whole network would not be limited at all.
 */
export function asAddress(given: Subject): Subject {
  const subject: Subject = { ...given, id: ipSubject(String(given.id), IPV6_PREFIX), kind: 'ip' }
  written.set(subject, given)
  return subject
}

/** The subject as its caller wrote it, if its id was written as an address; else undefined. */
export function asWritten(subject: Subject): Subject | undefined {
  return subject.kind === 'ip' ? written.get(subject) : undefined
}

export function isAddressId(id: string | number | bigint): boolean {
  return typeof id === 'string' && isAddress(id)
}
