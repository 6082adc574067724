import { show, TollgateError } from '../base/errors.js'
import type { Consumption } from '../requests/request.js'
import type { Limit } from '../plans/limit.js'
import { asksOf, refundsOf } from '../stores/sub-requests.js'
import { isOutcome } from '../stores/outcome-check.js'
import type { LimitOutcome, Outcome, RefundRequest } from '../stores/contract.js'
import type { Subject } from '../plans/subject.js'

/** Where one limit stands, as of the decision. */
export interface LimitState {
  /** The limit's name, such as `minute`. */
  readonly name: string
  /** Units allowed in a window. */
  readonly quota: number
  /** Length of the window in ms; a calendar month counts as 30 days. */
  readonly windowMs: number
  /** Requests of cost 1 that would pass at this moment. A token bucket with a burst can hold more than its quota. */
  readonly remaining: number
  /** ms until another unit is there if nobody else consumes; 0 when nothing is used. */
  readonly resetMs: number
}

/**
 * What answered: the `store`; `unlimited`, a plan without limits; a `list` of those who are blocked; or the failure
 * policy, `local`, `open` or `closed`, since the store could not.
 */
export type DecisionSource = 'store' | 'unlimited' | 'list' | 'local' | 'open' | 'closed'

/**
 * Why a request was denied: a limit is used up, the cost is more than a limit ever allows, the store failed, or who
 * pays is on the block list.
 */
export type DenialReason = 'quota-exceeded' | 'cost-exceeds-quota' | 'store-unavailable' | 'blocked'

/**
 * The answer to one request.
 *
 * @example
 * { allowed: false, subject: { id: 'acme', plan: 'free' }, plan: 'free', cost: 1, violated: ['minute'],
 *   limits: [{ name: 'minute', quota: 100, windowMs: 60000, remaining: 0, resetMs: 12345 }],
 *   retryAfterMs: 12345, reason: 'quota-exceeded', source: 'store' }
 */
export interface Decision {
  readonly allowed: boolean
  /** Who pays: of several subjects, the first. */
  readonly subject: Subject
  /** The plan it was held to. */
  readonly plan: string
  /** Units asked for, and taken when allowed by the store. */
  readonly cost: number
  /** Every limit of the plan, in its order, then those held at the same time. Empty when the plan is unlimited, or the store did not answer. */
  readonly limits: readonly LimitState[]
  /** The names of the limits that denied it. */
  readonly violated: readonly string[]
  /** ms after which the same request passes if nobody else consumes; 0 when allowed, null when it never can. */
  readonly retryAfterMs: number | null
  /** Set when denied. */
  readonly reason?: DenialReason
  readonly source: DecisionSource
}

/** How long a client should stay away while the store cannot answer, in ms. */
const RETRY_AFTER_FAILURE_MS = 1000

/** Where a decision comes from. */
export interface Origin {
  readonly source: 'store' | 'local'
  readonly isPeek: boolean
  /** What alone may give its units back. */
  readonly by: object
}

class StoreDecision implements Decision {
  readonly allowed: boolean
  readonly subject: Subject
  readonly plan: string
  readonly cost: number
  readonly limits: readonly LimitState[]
  readonly violated: readonly string[]
  readonly retryAfterMs: number | null
  declare readonly reason?: DenialReason
  readonly source: 'store' | 'local'
  // Not for users, who can change what is above: what a refund needs.
  readonly #request: Consumption
  readonly #outcome: Outcome
  readonly #origin: Origin
  #taken: number
  #isSettled = false

  constructor(request: Consumption, outcome: Outcome, origin: Origin) {
    const { limits } = request.plan
    const { source, isPeek } = origin
    const worst = worstWait(outcome.limits)
    this.allowed = worst === 0
    this.subject = request.subject
    this.plan = request.plan.name
    this.cost = request.cost
    this.source = source
    // What this process has left of its share is not what the subject has left of its plan.
    this.limits =
      source === 'local' ? NO_LIMITS : outcome.limits.map((limit, i) => stateOf(limit, limits[i] as Limit))
    this.violated = this.allowed
      ? NONE
      : limits.filter((_, i) => outcome.limits[i]?.wait !== 0).map(({ name }) => name)
    this.retryAfterMs = worst === NEVER ? null : toMs(worst)
    if (!this.allowed) this.reason = worst === NEVER ? 'cost-exceeds-quota' : 'quota-exceeded'
    this.#request = request
    this.#outcome = outcome
    this.#origin = origin
    this.#taken = this.allowed && !isPeek ? request.cost : 0
  }

  static requestOf(decision: StoreDecision): Consumption {
    return decision.#request
  }

  static limitsOf(decision: StoreDecision): readonly Limit[] {
    return decision.#request.plan.limits
  }

  static originOf(decision: StoreDecision): Origin {
    return decision.#origin
  }

  static takenBy(decision: StoreDecision): number {
    return decision.#taken
  }

  static noteTaken(decision: StoreDecision, units: number): void {
    decision.#taken = units
  }

  /** Whether this is the first time. */
  static settle(decision: StoreDecision): boolean {
    if (decision.#isSettled || decision.#taken === 0) return false
    decision.#isSettled = true
    return true
  }

  static refundOf(decision: StoreDecision, units: number): RefundRequest[] {
    const { key, set, cost, also } = decision.#request
    return set ? refundsOf(asksOf({ key, set, cost, also }), decision.#outcome, units) : []
  }
}

function stateOf({ remaining, reset }: LimitOutcome, { name, quota, windowMs }: Limit): LimitState {
  return { name, quota, windowMs, remaining, resetMs: toMs(reset) }
}

const NO_LIMITS: readonly LimitState[] = Object.freeze([])
const NONE: readonly string[] = Object.freeze([])
const NEVER = -1

function worstWait(limits: readonly LimitOutcome[]): number {
  let worst = 0
  for (const { wait } of limits) {
    if (wait === NEVER) return NEVER
    if (wait > worst) worst = wait
  }
  return worst
}

/** Rounded up, so that a client that waits this long is never early; never negative, whatever was found in Redis. */
function toMs(us: number): number {
  return Math.max(Math.ceil(us / 1000), 0)
}

/**
 * Whether what a store gave is an outcome of the request. One of the user's own can give anything, and a number
 * that is missing would pass for a limit that is not used up.
 */
export function isOutcomeOf({ plan }: Consumption, given: unknown): given is Outcome {
  return isOutcome(given, plan.limits.length)
}

/** The decision that an outcome makes: of the store, or of this process by itself. */
export function decide(request: Consumption, outcome: Outcome, origin: Origin): Decision {
  return new StoreDecision(request, outcome, origin)
}

export function decideUnlimited({ subject, plan, cost }: Consumption): Decision {
  return withoutLimits({
    subject,
    plan: plan.name,
    cost,
    allowed: true,
    retryAfterMs: 0,
    source: 'unlimited',
  })
}

/** The decision when the store could not answer. */
export function decideByPolicy({ subject, plan, cost }: Consumption, policy: 'open' | 'closed'): Decision {
  const request = { subject, plan: plan.name, cost, source: policy }
  if (policy === 'open') return withoutLimits({ ...request, allowed: true, retryAfterMs: 0 })
  const retryAfterMs = RETRY_AFTER_FAILURE_MS
  return withoutLimits({ ...request, allowed: false, retryAfterMs, reason: 'store-unavailable' })
}

/** The decision on who is on a block list: before any plan, and for as long as the list says so. */
export function decideBlocked(subject: Subject): Decision {
  const { plan = '' } = subject
  return withoutLimits({
    subject,
    plan,
    cost: 0,
    allowed: false,
    retryAfterMs: null,
    reason: 'blocked',
    source: 'list',
  })
}

function withoutLimits(rest: Omit<Decision, 'limits' | 'violated'>): Decision {
  return { ...rest, limits: [], violated: NONE }
}

/** What of a decision is settled, once: units that go back, or are to be taken beside it. */
export interface Settlement {
  readonly request: Consumption
  readonly source: 'store' | 'local'
  /** How many go back. */
  readonly units: number
  readonly refunds: readonly RefundRequest[]
}

/**
 * Settles a decision for so many units; undefined when it took none, or was settled before.
 *
 * @param by what made the decision
 * @throws {TollgateError} ERR_TOLLGATE_DECISION when it is of another limiter, or a copy, which cannot tell whether it
 *                         was used before
 */
export function settleDecision(decision: Decision, units: number, by: object): Settlement | undefined {
  if (!storeDecision(decision)) return undefined
  const { source, by: maker } = StoreDecision.originOf(decision)
  if (maker !== by) {
    throw new TollgateError(
      'ERR_TOLLGATE_DECISION',
      'got a decision of another limiter, expected one of this',
    )
  }
  if (!StoreDecision.settle(decision)) return undefined
  const request = StoreDecision.requestOf(decision)
  const back = Math.max(request.cost - units, 0)
  return { request, source, units: back, refunds: back > 0 ? StoreDecision.refundOf(decision, back) : [] }
}

/**
 * The units that a request has taken in all, as of now: a settlement that is under way may change it.
 *
 * @throws {TollgateError} ERR_TOLLGATE_DECISION when it is a copy
 */
export function takenBy(decision: Decision): number {
  return storeDecision(decision) ? StoreDecision.takenBy(decision) : 0
}

/** Remembers what a request has taken in all, once it was settled. */
export function noteTaken(decision: Decision, units: number): void {
  if (decision instanceof StoreDecision) StoreDecision.noteTaken(decision, units)
}

function storeDecision(decision: Decision): decision is StoreDecision {
  if (decision instanceof StoreDecision) return true
  if (OTHER_SOURCES.includes(decision?.source)) return false
  const expected = 'the decision itself that consume returned'
  throw new TollgateError('ERR_TOLLGATE_DECISION', `got ${show(decision)}, expected ${expected}`)
}

const OTHER_SOURCES: readonly unknown[] = ['unlimited', 'open', 'closed', 'list'] satisfies DecisionSource[]

/** Whose each limit of a decision is. */
export function ownersOf(decision: Decision): readonly Subject[] {
  const owners = decision instanceof StoreDecision ? StoreDecision.requestOf(decision).owners : undefined
  return owners ?? decision.limits.map(() => decision.subject)
}

/** The limits of the decision's plan: the same array for every decision on it, until the plans change. */
export function limitsOf(decision: Decision): readonly Limit[] | undefined {
  return decision instanceof StoreDecision ? StoreDecision.limitsOf(decision) : undefined
}
