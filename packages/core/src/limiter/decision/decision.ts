import type { Subject } from '../../plans/subject.js'
import type { Verdict } from '../../requests/request.js'

/** Where one limit stands after the decision. */
export interface LimitState {
  /** The limit's name, such as `minute`. */
  readonly name: string
  /** Units allowed in a window. For requests in flight: how many at a time. */
  readonly quota: number
  /** Set for a limit of requests in flight, as `qu` in `RateLimit-Policy`. */
  readonly quotaUnit?: 'concurrent-requests'
  /** Length of the window in ms; a calendar month counts as 30 days. 0 for requests in flight. */
  readonly windowMs: number
  /**
   * Units that are taken at this moment: the quota less `remaining`; of a token bucket its burst less `remaining`. From
   * 0 to the quota or burst. Units that a sliding window counts in part are rounded up.
   */
  readonly used: number
  /** How many requests of cost 1 would pass now. A token bucket with a burst can hold more than its quota. */
  readonly remaining: number
  /**
   * ms until another unit is there if nobody else consumes; 0 when nothing is used. Always 0 for requests in flight:
   * nobody knows when one ends.
   */
  readonly resetMs: number
}

/**
 * What decided.
 * - `store`; or `place`: the store booked a place, for which the request waited.
 * - `lease`: this process, from units that it took from the store in advance. `cache`: this process, which remembers a denial.
 * - `unlimited`, `blocked`: the plan, which needs no store. `list`: the block list. `shed`: this process is overloaded.
 * - `local`, `open`, `closed`: the failure policy, since the store could not answer.
 */
export type DecisionSource = Verdict['source'] | 'list' | 'shed'

/**
 * Why a request was denied: a limit is used up, the cost is more than a limit ever allows, the store failed, a
 * subject is on the block list or on a plan that is `blocked`, or this process is overloaded and sheds the plan.
 */
export type DenialReason =
  | 'quota-exceeded'
  | 'cost-exceeds-quota'
  | 'store-unavailable'
  | 'blocked'
  | 'overloaded'

/**
 * The answer to one request.
 *
 * @example
 * { allowed: false, subject: { id: 'acme', plan: 'free' }, plan: 'free', cost: 1, violated: ['minute'],
 *   limits: [{ name: 'minute', quota: 100, windowMs: 60000, used: 100, remaining: 0, resetMs: 12345 }],
 *   retryAfterMs: 12345, reason: 'quota-exceeded', source: 'store' }
 */
export interface Decision {
  readonly allowed: boolean
  /** The subject that pays: the first one, if there are several. */
  readonly subject: Subject
  /** The name of the plan that was applied to it. */
  readonly plan: string
  /** The units asked for. They were taken only if the request was allowed. */
  readonly cost: number
  /**
   * Every limit of the plan in its order, that of requests in flight last; then the limits of other subjects and stacked limits. Only limits that the
   * store decided; of a denial in several steps, only those of the step that denied; of a denial from memory (`cache`),
   * only those whose numbers are certain. Empty when the plan is unlimited or blocked, the request was served from a
   * lease, or waited for a place, or the store did not answer.
   */
  readonly limits: readonly LimitState[]
  /**
   * Set if this process decided by itself (`local`): its share of each limit that it counted, as `quota`, and what is used
   * and left of that share, also if it denied. Others hold shares, too, so this is less than what is left of the plan.
   */
  readonly localLimits?: readonly LimitState[]
  /** The names of the limits that denied the request. */
  readonly violated: readonly string[]
  /** ms after which the same request passes if nobody else consumes; 0 when allowed, null when it never can. */
  readonly retryAfterMs: number | null
  /** Set when denied. */
  readonly reason?: DenialReason
  readonly source: DecisionSource
  /** With the source `place`: how long the request waited, in ms. */
  readonly waitedMs?: number
  /**
   * Says that the request is over, so that another of the subject may run. Does nothing unless a limit such as
   * `'5 concurrent'` counts the request. Adapters call it when the response is over.
   *
   * @returns whether the request was in flight until now: true once
   */
  release(): boolean
}

/** How long a client should stay away while the store cannot answer, in ms. */
export const RETRY_AFTER_FAILURE_MS = 1000

export const NO_LIMITS: readonly LimitState[] = Object.freeze([])
export const NONE: readonly string[] = Object.freeze([])
