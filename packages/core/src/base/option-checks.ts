import { ConfigError } from './errors.js'

/**
 * Refuses anything but an object, and options that do not exist: an unknown option is most likely a typo, and to ignore
 * it would hide the mistake. The caller checks the values.
 *
 * @param path where the user wrote the object, for the error: `headers`; empty for the options themselves
 * @throws {ConfigError}
 */
export function needOptions(given: unknown, names: readonly string[], path = ''): void {
  if (!isOptions(given)) {
    throw ConfigError.wrong(path || 'options', given, `an object of options: ${names.join(', ')}`)
  }
  // `for in`, since Object.keys allocates an array, and this also runs once per request.
  for (const name in given) {
    if (names.includes(name) || !Object.hasOwn(given, name)) continue
    throw ConfigError.wrong(path ? `${path}.${name}` : name, name, expectedOf(name, names))
  }
}

function expectedOf(name: string, names: readonly string[]): string {
  const meant = names.find((known) => isTypo(name.toLowerCase(), known.toLowerCase()))
  const all = `an option that there is: ${names.join(', ')}`
  return meant === undefined ? all : `${meant}, or another ${all.slice('an '.length)}`
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
 * Whether this is a plain object, also one of another realm. Arrays, Dates, Maps and promises are not. Neither are
 * objects of a class: some code would see their inherited options, other code would not.
 */
export function isOptions(given: unknown): given is object {
  if (Object.prototype.toString.call(given) !== '[object Object]') return false
  const prototype = Object.getPrototypeOf(given) as object | null
  return prototype === null || Object.getPrototypeOf(prototype) === null
}
