// Reads figures of a run: medians, ratios that pair up by the round, and whether a section is quiet enough to judge.
import { median, paired, quantile } from '../../kit/statistics.mjs'

/** The values of a figure of a row, one a round; undefined when that was not measured. */
export function valuesOf(run, { section, grid, row, figure }) {
  return run.sections[section]?.grids?.[grid]?.[row]?.[figure]
}

/** A median, with quartiles. */
export function summary(values) {
  return {
    low: quantile(values, 0.25),
    middle: median(values),
    high: quantile(values, 0.75),
    count: values.length,
  }
}

/** The ratio to a row of the same grid, round by round; undefined when one of them was not measured. */
export function ratioOf(run, at, to) {
  const [values, reference] = [valuesOf(run, at), valuesOf(run, { ...at, row: to })]
  return values && reference && summary(paired(values, reference))
}

/** The control is the reference measured twice: it may differ by this much, or the table is not judged. */
export const MOST_OFF = 0.1
export const MOST_SPREAD = 0.25

/**
 * @param layout a table of layout.mjs
 * @returns the ratio of the table's reference to itself, with `isNoisy`; undefined where nothing was measured twice
 */
export function controlOf(run, section, { grid, columns, reference, control, judged: figure }) {
  // In the direction of the table, so that both tell the same number.
  const isInverse = columns.some((column) => column.figure === figure && column.isInverse)
  const [row, to] = isInverse ? [reference, control] : [control, reference]
  const ratio = control && ratioOf(run, { section, grid, row, figure }, to)
  if (!ratio) return undefined
  const isOff = Math.abs(ratio.middle - 1) > MOST_OFF
  return { ...ratio, isNoisy: isOff || ratio.low < 1 - MOST_SPREAD || ratio.high > 1 + MOST_SPREAD }
}

/** Three digits, and thousands without a fraction. */
export function digits(value) {
  if (value >= 1000) return Math.round(value).toLocaleString('en')
  if (value >= 100) return value.toFixed(0)
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** `1.52 [1.40 to 1.61]`; the median alone where there is one value, or they are all equal. */
export function spread({ low, middle, high }) {
  if (digits(low) === digits(high)) return digits(middle)
  return `${digits(middle)} [${digits(low)} to ${digits(high)}]`
}
