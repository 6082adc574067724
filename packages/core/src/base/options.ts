import { ConfigError, OPTIONS_PAGE } from './errors.js'
import { quiet } from './promises.js'
import { pathIn, show } from './show.js'

/** The options that a call accepts, and what to write in place of others. */
export interface KnownOptions {
  readonly names: readonly string[]
  /** The shortest correct use, for the error message. Default: the names. */
  readonly example?: string | undefined
  /** What to write in place of an unknown option, such as `write headers: { legacy: 'epoch' }`; undefined if not known. */
  readonly remedyOf?: ((name: string) => string | undefined) | undefined
  /** The error for an option's value given in place of the options, such as a store; undefined if it is no such value. */
  readonly errorOfWhole?: ((given: unknown, example: string) => ConfigError | undefined) | undefined
  /** One error for all unknown options together, if they are those of another package. */
  readonly errorOf?: ((given: object, unknown: readonly string[]) => ConfigError | undefined) | undefined
}

/** An error lists at most this many names. */
const MOST_LISTED = 6
/** How many unknown options one error names; it counts the rest. */
const MOST_REPORTED = 3

/**
 * Refuses anything but an object, and options that do not exist: an unknown option is most likely a typo, and ignoring
 * it would hide the mistake. The caller checks the values.
 *
 * @param path where the user wrote the object, for the error: `headers`; empty for the options themselves
 * @throws {ConfigError} that says which option may have been meant
 */
export function needOptions(given: unknown, known: readonly string[] | KnownOptions, path = ''): void {
  const names = 'names' in known ? known.names : known
  if (!isOptions(given)) throw notOptions(given, 'names' in known ? known : { names }, path || 'options')
  // `for in`, since Object.keys allocates an array, and this also runs for every request.
  for (const name in given) {
    if (names.includes(name) || !Object.hasOwn(given, name)) continue
    throw unknownOptions(given, 'names' in known ? known : { names }, path)
  }
}

function notOptions(
  given: unknown,
  { names, example, errorOfWhole }: KnownOptions,
  path: string,
): ConfigError {
  const such = example === undefined ? listed(': ', names) : `, such as ${example}`
  return errorOfWhole?.(given, example ?? '') ?? ConfigError.wrong(path, given, `an object of options${such}`)
}

function unknownOptions(given: object, known: KnownOptions, path: string): ConfigError {
  const unknown = Object.keys(given).filter((name) => !known.names.includes(name))
  const asWhole = known.errorOf?.(given, unknown)
  if (asWhole) return asWhole
  const reported = unknown.slice(0, MOST_REPORTED).map((name) => {
    const remedy = known.remedyOf?.(name) ?? nearest(name, known.names)
    return new ConfigError(pathIn(path, name), `there is no such option here; ${remedy}`)
  })
  const [first, ...rest] = reported as [ConfigError, ...ConfigError[]]
  const more = unknown.length > reported.length ? [`and ${unknown.length - reported.length} more`] : []
  const problems = [first.problem, ...rest.map(({ message }) => message), ...more]
  return new ConfigError(first.path, problems.join('; '))
}

function nearest(name: string, names: readonly string[]): string {
  const meant = nearestOf(name, names)
  if (meant !== undefined) return `did you mean ${meant}?`
  return listed('there are ', names) || `all options are at ${OPTIONS_PAGE}`
}

/** The known name that differs by one letter, by case, or by `_` and `-`; undefined if there is none. */
export function nearestOf(name: string, names: readonly string[]): string | undefined {
  const given = plainName(name)
  return names.find((known) => isTypo(given, plainName(known)))
}

/**
 * What an error suggests in place of a name that does not exist: the one most likely meant, or else some of the names.
 *
 * @param what such as `the name of a plan`
 */
export function expectedName(given: unknown, names: readonly string[], what: string): string {
  const meant = typeof given === 'string' ? nearestOf(given, names) : undefined
  if (meant !== undefined) return show(meant)
  const shown = names.slice(0, MOST_LISTED).map(show).join(', ')
  return `${what}: ${shown}${names.length > MOST_LISTED ? ', ...' : ''}`
}

/** A name without case, `_` and `-`. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[_-]/g, '')
}

function listed(before: string, names: readonly string[]): string {
  return names.length > MOST_LISTED ? '' : before + names.join(', ')
}

/** Whether the words differ by one letter: left out, added, changed, or swapped with its neighbour. */
function isTypo(given: string, meant: string): boolean {
  let same = 0
  while (same < meant.length && given[same] === meant[same]) same += 1
  const rest = given.slice(same)
  const wanted = meant.slice(same)
  const swapped = (wanted[1] ?? '') + (wanted[0] ?? '') + wanted.slice(2)
  return (
    [wanted, wanted.slice(1), swapped].includes(rest) || [wanted, wanted.slice(1)].includes(rest.slice(1))
  )
}

/**
 * Checks a store's option `now`: undefined, or a function that returns ms since 1970. Calls it once, since a promise would
 * count nothing and could end the process.
 *
 * @throws {ConfigError} when it is anything else
 */
export function needClock(now: unknown): void {
  if (now === undefined) return
  const expected = 'a function that returns ms since 1970: () => Date.now()'
  if (typeof now !== 'function') throw ConfigError.wrong('now', now, expected)
  const first: unknown = now()
  if (Number.isFinite(first)) return
  quiet(first)
  throw ConfigError.wrong('what now returned', first, 'a time in ms, and no promise: () => Date.now()')
}

/** An option without `undefined` among its values. */
export type Given<T> = { readonly [Name in keyof T]: Exclude<T[Name], undefined> }

/** The options without those that are undefined, which means not given. Spread them over defaults. */
export function givenOf<T extends object>(options: T): Given<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>
}

/**
 * Whether this is a plain object, even one from another realm. Arrays, Dates, Maps and promises are not. Neither are objects of
 * a class: some code would see their inherited options, other code would not.
 */
export function isOptions(given: unknown): given is object {
  try {
    if (Object.prototype.toString.call(given) !== '[object Object]') return false
    const prototype = Object.getPrototypeOf(given) as object | null
    return prototype === null || Object.getPrototypeOf(prototype) === null
  } catch {
    // A proxy can throw when it is inspected.
    return false
  }
}

/** Whether it is a safe integer within these bounds. */
export function isWhole(given: unknown, least: number, most = Number.MAX_SAFE_INTEGER): given is number {
  return Number.isSafeInteger(given) && (given as number) >= least && (given as number) <= most
}

/** The bounds of a whole number, and how an error describes it: `a whole number of ms from 1 to 60000, such as 100`. */
export interface WholeNumber {
  readonly of?: string
  readonly least: number
  readonly most?: number
  readonly such?: number
}

/** @throws {ConfigError} when an option is given and is not a whole number in these bounds */
export function needWhole(path: string, given: unknown, { of, least, most, such }: WholeNumber): void {
  if (given === undefined || isWhole(given, least, most)) return
  const bounds = most === undefined ? `from ${least}` : `from ${least} to ${most}`
  const example = such === undefined ? '' : `, such as ${such}`
  throw ConfigError.wrong(path, given, `a whole number${of ? ` of ${of}` : ''} ${bounds}${example}`)
}

/** @throws {ConfigError} when an option is given and is neither true nor false */
export function needBoolean(path: string, given: unknown): void {
  if (given !== undefined && typeof given !== 'boolean') throw ConfigError.wrong(path, given, 'true or false')
}

/** The largest quota, burst or cost that options allow, in units. */
export const MOST_UNITS = 1e12

export function isUnits(value: unknown): value is number {
  return isWhole(value, 1, MOST_UNITS)
}

/** This share (0 to 1) of the units, rounded down, but at least 1. */
export function shareOfUnits(units: number, share: number): number {
  return Math.max(Math.floor(units * share), 1)
}

/**
 * @param example how users pass it: `process.env.ID_SECRET`
 * @throws {ConfigError} when it is not a secret of 16 characters or more; the error never shows the secret
 */
export function needSecret(path: string, given: unknown, example: string): void {
  if (typeof given === 'string' && given.length >= 16) return
  const expected = `a secret string of at least 16 characters, such as ${example}`
  throw ConfigError.wrongSecret(path, given, expected)
}
