import type { LeaseReport, Outcome } from '../../stores/contract.js'
import type { LeaseChange } from './lease-reporter.js'
import type { HeldLease } from './held-lease.js'

/** Receives what becomes of the units of one subject. */
export interface UnitsListener {
  changed(kind: LeaseChange['kind'], units: number): void
  /** Units that were served. Called when their lease is over. */
  used(units: number): void
}

/** A lease that was reported, and the units of it that go back. */
export type Reported = readonly [lease: HeldLease, returned: number]

/** The leases of one subject, the oldest first. Closed ones stay until the store has confirmed it, or they end. */
export class HeldLeases {
  readonly #listener: UnitsListener
  #all: HeldLease[] = []

  constructor(listener: UnitsListener) {
    this.#listener = listener
  }

  get all(): readonly HeldLease[] {
    return this.#all
  }

  /** How many can still be served. */
  get open(): number {
    let open = 0
    for (const { isClosed } of this.#all) if (!isClosed) open += 1
    return open
  }

  /** Unused units that the store may still count as on lease. */
  idle(nowMs: number): number {
    let idle = 0
    for (const lease of this.#all) if (nowMs < lease.endsAtMs) idle += lease.idle
    return idle
  }

  /** Takes units from the oldest lease that has enough. */
  take(cost: number, nowMs: number): HeldLease | undefined {
    for (const lease of this.#all) if (lease.take(cost, nowMs)) return lease
    return undefined
  }

  add(lease: HeldLease): void {
    this.#all.push(lease)
  }

  /** Reports all of them. The newest keeps some units, the others none. */
  report(kept: number): { readonly reports: LeaseReport[]; readonly reported: readonly Reported[] } {
    const newest = this.#all.at(-1)
    const reports: LeaseReport[] = []
    const reported = this.#all.map((lease): Reported => {
      const before = lease.left
      reports.push(lease.report(lease === newest ? kept : 0))
      return [lease, before - lease.left]
    })
    return { reports, reported }
  }

  /** The store's answer to a report. Returns the units that the store has back. */
  confirm(reported: readonly Reported[], outcome: Outcome): number {
    const isKnown = outcome.lease?.isKnown === true
    // A lease that ended on the way is not known, and hides whether the others are. The next report, of these alone, tells that.
    const isHidden = !isKnown && reported.some(([lease]) => lease.isOver(outcome))
    let [returned, late] = [0, 0]
    for (const [lease, units] of reported) {
      const isBack = (isKnown || isHidden) && !lease.isOver(outcome)
      if (isBack) returned += units
      else late += units
      if (isKnown) lease.confirm(outcome)
      else if (isBack) lease.withhold()
      else if (!lease.isClosed) this.#report('lost', lease.close())
    }
    this.#remove(({ isClosed }) => isClosed)
    this.#report('returned', returned)
    this.#report('lost', late)
    return returned
  }

  /** A report that got no answer. */
  unconfirmed(reported: readonly Reported[]): void {
    this.#report(
      'lost',
      reported.reduce((sum, [, returned]) => sum + returned, 0),
    )
  }

  /** Serves none of them any more: they are only given back. */
  withhold(): void {
    for (const lease of this.#all) lease.withhold()
  }

  /** Drops those that have ended. */
  expire(nowMs: number): void {
    if (!this.#all.some(({ endsAtMs }) => nowMs >= endsAtMs)) return
    for (const lease of this.#all) if (nowMs >= lease.endsAtMs) this.#report('lost', lease.close())
    this.#remove(({ endsAtMs }) => nowMs >= endsAtMs)
  }

  #remove(isOver: (lease: HeldLease) => boolean): void {
    for (const lease of this.#all) if (isOver(lease)) this.#listener.used(lease.used)
    this.#all = this.#all.filter((lease) => !isOver(lease))
  }

  #report(kind: LeaseChange['kind'], units: number): void {
    if (units > 0) this.#listener.changed(kind, units)
  }
}
