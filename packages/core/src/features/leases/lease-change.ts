import type { Subject } from '../../plans/subject.js'

/** What became of a lease, or of some of its units. */
export interface LeaseChange {
  /**
   * - `granted`: the process took units in advance.
   * - `refused`: the store leased none, since too little is left.
   * - `returned`: units went back unused.
   * - `lost`: units count as used though no request took them: the lease ended with them, or its answer never came. Of
   *   such an answer the number is not known, and told as 0.
   */
  readonly kind: 'granted' | 'refused' | 'returned' | 'lost'
  readonly subject: Subject
  /** The name of its plan. */
  readonly plan: string
  readonly units: number
}
