// One counter of the oracle whose units may enter late: those that a lease served, or a place held, enter a limit some time after
// they were used, and the oracle does not know when. So every use has a range of times, and every answer a range of units.
import { calendarStart, capacityOf, lawWindowMs, slotMsOf, type LimitSpec } from './limits.js'
import type { Bounds, Given, Taken } from './counter.js'

/** Times in µs. */
interface Use {
  readonly id: number
  readonly at: number
  /** The latest time that the limit may count it at: `at` if the store decided it. */
  readonly upTo: number
  readonly units: number
  /** False: it may never have counted, such as units that were lost. */
  readonly isSure: boolean
  readonly gives: Give[]
}

interface Give extends Bounds {
  readonly at: number
}

/** Less than what any µs changes of a unit. */
const ROUNDING = 1e-9

export class LateCounter {
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

  take({ id, units, at, upTo = at, isSure = true }: Taken): void {
    this.#known = undefined
    this.#prune(at)
    const uses = this.#uses
    uses.push({ id, units, at, upTo, isSure, gives: [] })
    // Lost units are told late.
    for (let i = uses.length - 1; i > 0 && (uses[i - 1] as Use).at > at; i -= 1) {
      const later = uses[i - 1] as Use
      uses[i - 1] = uses[i] as Use
      uses[i] = later
    }
  }

  give({ id, units, at, isVague = false }: Given): void {
    this.#known = undefined
    const { least, most } = this.given(id, units, at)
    this.#uses.find((use) => use.id === id)?.gives.push({ at, least: isVague ? 0 : least, most })
  }

  /** How many units a refund of `units` at the time `at` gives back to the request `id`. */
  given(id: number, units: number, at: number): Bounds {
    const { least, most } = this.#counts(id, at)
    return { least: least ? units : 0, most: most ? units : 0 }
  }

  /** Units left at `now` in a limit that uses this counter. */
  room(spec: LimitSpec, now: number): Bounds {
    const left = (units: number): number => Math.max(Math.floor(capacityOf(spec) - units + ROUNDING), 0)
    const { least, most } = this.bounds(now)
    return { least: left(most), most: left(least) }
  }

  /** Units that surely count at `now`. */
  used(now: number): number {
    return Math.floor(this.bounds(now).least + ROUNDING)
  }

  /** Whether the units of a use still count at `now`: surely (`least`), and possibly (`most`). */
  #counts(id: number, now: number): { least: boolean; most: boolean } {
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

  /** Units that count at `now`, which is no earlier than any use. */
  bounds(now: number): Bounds {
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
    return { least: least + Math.ceil(leastBefore - ROUNDING), most: most + Math.ceil(mostBefore - ROUNDING) }
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

/** How many units of a request were not given back. */
function heldOf({ units, isSure, gives }: Use): Bounds {
  if (gives.length === 0) return { least: isSure ? units : 0, most: units }
  let [least, most] = [isSure ? units : 0, units]
  for (const give of gives) {
    least -= give.most
    most -= give.least
  }
  return { least: Math.max(least, 0), most }
}

// The fixed windows. One opens with the first units that are counted; when those of a lease are is not known.

/** An open window: when it opened, and the units in it. */
interface Open {
  readonly lo: number
  hi: number
  readonly uses: Use[]
}

const VAGUE: Bounds = { least: 0, most: Infinity }
const NOTHING: Bounds = { least: 0, most: 0 }

/**
 * Units that count at `now`; of one use only, if `only` is given. Nothing is known of a window from the first use that
 * may count in it or in the one before, until the limit was not used for a whole window.
 *
 * @param uses in the order of their times
 */
function usedInFixedWindow(uses: readonly Use[], now: number, windowUs: number, only?: Use): Bounds {
  let open: Open | undefined
  let vagueUntil = -Infinity
  for (const use of uses) {
    if (use.at < vagueUntil || (open && straddles(use, open, windowUs))) {
      vagueUntil = Math.max(vagueUntil, use.upTo + windowUs)
      open = undefined
      continue
    }
    if (open && use.at >= open.hi + windowUs) open = undefined
    if (open) {
      open.uses.push(use)
      if (isCounted(use)) open.hi = Math.min(open.hi, use.upTo)
    } else if (isCounted(use)) open = { lo: use.at, hi: use.upTo, uses: [use] }
    else vagueUntil = use.upTo + windowUs
  }
  if (now < vagueUntil) return VAGUE
  if (!open || now >= open.hi + windowUs) return NOTHING
  const { least, most } = sumOf(only ? open.uses.filter((use) => use === only) : open.uses)
  return now < open.lo + windowUs ? { least, most } : { least: 0, most }
}

/** Whether it may count in this window or in the next. */
function straddles({ at, upTo }: Use, { lo, hi }: Open, windowUs: number): boolean {
  return at < hi + windowUs && upTo >= lo + windowUs
}

/** Whether it surely opened a window, if it was the first: units that came back may never have been counted. */
function isCounted({ isSure, gives }: Use): boolean {
  return isSure && gives.length === 0
}

function sumOf(uses: readonly Use[]): Bounds {
  let [least, most] = [0, 0]
  for (const use of uses) {
    const held = heldOf(use)
    least += held.least
    most += held.most
  }
  return { least, most }
}
