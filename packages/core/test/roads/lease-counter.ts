// One counter of the oracle when processes lease. Units that a lease served enter a limit later than they were used, the
// oracle does not know when. So every use has a range of times, and every answer a range of units.
import { calendarStart, lawWindowMs, slotMsOf, type LimitSpec } from './limits.js'
import type { Bounds } from './counter.js'
import { heldOf, type Give, type Use } from './lease-use.js'
import { usedInFixedWindow } from './lease-window.js'

export class LeaseCounter {
  readonly spec: LimitSpec
  /** Quotas of the limits that took units from this counter. */
  readonly quotas = new Set<number>()
  /** By law 1 and at once: the most units of any limit that uses this counter. */
  worst = 0
  capacity = 0
  #uses: Use[] = []
  #lateUs = 0
  /** What was last computed: until something changes, it is asked for again and again. */
  #known: { readonly now: number; readonly used: Bounds } | undefined

  constructor(spec: LimitSpec) {
    this.spec = spec
  }

  /** Notes by how much the store's clock has gone back: units may count for so much longer. */
  set lateUs(us: number) {
    this.#lateUs = us
    this.#known = undefined
  }

  take(use: Omit<Use, 'gives'>): void {
    this.#known = undefined
    this.#prune(use.at)
    const uses = this.#uses
    uses.push({ ...use, gives: [] })
    // Lost units are told late.
    for (let i = uses.length - 1; i > 0 && (uses[i - 1] as Use).at > use.at; i -= 1) {
      const later = uses[i - 1] as Use
      uses[i - 1] = uses[i] as Use
      uses[i] = later
    }
  }

  give(id: number, give: Give): void {
    this.#known = undefined
    this.#uses.find((use) => use.id === id)?.gives.push(give)
  }

  /** Whether the units of a use still count at `now`: surely (`least`), and possibly (`most`). */
  counts(id: number, now: number): { least: boolean; most: boolean } {
    const use = this.#uses.find((one) => one.id === id)
    if (!use) return { least: false, most: false }
    const { kind, windowMs } = this.spec
    // A bucket has one level for all units, so it is not known whose have drained.
    if (kind === 'bucket' || this.#isVague) return { least: false, most: true }
    const last = Math.min(use.upTo, now)
    if (kind === 'fixed') {
      const { least, most } = usedInFixedWindow(this.#uses, now, windowMs * 1000, use)
      return { least: least > 0, most: most > 0 }
    }
    const [least, most] = [weightAt(now, this.spec, 0), weightAt(now, this.spec, this.#slackUs)]
    return { least: least(use.at) > 0, most: most(last) > 0 }
  }

  /** Units that the limit counts at `now`, which is no earlier than any use. */
  used(now: number): Bounds {
    if (this.#known?.now !== now) this.#known = { now, used: this.#usedAt(now) }
    return this.#known.used
  }

  /** Of windows with a beginning it is not known which one a unit is in, once the clock went back. */
  get #isVague(): boolean {
    const { kind } = this.spec
    return this.#lateUs > 0 && kind !== 'log' && kind !== 'coarse' && kind !== 'bucket'
  }

  get #slackUs(): number {
    return slackOf(this.spec) + this.#lateUs
  }

  #usedAt(now: number): Bounds {
    const { kind, windowMs } = this.spec
    if (this.#isVague) return { least: 0, most: this.#uses.length > 0 ? Infinity : 0 }
    if (kind === 'bucket') return { least: this.#level(now, 'low'), most: this.#level(now, 'high') }
    if (kind === 'fixed') return usedInFixedWindow(this.#uses, now, windowMs * 1000)
    let [least, most, leastBefore, mostBefore] = [0, 0, 0, 0]
    const [weight, slackened] = [weightAt(now, this.spec, 0), weightAt(now, this.spec, this.#slackUs)]
    for (const use of this.#uses) {
      const last = slackened(Math.min(use.upTo, now))
      if (last === 0) continue
      const held = heldOf(use)
      const first = weight(use.at)
      if (first === 1) least += held.least
      else leastBefore += first * held.least
      if (last === 1) most += held.most
      else mostBefore += last * held.most
    }
    return { least: least + Math.ceil(leastBefore - 1e-6), most: most + Math.ceil(mostBefore - 1e-6) }
  }

  /** Law 1: units that surely were used in the true window that ends at `now`. */
  inForce(now: number): number {
    const since = now - lawWindowMs(this.spec) * 1000
    const isBucket = this.spec.kind === 'bucket'
    let units = 0
    for (let i = this.#uses.length - 1; i >= 0; i -= 1) {
      const use = this.#uses[i] as Use
      if (use.at > since && use.isSure) units += use.units
      // A bucket has one level for all units, so what comes back of earlier ones makes room, too.
      if (use.at <= since && !isBucket) break
      for (const give of use.gives) if (give.at > since) units -= give.most
    }
    return units
  }

  /** Forgets all uses once none of them can count any more. */
  #prune(now: number): void {
    const { windowMs } = this.spec
    const longestUs = (2 * windowMs + slotMsOf(windowMs)) * 1000 + this.#lateUs
    if (this.#uses.length === 0 || (this.#uses.at(-1) as Use).at + longestUs >= now) return
    if (this.#uses.every(({ upTo }) => upTo + longestUs < now) && !this.#isBucketInUse(now)) this.#uses = []
  }

  #isBucketInUse(now: number): boolean {
    return this.spec.kind === 'bucket' && this.#level(now, 'high') > 0
  }

  /** The level of a bucket in units: `low` as if all drained from their use on and refunds gave all back. */
  #level(now: number, end: 'low' | 'high'): number {
    const { quota, windowMs } = this.spec
    const isLow = end === 'low'
    const changes = this.#uses.flatMap((use) => {
      if (!isLow) return [{ at: Math.min(use.upTo, now), units: use.units }]
      const gives = use.gives.map(({ at, most }) => ({ at, units: -most }))
      return use.isSure ? [{ at: use.at, units: use.units }, ...gives] : gives
    })
    let [level, at] = [0, 0]
    const drain = (until: number): void => {
      level = Math.max(level - ((until - at) * quota) / (windowMs * 1000), 0)
      at = until
    }
    // Of the same µs, refunds count as the last: then they lower the level most.
    for (const change of changes.toSorted((a, b) => a.at - b.at || b.units - a.units)) {
      drain(change.at)
      level = Math.max(level + change.units, 0)
    }
    drain(now)
    // Rounding may change the level by what drains in some µs.
    const perUs = quota / (windowMs * 1000)
    const slack = level > 0 ? perUs * ROUNDED_US : 0
    if (isLow) return Math.max(level - slack, 0)
    // While the clock that went back catches up, nothing drains.
    const units = this.#uses.reduce((sum, use) => sum + use.units, 0)
    return Math.min(level + slack + perUs * this.#lateUs, Math.max(units, level + slack))
  }
}

const ROUNDED_US = 3

/** How much later than after a window units may come back. */
function slackOf({ kind, windowMs }: LimitSpec): number {
  return kind === 'coarse' ? slotMsOf(windowMs) * 1000 : 0
}

/**
 * What a unit that was counted at some time counts at `now`, from 0 to 1. Never less if it was counted later.
 *
 * @param slackUs how much longer it may count
 */
function weightAt(now: number, { kind, windowMs }: LimitSpec, slackUs: number): (at: number) => number {
  const windowUs = windowMs * 1000
  if (kind === 'window') {
    const start = now - (now % windowUs)
    const before = (start + windowUs - now) / windowUs
    return (at) => (at >= start ? 1 : at >= start - windowUs ? before : 0)
  }
  const since = kind === 'hour' || kind === 'month' ? calendarStart(kind, now) : now - windowUs - slackUs + 1
  return (at) => (at >= since ? 1 : 0)
}
