import { isOptions } from '../base/option-checks.js'

/** A copy of what a user gave for a plan, which stays as it is when the user changes theirs. */
export function copyInput(given: unknown): unknown {
  if (typeof given !== 'object' || given === null) return given
  if (given instanceof Date) return new Date(given)
  if (Array.isArray(given)) return given.map(copyInput)
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, copyInput(value)]))
}

/**
 * Whether a copy is of what is given now. In doubt it is not: text of a date is no Date, and NaN, null and undefined
 * are three things. Functions are the same only when they are the same object.
 *
 * @param kept a copy of something that was found right, so it is not deep
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
