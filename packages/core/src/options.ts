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
    throw new ConfigError(path || 'options', given, `an object of options: ${names.join(', ')}`)
  }
  // Not Object.keys, which makes an array: requests pass here too.
  for (const name in given) {
    if (names.includes(name) || !Object.hasOwn(given, name)) continue
    throw new ConfigError(path ? `${path}.${name}` : name, name, `one of ${names.join(', ')}`)
  }
}

/** An object that can hold options: no array, Date, Map, promise or the like, also not of another realm. */
export function isOptions(given: unknown): given is object {
  return Object.prototype.toString.call(given) === '[object Object]'
}
