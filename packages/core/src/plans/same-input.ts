import { isOptions } from '../base/options.js'

/** Copies a user's input for a plan, so that the user can change the original. */
export function copyInput(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given
  if (given instanceof Date) return new Date(given)
  if (Array.isArray(given)) return given.map(copyInput)
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, copyInput(value)]))
}

/**
 * Whether a copy equals the given input. In doubt it does not: a Date differs from its text, and NaN, null and
 * undefined differ from each other. Functions are equal only if they are the same object.
 *
 * @param kept a copy of a valid plan, so it is not deep
 */
export function isSameInput(kept: unknown, given: unknown): boolean {
  if (typeof kept !== 'object' || kept === null) return Object.is(kept, given)
  if (kept instanceof Date) return given instanceof Date && kept.getTime() === given.getTime()
  if (Array.isArray(kept)) {
    if (!Array.isArray(given) || given.length !== kept.length) return false
    return kept.every((one, i) => isSameInput(one, given[i]))
  }
  if (!isOptions(given)) return false
  let names = 0
  for (const name in given) {
    if (!Object.hasOwn(kept, name)) return false
    if (!isSameInput(kept[name as keyof typeof kept], given[name as keyof typeof given])) return false
    names += 1
  }
  return names === Object.keys(kept).length
}
