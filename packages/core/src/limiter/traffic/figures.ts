import { elapsedMs } from '../../base/timers.js'
import type { Target } from '../../features/rules/rule-options.js'
import type { Decision, LimitState } from '../decision/decision.js'
import { byCount, type Seen, TopSketch } from './top-sketch.js'

/** Figures are of a minute, in parts: the oldest goes when a new one begins, so that totals hardly jump. */
const [MINUTE_MS, PART_MS] = [60_000, 10_000]
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
  /** Quota units used, and the quota with its burst and top-ups, at that time. */
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
  #parts = [new Window(elapsedMs())]

  /** @param weight how many requests this one stands for */
  note(decision: Decision, weight: number, target: Target): void {
    this.#turn(elapsedMs()).note(decision, weight, target)
  }

  figures(): Figures {
    const nowMs = elapsedMs()
    this.#turn(nowMs)
    const coversMs = nowMs - (this.#parts[0] as Window).sinceMs
    return { ...merge(this.#parts.map((one) => one.figures())), coversMs }
  }

  /** The part of now. */
  #turn(nowMs: number): Window {
    const latest = this.#parts.at(-1) as Window
    const ageMs = nowMs - latest.sinceMs
    if (ageMs < PART_MS) return latest
    const next = new Window(nowMs - (ageMs % PART_MS))
    this.#parts = [...this.#parts.filter(({ sinceMs }) => sinceMs > nowMs - MINUTE_MS), next]
    return next
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
    const seen = this.#busiest.add(target, weight, plan)
    if (allowed) seen.units += cost * weight
    else {
      seen.denied += weight
      this.#denied += weight
      this.#mostDenied.add(target, weight, plan)
    }
    const used = mostUsed(decision)
    if (used) this.#noteNear(decision, used, target)
  }

  #noteNear({ plan }: Decision, state: LimitState, { what: key, of: subject }: Target): void {
    const share = shareOf(state)
    const known = this.#nearest.get(key)
    if (share < (known?.share ?? this.#leastNear)) return
    const { name: limit, used, over = 0 } = state
    this.#nearest.set(key, { key, subject, plan, limit, share, used: used + over, quota: wholeOf(state) })
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

/** A burst, and top-ups, can be more than the quota. */
export function wholeOf({ quota, used, remaining }: LimitState): number {
  return Math.max(quota, used + remaining)
}

function shareOf(state: LimitState): number {
  return (state.used + (state.over ?? 0)) / wholeOf(state)
}

/** Figures of several times or processes as one. */
export function merge(all: readonly Omit<Figures, 'coversMs'>[]): Omit<Figures, 'coversMs'> {
  const merging = new Merging()
  for (const one of all) merging.add(one)
  return merging.figures()
}

/** The same, one after the other: all at once would take long. */
export class Merging {
  #requests = 0
  #denied = 0
  readonly #busiest = new MergedTop()
  readonly #mostDenied = new MergedTop()
  readonly #nearest = new Map<string, Near>()

  add({ requests, denied, busiest, mostDenied, nearest }: Omit<Figures, 'coversMs'>): void {
    this.#requests += requests
    this.#denied += denied
    this.#busiest.add(busiest)
    this.#mostDenied.add(mostDenied)
    for (const near of nearest) {
      if (near.share >= (this.#nearest.get(near.key)?.share ?? 0)) this.#nearest.set(near.key, near)
    }
  }

  figures(): Omit<Figures, 'coversMs'> {
    return {
      ...{ requests: this.#requests, denied: this.#denied },
      ...{ busiest: this.#busiest.top(), mostDenied: this.#mostDenied.top() },
      nearest: byShare(this.#nearest),
    }
  }
}

class MergedTop {
  #floor = 0
  /** Their errors lack the floors of all tops. */
  readonly #entries = new Map<string, Seen>()

  add({ entries, floor }: Top): void {
    this.#floor += floor
    for (const one of entries) {
      const known = this.#entries.get(one.key)
      if (!known) this.#entries.set(one.key, { ...one, error: one.error - floor })
      else {
        known.subject = one.subject
        if (one.plan) known.plan = one.plan
        known.count += one.count
        known.error += one.error - floor
        known.units += one.units
        known.denied += one.denied
      }
    }
  }

  top(): Top {
    const entries = [...this.#entries.values()].toSorted(byCount)
    // Where a subject is missing, it may have as much as the smallest that is there.
    return { entries: entries.map((one) => ({ ...one, error: one.error + this.#floor })), floor: this.#floor }
  }
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
