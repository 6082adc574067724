import type { OwnLimits } from './own-limits.js'

/** Who a request counts against. */
export interface Subject {
  /**
   * A tenant, subscription, user or API key. Any text of any length, or a whole number, which is read as its digits.
   * Give numbers beyond 2^53 - 1 as a string or a bigint: JavaScript rounds them, and two tenants would become one. A
   * decision has a bigint as text.
   */
  readonly id: string | number | bigint
  /** The name of its plan. Left out or unknown: the default plan. */
  readonly plan?: AnyPlan | undefined
  /**
   * Its own limits, in place of a plan: `['40/min', '1000/day']`, or `'unlimited'`. For tenants whose limits are part of their
   * contract. Limits are compiled once and found again by their content, so a new array at each request costs little. Units
   * used on a plan with a limit of the same window and algorithm still count. `plan` of the decision is `own-limits`.
   */
  readonly limits?: OwnLimits | undefined
  /** `ip` for a client's address; `id` for a tenant, also one whose id is written like an address. Default: by the id. */
  readonly kind?: 'id' | 'ip' | undefined
  /**
   * The first part of its limits' names when a request has several subjects: `user.minute`. Default: its plan's name.
   */
  readonly label?: string | undefined
}

/**
 * Any text. The type is not just `string`: in a union with plan names, `string` would absorb them, and editors would no
 * longer suggest the names.
 */
export type AnyPlan = string & {}

/** A subject, or just an id. Editors suggest these names for `plan`, but any other name is accepted, too. */
export type SubjectOf<Plans extends string = string> =
  | Subject
  | (Omit<Subject, 'plan'> & { readonly plan?: Plans | undefined })
  | string
