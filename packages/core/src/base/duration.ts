/** A length of time as the user wrote it: `count` times `unit`. */
export interface Duration {
  readonly count: number
  readonly unit: Unit
  /** In ms; a month counts as 30 days here, and a year as 365. */
  readonly ms: number
}

/** A unit of time. */
export type Unit = keyof typeof UNIT_MS

/** The length of each unit of time, in ms. A month counts as 30 days, and a year as 365. */
export const UNIT_MS = {
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  week: 604_800_000,
  month: 2_592_000_000,
  year: 31_536_000_000,
}

/** How users can write each unit. The first word is used in names of limits. */
const WORDS: Readonly<Record<Unit, readonly string[]>> = {
  ms: ['ms', 'millisecond', 'milliseconds'],
  s: ['second', 'seconds', 'sec', 's'],
  min: ['minute', 'minutes', 'min'],
  h: ['hour', 'hours', 'h'],
  d: ['day', 'days', 'd'],
  week: ['week', 'weeks', 'w'],
  month: ['month', 'months'],
  year: ['year', 'years'],
}
const UNIT_OF_WORD = new Map(
  Object.entries(WORDS).flatMap(([unit, words]) => words.map((word) => [word, unit as Unit] as const)),
)

/** The units of time, as error messages list them. */
export const UNITS = Object.keys(UNIT_MS).join(', ')

/** Longer texts are not matched: that takes time by the square of the length. */
const LONGEST = 100
const NOTATION = /^\s*(\d*)\s*([a-z]+)\s*$/i

/**
 * Reads a length of time: `'min'`, `'15 min'`, `'2500ms'`, or a number of ms.
 *
 * @returns undefined for anything that is not a whole number of ms, at least 1
 */
export function readDuration(text: unknown): Duration | undefined {
  if (typeof text === 'number') return duration(text, 'ms')
  if (typeof text !== 'string' || text.length > LONGEST) return undefined
  const [, count, word] = NOTATION.exec(text) ?? []
  const unit = UNIT_OF_WORD.get(word?.toLowerCase() ?? '')
  return unit && duration(Number(count || 1), unit)
}

function duration(count: number, unit: Unit): Duration | undefined {
  const ms = count * UNIT_MS[unit]
  return Number.isSafeInteger(ms) && ms >= 1 ? { count, unit, ms } : undefined
}

/** The default name of a limit with this window: `minute`, `15-minutes`, `2500-ms`. */
export function durationName({ count, unit }: Duration): string {
  if (unit === 'ms')
    return count % 1000 === 0 ? durationName({ count: count / 1000, unit: 's', ms: 0 }) : `${count}-ms`
  const [name = unit] = WORDS[unit]
  return count === 1 ? name : `${count}-${name}s`
}

/** A length of time as users write it in a limit: `min`, `15min`, `90d`. */
export function notationOf(ms: number): string {
  const units = (['d', 'h', 'min', 's', 'ms'] as const).filter((unit) => ms % UNIT_MS[unit] === 0)
  const [unit = 'ms'] = units
  const count = ms / UNIT_MS[unit]
  return count === 1 ? unit : `${count}${unit}`
}

/** The longest window of a limit, in ms. */
export const LONGEST_WINDOW_MS = 3000 * UNIT_MS.d
