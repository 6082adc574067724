/**
 * The value of a counter in Memcached: the units used in one window, and a number drawn when the counter was made. Both are in
 * one number of 53 bits, since one command must change and return them.
 *
 * The drawn number shows a process that a counter it knows was lost and made again. Units go below 0 if a counter is lost
 * between a request and its refund. The value then still has the same draw.
 */
const SPAN = 2 ** 40
/** The value of no units. What is below it is less than none. */
const NONE = 2 ** 36
const DRAWS = 2 ** 13 - 2
/** The draw of a counter that was made by a reset: what was in it before is not put back. */
export const RESET = DRAWS + 1

/** The most units that a counter holds. */
export const MOST_UNITS = SPAN - NONE - 1
/**
 * The largest quota. While requests that do not fit are decided, a counter holds their units, too: those of a hundred batches that ask
 * for a whole quota each.
 */
export const LARGEST_QUOTA = 10_000_000_000

export interface CellValue {
  readonly draw: number
  readonly units: number
}

export function encodeCell({ draw, units }: CellValue): number {
  return draw * SPAN + NONE + units
}

/** @returns undefined if it was not written by `encodeCell` */
export function decodeCell(value: number): CellValue | undefined {
  if (!Number.isSafeInteger(value) || value < SPAN) return undefined
  const draw = Math.floor(value / SPAN)
  return { draw, units: value - draw * SPAN - NONE }
}

/** A random draw that differs from a known one. */
export function newDraw(known: number | undefined): number {
  const draw = 1 + Math.floor(Math.random() * DRAWS)
  return draw === known ? (draw % DRAWS) + 1 : draw
}
