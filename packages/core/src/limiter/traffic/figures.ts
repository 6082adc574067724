import { elapsedMs } from '../../base/timers.js'
import type { Target } from '../../features/rules/rule-options.js'
import type { Decision, LimitState } from '../decision/decision.js'
import { byCount, type Seen, TopSketch } from './top-sketch.js'

/** Figures are of this window and the one before it. */
const WINDOW_MS = 30_000
const MOST_BUSY = 200
const MOST_DENIED = 150
const MOST_NEAR = 150

/** The largest counts of a sketch. No subject that is not in it has a larger one than `floor`. */
export interface Top {
  readonly entries: readonly Seen[]
  readonly floor: number
}

/** How near a subject came to a limit. */
export interface SubjectShare {
  readonly subject: string
  readonly plan: string
  readonly limit: string
  /** The highest share of the limit that it was seen to use: 1 is all of it. Above 1 only for a limit with `overage`. */
  readonly share: number
  /** Quota units used, and the quota, at that time. */
  readonly used: number
  readonly quota: number
}

export interface Near extends SubjectShare {
  readonly key: string
}

/** The figures of some time, of one process or of several. */
export interface Figures {
  /** How long that is, in ms: the longest, if processes differ. */
  readonly coversMs: number
  readonly requests: number
  readonly denied: number
  readonly busiest: Top
  readonly mostDenied: Top
  readonly nearest: readonly Near[]
}

/** What one process has seen lately of the requests that it counted. */
export class SeenLately {
  #now = new Window(elapsedMs())
  #before: Window | undefined

  /** @param weight how many requests this one stands for */
  note(decision: Decision, weight: number, target: Target): void {
    this.#turn()
    this.#now.note(decision, weight, target)
  }

  figures(): Figures {
    this.#turn()
    const windows = this.#before ? [this.#before, this.#now] : [this.#now]
    const nowMs = elapsedMs()
    return { ...merge(windows.map((one) => one.figures())), coversMs: nowMs - (windows[0] as Window).sinceMs }
  }

  #turn(): void {
    const nowMs = elapsedMs()
    const age = nowMs - this.#now.sinceMs
    if (age < WINDOW_MS) return
    this.#before = age < 2 * WINDOW_MS ? this.#now : undefined
    this.#now = new Window(nowMs)
  }
}

class Window {
  readonly sinceMs: number
  #requests = 0
  #denied = 0
  #rarest = 1
  readonly #busiest = new TopSketch(MOST_BUSY)
  readonly #mostDenied = new TopSketch(MOST_DENIED)
  readonly #nearest = new Map<string, Near>()
  /** No lower share is kept of a subject that is not there yet. */
  #leastNear = 0

  constructor(sinceMs: number) {
    this.sinceMs = sinceMs
  }

  note(decision: Decision, weight: number, target: Target): void {
    const { plan, cost, allowed } = decision
    this.#requests += weight
    this.#rarest = Math.max(this.#rarest, weight)
    const seen = this.#busiest.add(target, weight)
    seen.plan = plan
    if (allowed) seen.units += cost * weight
    else {
      seen.denied += weight
      this.#denied += weight
      this.#mostDenied.add(target, weight).plan = plan
    }
    const used = mostUsed(decision)
    if (used) this.#noteNear(decision, used, target)
  }

  #noteNear({ plan }: Decision, state: LimitState, { what: key, of: subject }: Target): void {
    const share = shareOf(state)
    const known = this.#nearest.get(key)
    if (share < (known?.share ?? this.#leastNear)) return
    const { name: limit, used, over = 0, quota } = state
    this.#nearest.set(key, { key, subject, plan, limit, share, used: used + over, quota })
    // To sort half of them out at once takes less time than to find the least for each.
    if (this.#nearest.size > 2 * MOST_NEAR) this.#forgetFar()
  }

  #forgetFar(): void {
    const far = byShare(this.#nearest).slice(MOST_NEAR)
    this.#leastNear = far[0]?.share ?? 0
    for (const { key } of far) this.#nearest.delete(key)
  }

  figures(): Omit<Figures, 'coversMs'> {
    const top = (sketch: TopSketch): Top => {
      const entries = sketch
        .entries()
        .map((one) => ({ ...one, error: one.error + this.#samplingError(one.count) }))
      return { entries, floor: sketch.floor }
    }
    return {
      ...{ requests: this.#requests, denied: this.#denied },
      ...{ busiest: top(this.#busiest), mostDenied: top(this.#mostDenied) },
      nearest: byShare(this.#nearest).slice(0, MOST_NEAR),
    }
  }

  /** Two standard deviations of a count in which each request that was counted stands for several. */
  #samplingError(count: number): number {
    return Math.ceil(2 * Math.sqrt((this.#rarest - 1) * count))
  }
}

function byShare(nearest: ReadonlyMap<string, Near>): Near[] {
  return [...nearest.values()].toSorted((a, b) => b.share - a.share)
}

/** The limit of a decision that is used most. */
function mostUsed({ limits }: Decision): LimitState | undefined {
  let most: LimitState | undefined
  for (const limit of limits) if (shareOf(limit) > (most ? shareOf(most) : 0)) most = limit
  return most
}

function shareOf({ used, remaining, over = 0 }: LimitState): number {
  return used + remaining > 0 ? (used + over) / (used + remaining) : 0
}

/** Figures of several times or processes as one. */
export function merge(all: readonly Omit<Figures, 'coversMs'>[]): Omit<Figures, 'coversMs'> {
  const nearest = new Map<string, Near>()
  for (const near of all.flatMap((one) => one.nearest)) {
    if (near.share >= (nearest.get(near.key)?.share ?? 0)) nearest.set(near.key, near)
  }
  return {
    requests: all.reduce((sum, { requests }) => sum + requests, 0),
    denied: all.reduce((sum, { denied }) => sum + denied, 0),
    busiest: mergeTops(all.map(({ busiest }) => busiest)),
    mostDenied: mergeTops(all.map(({ mostDenied }) => mostDenied)),
    nearest: byShare(nearest),
  }
}

function mergeTops(tops: readonly Top[]): Top {
  const floor = tops.reduce((sum, top) => sum + top.floor, 0)
  const merged = new Map<string, Seen>()
  for (const { entries, floor: own } of tops) {
    for (const one of entries) {
      // Where it is missing, it may have as much as the smallest that is there.
      const known = merged.get(one.key) ?? { ...one, count: 0, error: floor, units: 0, denied: 0 }
      merged.set(one.key, {
        ...{ key: one.key, subject: one.subject, plan: one.plan },
        count: known.count + one.count,
        error: known.error - own + one.error,
        units: known.units + one.units,
        denied: known.denied + one.denied,
      })
    }
  }
  return { entries: [...merged.values()].toSorted(byCount), floor }
}

/** The first of each list. */
export function firstOf(figures: Figures, most: number): Figures {
  const cut = ({ entries, floor }: Top): Top => ({
    entries: entries.slice(0, most),
    // A count can be too low by its error, if it is of several times or processes.
    floor: entries.slice(most).reduce((highest, { count, error }) => Math.max(highest, count + error), floor),
  })
  const { busiest, mostDenied, nearest } = figures
  return { ...figures, busiest: cut(busiest), mostDenied: cut(mostDenied), nearest: nearest.slice(0, most) }
}
