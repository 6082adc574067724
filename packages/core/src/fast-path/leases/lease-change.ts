import type { Subject } from '../../plans/subject.js'

/** What became of units that this process took in advance. */
export interface LeaseChange {
  /**
   * `granted`: the store leased units to this process. `refused`: it leased none, since too few are left. `returned`: units
   * were given back unused. `lost`: units ended with their lease before they were used, or nobody knows how many, since
   * the store's answer was lost: then `units` is 0.
   */
  readonly kind: 'granted' | 'refused' | 'returned' | 'lost'
  readonly subject: Subject
  /** The name of the subject's plan. */
  readonly plan: string
  /** Quota units. */
  readonly units: number
}
