import { ConfigError, type Limiter, type Subject } from '@tollgate/core'
import type { Attributes } from './instruments.js'

/** Returns the attribute `tollgate.subject.id` for the subject that pays, or undefined for none. Called for every decision. */
export type SubjectAttribute = (subject: Subject) => string | undefined

/** How to record. */
export interface Settings {
  /** Those of all series. */
  readonly attributes: Attributes
  readonly subjectOf: SubjectAttribute | undefined
}

export const NAME = '@tollgate/metrics'
/** The version of this package. A test compares it with package.json. */
export const VERSION = '0.1.0'

/**
 * @param names   those of the options that there are
 * @param example what would be right
 * @throws {ConfigError} when it is not an object of these options
 */
export function checkOptions(options: object, names: readonly string[], example: string): void {
  if (!isPlainObject(options))
    throw ConfigError.wrong('options', options, `an object of options, such as ${example}`)
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new ConfigError(nameOf(unknown), `there is no such option here; there are ${names.join(', ')}`)
}

/** @throws {ConfigError} when it is not a limiter */
export function needLimiter(given: unknown): asserts given is Limiter {
  if (hasMethods(given, ['on', 'off', 'stats', 'health'])) return
  throw ConfigError.wrong(
    'limiter',
    given,
    'what createLimiter returned, or rateLimit(...).limiter of an adapter',
  )
}

/** @throws {ConfigError} when the option `subjectAttribute` is wrong */
export function readSubjectAttribute(given: boolean | SubjectAttribute): SubjectAttribute | undefined {
  if (typeof given === 'function') return given
  if (given === true) return idOf
  if (given === false) return undefined
  throw ConfigError.wrong(
    'subjectAttribute',
    given,
    'true, false, or a function that returns a string or undefined: ({ id }) => String(id)',
  )
}

/** The subject's id; none for client addresses, which are many and are personal data. */
function idOf({ id, kind }: Subject): string | undefined {
  return kind === 'ip' ? undefined : String(id)
}

/** A name as error messages show it: in printable ASCII, with at most 64 characters. */
export function nameOf(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '?').slice(0, 64)
}

export function hasMethods(given: unknown, names: readonly string[]): boolean {
  const object = (given ?? {}) as Record<string, unknown>
  return names.every((name) => typeof object[name] === 'function')
}

export function isPlainObject(given: unknown): boolean {
  return Object.prototype.toString.call(given) === '[object Object]'
}
