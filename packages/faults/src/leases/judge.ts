// What may be said of the requests of all processes from outside. Where one took its unit is known only to lie in the span
// of its decision, so all counts here are at most the truth.
import type { Bound } from './plans.ts'
import { KIND, type Seen } from './record.ts'

/** From `from` to `to` the store lost its counts, or the plan changed. Both in µs. */
export interface Break {
  readonly from: number
  readonly to: number
  /** How many more times the bound may be let in around it. */
  readonly more: number
  /** What holds afterwards, if that changes. */
  readonly after?: readonly Bound[] | undefined
}

export interface Verdict {
  /** The most that was let in, as a share of the bound that is nearest to being reached. */
  readonly nearest: number
  readonly violations: readonly string[]
}

/** @param breaks in order; before, between and after them the bounds hold by themselves */
export function judge(seen: readonly Seen[], bounds: readonly Bound[], breaks: readonly Break[]): Verdict {
  const admitted = seen.filter(({ kind }) => kind !== KIND.denied)
  const violations: string[] = []
  let nearest = 0
  const need = (part: readonly Seen[], bound: Bound, times: number, when: string): void => {
    const most = mostOf(part, bound)
    const allowed = times * ('burst' in bound ? bound.burst : bound.units)
    nearest = Math.max(nearest, most / allowed)
    // A level has rounding errors of the clocks: less than a µs for each of the two ends.
    if (most > allowed + ('burst' in bound ? 2 * bound.unitsPerUs : 0))
      violations.push(`${most.toFixed(2)} let in ${when}, bound ${allowed} (${JSON.stringify(bound)})`)
  }
  const times = breaks.reduce((sum, { more }) => sum + more, 1)
  for (const bound of bounds) need(admitted, bound, times, 'in all')
  let since = -Infinity
  let holding = bounds
  for (const { from, to, after } of [...breaks, { from: Infinity, to: Infinity, after: undefined }]) {
    const part = admitted.filter((one) => one.from >= since && one.to < from)
    for (const bound of holding) need(part, bound, 1, since < 0 ? 'before' : 'after')
    since = to
    holding = after ?? holding
  }
  return { nearest, violations }
}

function mostOf(seen: readonly Seen[], bound: Bound): number {
  const froms = Float64Array.from(seen, ({ from }) => from).sort()
  const tos = Float64Array.from(seen, ({ to }) => to).sort()
  return 'burst' in bound
    ? highestLevel(froms, tos, bound.unitsPerUs)
    : mostInWindow(froms, tos, bound.windowUs)
}

/**
 * Of every window that begins with a request: the requests that had ended in it, less those that had begun before it.
 * Requests that lie over the whole window are missing in that.
 */
export function mostInWindow(froms: Float64Array, tos: Float64Array, windowUs: number): number {
  let most = 0
  let ended = 0
  for (let before = 0; before < froms.length; before += 1) {
    if (before > 0 && froms[before] === froms[before - 1]) continue
    const end = (froms[before] as number) + windowUs
    while (ended < tos.length && (tos[ended] as number) < end) ended += 1
    most = Math.max(most, ended - before)
  }
  return most
}

/** The greatest, over all times s before e, of what was let in from s to e less what drained meanwhile. */
export function highestLevel(froms: Float64Array, tos: Float64Array, unitsPerUs: number): number {
  let [highest, least, before] = [0, 0, 0]
  for (let ended = 0; ended < tos.length; ended += 1) {
    const end = tos[ended] as number
    for (; before < froms.length && (froms[before] as number) <= end; before += 1) {
      const level = before - unitsPerUs * (froms[before] as number)
      least = before === 0 ? level : Math.min(least, level)
    }
    highest = Math.max(highest, ended + 1 - unitsPerUs * end - least)
  }
  return highest
}

/** A lease that serves nothing for this long, in µs, is held by no process, or by one that does not need it. */
const IDLE_US = 50_000

/**
 * The longest, for each process, in µs: it was denied and not let in again while other processes served units from leases,
 * without a break.
 */
export function longestWithout(seen: readonly Seen[], processes: number): number[] {
  const longest = new Array<number>(processes).fill(0)
  const waits = Array.from({ length: processes }, () => ({ isDenied: false, since: 0, last: -Infinity }))
  for (const { kind, by, from, to } of seen.toSorted((a, b) => a.to - b.to)) {
    const own = waits[by]
    if (own)
      Object.assign(own, kind === KIND.denied ? { isDenied: true } : { isDenied: false, last: -Infinity })
    if (kind !== KIND.lease) continue
    for (const [i, wait] of waits.entries()) {
      if (i === by || !wait.isDenied) continue
      if (from - wait.last > IDLE_US) wait.since = from
      wait.last = to
      longest[i] = Math.max(longest[i] ?? 0, from - wait.since)
    }
  }
  return longest
}
