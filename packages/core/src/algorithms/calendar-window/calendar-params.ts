import type { Calendar } from '../../calendar/calendar.js'
import type { Params, Terms } from '../limit-terms.js'

/** Four consecutive starts of windows around now, in µs by the store's clock. */
export type StartsUs = readonly [number, number, number, number]

/**
 * Parameters that change when a window ends.
 *
 * @param other a second calendar that they depend on
 */
export function paramsOf(
  calendar: Calendar,
  compute: (starts: StartsUs, others: StartsUs) => Params,
  other?: Calendar,
): Terms['paramsAt'] {
  let [known, knownOthers]: (readonly number[])[] = []
  let knownBehindMs = 0
  let params: Params = {}
  return (nowMs, behindMs = 0) => {
    const starts = calendar.startsAround(nowMs - behindMs)
    const others = other?.startsAround(nowMs - behindMs) ?? starts
    if (starts !== known || others !== knownOthers || behindMs !== knownBehindMs) {
      known = starts
      knownOthers = others
      knownBehindMs = behindMs
      const inUs = (ms: number): number => Math.round((ms + behindMs) * 1000)
      params = compute(starts.map(inUs) as unknown as StartsUs, others.map(inUs) as unknown as StartsUs)
    }
    return params
  }
}
