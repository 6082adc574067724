import type { OwnLimits } from './own-limits.js'

/** Who a request counts against. */
export interface Subject {
  /**
   * The id of a tenant, subscription, user or API key: any text of any length, or a whole number, which counts as its
   * digits. Pass numbers above 2^53 - 1 as a string or a bigint: JavaScript rounds them, and two tenants would become
   * one. In a decision, a bigint is text.
   */
  readonly id: string | number | bigint
  /** The name of its plan. Left out or unknown: the default plan. */
  readonly plan?: AnyPlan | undefined
  /**
   * Its own limits instead of a plan, for tenants whose limits are part of their contract: `['40/min', '1000/day']`, or
   * `'unlimited'`. Limits are compiled once and found by their content, so a new array with each request costs little.
   * Units used on a plan with a limit of the same window and algorithm still count. The decision's `plan` is `own-limits`.
   */
  readonly limits?: OwnLimits | undefined
  /** `ip` for a client's address, `id` for a tenant, even if its id looks like an address. Default: by what the id looks like. */
  readonly kind?: 'id' | 'ip' | undefined
  /**
   * The first part of its limits' names if a request has several subjects: `user.minute`. Default: its plan's name.
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
