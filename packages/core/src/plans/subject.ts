import type { CalendarAnchor } from '../algorithms/calendar-window/calendar-window.js'
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
  /**
   * Its billing day: where its months and years begin, in limits that have no anchor of their own. A date such as `'2026-01-31'`, a date and
   * time, a Date, or for months a day from 1 to 31. Shorter months use their last day. If the day is moved, the current window ends as it
   * would have. What is left until the next one begins is a short window with its share of the quota, rounded up. Default: none.
   */
  readonly anchor?: CalendarAnchor | null | undefined
  /** The time zone of its months and years, such as `'Europe/Berlin'`. Default: that of the limit. */
  readonly timeZone?: string | null | undefined
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
