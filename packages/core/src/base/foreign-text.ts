import { onOneLine } from './show.js'

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
