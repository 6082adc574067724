import { isIP } from 'node:net'
import type { OwnLimits } from '../../plans/own-limits.js'
import type { Subject } from '../../plans/subject.js'
import { IPV6_PREFIX, ipSubject, isAddress, plainIp } from './ip.js'

/** For each subject that is counted under another id than was given, the subject as it was given. */
const written = new WeakMap<Subject, Subject>()

/** The subject that is counted where one was given: of an address its client or network; any other stays. */
export function atAddress(given: Subject): Subject {
  const { id, kind } = given
  if (typeof id !== 'string' || kind === 'id') return given
  if (kind === 'ip') return asNetwork(given, id)
  return isAddress(id) ? asAddress(given, id) : given
}

/**
 * The subject for an id that is an IP address: the same as for a client with that address. Otherwise every address of
 * an IPv6 network would be a separate subject, and a client that owns the network would not be limited at all.
 */
function asAddress(given: Subject, id: string): Subject {
  return keepWritten({ ...given, id: ipSubject(id, IPV6_PREFIX), kind: 'ip' }, given)
}

/**
 * The same of an id that is said to be an address, in any form that `subjectOfIp` takes. What is counted already as it
 * is stays: the network of an address, of whatever length, and the path of a socket.
 */
function asNetwork(given: Subject, id: string): Subject {
  // Each request of `byIp` comes by here.
  if (isIP(id) === 4 || isIP(plainIp(id)) === 0) return given
  const network = ipSubject(id, IPV6_PREFIX)
  return network === id ? given : keepWritten({ ...given, id: network }, given)
}

/** Remembers how a subject was written. */
export function keepWritten(subject: Subject, given: Subject): Subject {
  written.set(subject, given)
  return subject
}

/** The subject with limits in place of its plan. It stays known how it was written. */
export function withLimits(subject: Subject, limits: OwnLimits): Subject {
  const given = written.get(subject)
  const own = { ...subject, plan: undefined, limits }
  return given ? keepWritten(own, given) : own
}

/** The subject as the caller gave it, if only the form of its id said that it is an address; otherwise undefined. */
export function asWritten(subject: Subject): Subject | undefined {
  const given = subject.kind === 'ip' ? written.get(subject) : undefined
  return given?.kind === 'ip' ? undefined : given
}

/** The address or network that a subject of kind `ip` was given by. */
export function addressOf(subject: Subject): string {
  return String((written.get(subject) ?? subject).id)
}
