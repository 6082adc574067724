/** The maximum length of a shown value, in characters. */
const LONGEST_SHOWN = 80
/** The maximum length of each property name of a shown object, in characters. */
const LONGEST_NAME = 24
/** Only this many characters of a string are processed. */
const LONGEST_READ = 512
export const UNREADABLE = 'something that cannot be read'

/**
 * Describes a value for an error message, on one line of at most 80 characters. Objects are shown by their class or
 * property names only, since requests and database rows hold secrets. Passwords in URLs, tokens, and keys of a known
 * form are replaced by ***.
 */
export function show(value: unknown): string {
  return shorten(onOneLine(attempt(() => String(describe(value)), UNREADABLE)))
}

/**
 * Like `show`, but shows only the length of a string. For options whose text may be a secret, or an address that
 * contains one.
 */
export function showKind(value: unknown): string {
  return typeof value === 'string'
    ? `a string of ${value.length} ${value.length === 1 ? 'character' : 'characters'}`
    : show(value)
}

/** The path of a property, for an error: `plans.free`, `plans['a b']`. */
export function pathIn(outer: string, name: string): string {
  if (!/^[\w$-]{1,64}$/.test(name)) return `${outer}[${show(name)}]`
  return outer === '' ? name : `${outer}.${name}`
}

/**
 * Inspects a value, which can run getters and proxy traps that throw. If one does, returns `otherwise`, so that the error
 * message can still be made.
 */
export function attempt<T>(look: () => T, otherwise: T): T {
  try {
    return look()
  } catch {
    return otherwise
  }
}

/** `instanceof` that never throws: a proxy can throw when it is inspected. */
export function isA<T>(value: unknown, type: abstract new (...args: never[]) => T): value is T {
  // Not by `attempt`: this runs for every answer of a store, and a closure would cost more than the rest.
  try {
    return value instanceof type
  } catch {
    return false
  }
}

/** Replaces control characters, characters that change the direction of text, and lone surrogates. */
export function onOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '?')
}

/** Shortens a text to at most 80 characters. */
export function shorten(text: string): string {
  if (text.length <= LONGEST_SHOWN) return text
  const end = text.endsWith("'") ? "...'" : '...'
  return text.slice(0, LONGEST_SHOWN - end.length) + end
}

function describe(value: unknown): string {
  if (typeof value === 'string') return `'${hideSecrets(value)}'`
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return isClass(value) ? `the class ${value.name}` : 'a function'
  if (value instanceof Promise) return 'a promise'
  if (value instanceof Error) return value.name
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString()
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array'
  if (typeof value === 'object' && value !== null) return describeObject(value)
  return String(value)
}

/** `password=...`, in the query of a URL or alone. */
const NAMED_SECRET = /((?:pass|pwd|token|secret|key|auth|credential)[\w-]{0,32}\s{0,4}[=:]\s{0,4})[^\s&]+/gi
/** Keys of well-known services, which begin with a prefix of their own, and JSON Web Tokens. */
const KNOWN_KEY =
  /\b(?:[a-z]{2,8}_(?:live|test|prod)_|gh[a-z]_|github_pat_|glpat-|xox[a-z]-|sk-|npm_|AKIA|AIza|eyJ)[\w.~+/=-]{8,}/g

/** Hides `user:password` in URLs, credentials after `Bearer` and `Basic`, named secrets and known keys. */
function hideSecrets(text: string): string {
  return withoutUser(text)
    .slice(0, LONGEST_READ)
    .replace(/\b(bearer|basic) +\S+/gi, '$1 ***')
    .replace(NAMED_SECRET, '$1***')
    .replace(KNOWN_KEY, '***')
}

/** A password may itself have an `@`, a slash or a space, so all before the last `@` is hidden. */
function withoutUser(text: string): string {
  const end = text.lastIndexOf('@')
  if (end === -1) return text
  const [scheme = ''] = /^\s*[a-z][a-z+]{0,15}:\/\//i.exec(text) ?? []
  return `${scheme}***${text.slice(end)}`
}

function isClass(value: object): boolean {
  return /^class\b/.test(Function.prototype.toString.call(value))
}

function describeObject(value: object): string {
  const name = classOf(value)
  if (name !== undefined) return `an instance of ${name}`
  const names = Object.keys(value)
  if (names.length === 0) return 'an empty object'
  const shown = names.slice(0, 5).map((one) => hideSecrets(one).slice(0, LONGEST_NAME))
  return `an object with ${shown.join(', ')}${names.length > shown.length ? ', ...' : ''}`
}

function classOf(value: object): string | undefined {
  const prototype = Object.getPrototypeOf(value) as object | null
  if (prototype === null || prototype === Object.prototype) return undefined
  const { name } = value.constructor
  return name === 'Object' || name === '' ? undefined : String(name)
}

/** The maximum length of another program's text in a message or warning, in characters. */
const LONGEST_TEXT = 240

/**
 * Prepares another program's text, such as the error message of a Redis client, for a message or warning: on one line,
 * at most 240 characters, and without the user and password of a URL.
 */
export function foreignText(text: string): string {
  const short = text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT - 3)}...`
  return onOneLine(withoutCredentials(short, text.lastIndexOf('@') >= short.length))
}

/** Hides everything from the scheme of a URL, else from the last space, up to the last `@`. */
export function withoutCredentials(text: string, isCut = false): string {
  // If the text was cut before its `@`, the beginning of a password may be all that is left.
  const end = isCut ? text.length : text.lastIndexOf('@')
  if (end === -1) return text
  const scheme = /[a-z][a-z+]{0,15}:\/\//i.exec(text.slice(0, end))
  if (!scheme && isCut) return text
  const space = Math.max(...[' ', '\n', '\t'].map((one) => text.lastIndexOf(one, end)))
  const start = scheme ? scheme.index + scheme[0].length : space + 1
  return start === end ? text : `${text.slice(0, start)}***${text.slice(end)}`
}

/** Control characters, those that change the direction of text, line separators, and halves of pairs. */
const UNSHOWABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

/** Whether a name can be part of a sentence or a log line without changing how that reads. */
export function isShowable(name: string): boolean {
  return !UNSHOWABLE.test(name)
}
