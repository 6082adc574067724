import type { Subject } from '../../plans/subject.js'
import type { Verdict } from '../../requests/request.js'

/** Where one limit stands after the decision. */
export interface LimitState {
  /** The limit's name, such as `minute`. */
  readonly name: string
  /** Units allowed in a window. For requests in flight: how many at a time. */
  readonly quota: number
  /** Set for a limit of requests in flight: the value of `qu` in `RateLimit-Policy`. */
  readonly quotaUnit?: 'concurrent-requests'
  /** Length of the window in ms; a calendar month counts as 30 days, and a year as 365. 0 for requests in flight. */
  readonly windowMs: number
  /**
   * Units in use at this moment: the quota minus `remaining`, or for a token bucket its burst minus `remaining`. From 0 to
   * the quota or burst. A sliding window counts some units in part, and rounds up.
   */
  readonly used: number
  /** How many requests of cost 1 would pass now. A token bucket with a burst can hold more than its quota. */
  readonly remaining: number
  /**
   * ms until one more unit is free, if no other request takes units; 0 when nothing is used. Always 0 for requests in
   * flight: when one ends is not known.
   */
  readonly resetMs: number
  /** Set for a limit with the option `overage`: the units used beyond its quota in this window. Then `remaining` is 0. */
  readonly over?: number
  /** Set while units of top-ups are left: how many. `remaining` has them, too, and `used` says what is used of the quota. */
  readonly toppedUp?: number
}

/**
 * What made a decision:
 * - `store`: the store. `place`: the store, which booked a place for the request to wait for.
 * - `lease`: this process, with units that it took from the store in advance. `cache`: this process, which repeated a
 *   denial of the store.
 * - `unlimited`, `blocked`: the plan, which needs no store. `list`: the block list. `rule`: a block set by `limiter.block`.
 * - `shed`: this process, because it is overloaded.
 * - `local`, `open`, `closed`: the failure policy, because the store could not answer.
 */
export type DecisionSource = Verdict['source'] | 'list' | 'shed'

/**
 * Why a request was denied:
 * - `quota-exceeded`: a limit is used up.
 * - `cost-exceeds-quota`: the request costs more than a limit ever allows.
 * - `store-unavailable`: the store failed, and the failure policy is `closed`.
 * - `blocked`: a subject is on the block list or blocked by a rule, its plan is `blocked`, or it was denied so often that `blockAfter`
 *   blocks it.
 * - `overloaded`: this process is overloaded and sheds the plan.
 */
export type DenialReason =
  | 'quota-exceeded'
  | 'cost-exceeds-quota'
  | 'store-unavailable'
  | 'blocked'
  | 'overloaded'

/** A limit that only observes: see the option `mode`. */
export interface ObservedLimit extends LimitState {
  /** Whether it would have denied the request. If so, the request took nothing from it. */
  readonly wouldDeny: boolean
}

/** A block: one that `limiter.block` set, or one that came by itself. */
export interface Block {
  /** The id that is blocked, or the beginning of ids with a `*` behind it. Of a rule with `hashIds`, the hashed id. */
  readonly of: string
  readonly until: Date
  /** Set for a block that came by itself: see the plan option `blockAfter`. How many it had, this one included. */
  readonly level?: number
  /** Why, if that was given. */
  readonly reason?: string
}

/**
 * The answer to one request.
 *
 * @example
 * { allowed: false, subject: { id: 'acme', plan: 'free' }, plan: 'free', cost: 1, violated: ['minute'],
 *   limits: [{ name: 'minute', quota: 100, windowMs: 60000, used: 100, remaining: 0, resetMs: 12345 }],
 *   retryAfterMs: 12345, reason: 'quota-exceeded', source: 'store' }
 */
export interface Decision {
  /** Whether the request may pass. */
  readonly allowed: boolean
  /** The subject that pays: the first one, if there are several. */
  readonly subject: Subject
  /** The name of the plan that was applied to it. */
  readonly plan: string
  /** The units asked for. They were taken only if the request was allowed. */
  readonly cost: number
  /**
   * Where each limit stands: the plan's limits in their order, with a limit of requests in flight last, then the limits
   * of other subjects and stacked limits.
   *
   * Only limits that the store decided are listed. A denial in several steps lists only those of the step that denied. A
   * denial from memory (`cache`) lists only those whose numbers are certain. The list is empty if the plan is unlimited
   * or blocked, if the request was served from a lease or waited for a place, and if the store did not answer. While `blockAfter`
   * blocks a subject, its limits have nothing left until the end of the block.
   */
  readonly limits: readonly LimitState[]
  /**
   * Set if this process limited alone (`local`), whether it allowed or denied. `quota` is its share of each limit that it
   * counted, and the other numbers show how much of that share is used and left. Other processes have shares, too, so
   * more may be left of the plan.
   */
  readonly localLimits?: readonly LimitState[]
  /**
   * Where the limits stand that only observe (`mode: 'observe'`, or `watch`), and whether they would have denied the request. They are
   * in no other field. Set if the request was admitted by the store, and has such limits.
   */
  readonly observed?: readonly ObservedLimit[]
  /** The names of the limits that denied the request. */
  readonly violated: readonly string[]
  /** ms after which the same request passes if no other request takes units; 0 when allowed, null when it never can pass. */
  readonly retryAfterMs: number | null
  /** Why the request was denied. Set only then. */
  readonly reason?: DenialReason
  /** The block that denied the request: one that `limiter.block` set, or one that came by itself (`blockAfter`). */
  readonly block?: Block
  /** Set if a rule changed the limits of the subject that pays: `plan` is still the name of its own plan. */
  readonly override?: true
  /** What made the decision. */
  readonly source: DecisionSource
  /** With the source `place`: how long the request waited, in ms. */
  readonly waitedMs?: number
  /**
   * Ends a request in flight, so that another request of the subject may run. Does nothing unless a limit such as
   * `'5 concurrent'` counts the request. Adapters call it when the response is over; without HTTP, call it yourself.
   *
   * @returns whether the request was in flight until now: true once
   */
  release(): boolean
}

/** How long a client should wait before a retry while the store cannot answer, in ms. */
export const RETRY_AFTER_FAILURE_MS = 1000

export const NO_LIMITS: readonly LimitState[] = Object.freeze([])
export const NONE: readonly string[] = Object.freeze([])
