import type { Subject } from '../../plans/subject.js'

/** What became of a lease, or of some of its units. */
export interface LeaseChange {
  /**
   * - `granted`: the process took units in advance.
   * - `refused`: the store leased none, since too few are left.
   * - `returned`: units went back unused.
   * - `lost`: units count as used though no request took them. The lease ended with them, or its answer never came. Then
   *   their number is not known, and `units` is 0.
   */
  readonly kind: 'granted' | 'refused' | 'returned' | 'lost'
  readonly subject: Subject
  /** The name of its plan. */
  readonly plan: string
  readonly units: number
}

/** How many leases a limiter had, and what became of their units. */
export interface LeaseStats {
  /** Leases that the store granted. */
  readonly granted: number
  /** Leases that the store refused, since too few units were left. */
  readonly refused: number
  /** Granted leases that followed another of the same subject. */
  readonly renewals: number
  /** Units that were granted. Each was used, went back, was lost, or is still held. */
  readonly units: number
  /** Units that requests used, counted when their lease is over. */
  readonly used: number
  /** Units that went back unused. */
  readonly returned: number
  /** Units that count as used though no request took them. */
  readonly lost: number
  /** Leases that can serve requests now. */
  readonly held: number
}

export const NO_LEASES: LeaseStats = {
  granted: 0,
  refused: 0,
  renewals: 0,
  units: 0,
  used: 0,
  returned: 0,
  lost: 0,
  held: 0,
}

/** Counts what becomes of leases, and emits it. */
export class LeaseReporter {
  readonly #emit: (change: LeaseChange) => void
  readonly #counts = { ...NO_LEASES } as { -readonly [Name in keyof LeaseStats]: number }

  constructor(emit: (change: LeaseChange) => void) {
    this.#emit = emit
  }

  /** @param isRenewal whether the process held a lease of the subject when it asked for this one */
  lease(change: LeaseChange, isRenewal = false): void {
    const counts = this.#counts
    const { kind, units } = change
    if (kind === 'returned' || kind === 'lost') counts[kind] += units
    else counts[kind] += 1
    if (kind === 'granted') {
      counts.units += units
      if (isRenewal) counts.renewals += 1
    }
    this.#emit(change)
  }

  /** Units of a lease that requests used, when the lease is over. No event, since that is every request served from one. */
  leaseUsed(units: number): void {
    this.#counts.used += units
  }

  stats(held: number): LeaseStats {
    return { ...this.#counts, held }
  }
}
