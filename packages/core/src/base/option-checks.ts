import { ConfigError } from './errors.js'

/**
 * Refuses what is no object of options, or has one that does not exist: most likely a typo, whose meaning would be
 * lost in silence. Values are for the caller to check.
 *
 * @param path where the user wrote the object, for the error: `headers`; empty for the options themselves
 * @throws {ConfigError}
 */
export function needOptions(given: unknown, names: readonly string[], path = ''): void {
  if (!isOptions(given)) {
    throw ConfigError.wrong(path || 'options', given, `an object of options: ${names.join(', ')}`)
  }
  // Not Object.keys, which makes an array: requests pass here too.
  for (const name in given) {
    if (names.includes(name) || !Object.hasOwn(given, name)) continue
    throw ConfigError.wrong(path ? `${path}.${name}` : name, name, expectedOf(name, names))
  }
}

function expectedOf(name: string, names: readonly string[]): string {
  const meant = nearestOf(name, names)
  const all = `an option that there is: ${names.join(', ')}`
  return meant === undefined ? all : `${meant}, or another ${all.slice('an '.length)}`
}

/** Which of some names was most likely meant: one that differs in nothing but case, else in one letter. */
export function nearestOf(given: string, names: readonly string[]): string | undefined {
  const lower = given.trim().toLowerCase()
  return (
    names.find((name) => name.toLowerCase() === lower) ??
    names.find((name) => isTypo(lower, name.toLowerCase()))
  )
}

/** Whether one letter was left out, added, changed, or changed places with the next. */
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
 * An object that can hold options: no array, Date, Map, promise or the like, also not of another realm, nor one of a
 * class, whose inherited options would be read here and missed there.
 */
export function isOptions(given: unknown): given is object {
  if (Object.prototype.toString.call(given) !== '[object Object]') return false
  const prototype = Object.getPrototypeOf(given) as object | null
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
