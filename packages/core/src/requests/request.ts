import type { FailurePolicyOption } from '../plans/failure-policy.js'
import type { Limit } from '../plans/limit/limit.js'
import { isDenying } from '../plans/limit/overage-limit.js'
import type { Plan } from '../plans/plan.js'
import type { Subject } from '../plans/subject.js'
import type { BlockInForce } from './rule-lookup.js'
import type {
  Grant,
  Hold,
  LeaseRequest,
  LimitOutcome,
  Outcome,
  RefundRequest,
  SlotHolder,
  SlotsRequest,
  StoreRequest,
  SubRequest,
  UnchargedRequest,
} from '../stores/contract.js'
import { type StoreError, TollgateError, show } from '../base/errors.js'
import { isWhole } from '../base/options.js'
import { quiet } from '../base/promises.js'

/** What a request asks of one key: a subject's key for its plan, a group, or a stacked limit. */
export interface Part extends SubRequest {
  readonly subject: Subject
  /** The limits, named as the decision reports them. */
  readonly limits: readonly Limit[]
  /** The plan that these limits belong to; undefined for a group's own limits and for stacked limits. */
  readonly planName: string | undefined
  /** The name of the group or of the stacked limit that they are counted for; undefined for the common counters. */
  readonly place: string | undefined
  /** The failure policy of the subject's plan, if that has its own. */
  readonly onStoreFailure: FailurePolicyOption | undefined
  readonly shard: number
}

/**
 * A request on its way from the builder to the store: which subject pays, its plan, and what is asked of which keys.
 */
export type Request = UnchargedRequest<Part> & RequestTerms

/** What a request has besides its parts. */
interface RequestTerms {
  /** The subject that pays. */
  readonly subject: Subject
  /** All its subjects, if it has several: also those that have no limits, and so no part. */
  readonly subjects?: readonly Subject[]
  /** The plan of the first subject. */
  readonly plan: Plan
  /** Units asked of every limit. */
  readonly cost: number
  /** The limits of all parts: the same array for all requests with the same plans, so that headers are cached. */
  readonly limits: readonly Limit[]
  /** Whether any of the limits observes or counts overage. */
  readonly isLenient?: true | undefined
  /** The steps, in the order in which they are asked, if the request cannot be decided in one. */
  readonly steps?: readonly Request[] | undefined
  /** Set when one of its subjects is on a plan that is `blocked`. */
  readonly isBlocked?: true
  /** Set when a rule blocks one of its subjects. */
  readonly block?: BlockInForce | undefined
  /** If this aborts while the request waits for its place, the place is given back. */
  readonly signal?: AbortSignal | undefined
  /** How long the request has waited already, in ms: a route may ask for more after a request waited and was let in. */
  readonly waitedMs?: number | undefined
  /** What listeners get as their second argument, besides the decision. */
  readonly context?: object
  /** Set while the request is decided, if it takes slots. The same for a request and all its steps. */
  readonly inFlight?: RequestSlots | undefined
  /** Set on steps, and on what is asked for again: the deadline that they share. */
  readonly deadline?: SharedDeadline | undefined
}

/** A message about one key that no caller waits for: about this process's leases, or its requests in flight. */
export function messageAbout(part: Part, plan: Plan, message: LeaseMessage | SlotsMessage): Request {
  const { subject, limits, shard } = part
  const { slots, ...kind } = message
  return { subject, plan, cost: 1, parts: [{ ...part, cost: 1, slots }], limits, shard, ...kind }
}

type LeaseMessage = Pick<LeaseRequest, 'grant' | 'order'> & { readonly slots?: undefined }
type SlotsMessage = Pick<SlotsRequest, 'grant'> & { readonly slots: SlotHolder }

/** The same request, and each of its steps, with this hold. Without a hold, the cost is taken at once. */
export function withHold(request: Request, hold: Hold | undefined): Request {
  const steps = request.steps?.map((step) => withHold(step, hold))
  return { ...request, grant: 'all', order: undefined, hold, steps }
}

/** The deadline that all messages for a request share. */
export interface SharedDeadline {
  /** True once the request was answered: nothing more may be sent for it. */
  isOver: boolean
}

/** The subject of each limit of some parts. */
export function ownersOf(parts: readonly Part[]): Subject[] {
  return parts.flatMap(({ limits, subject }) => limits.map(() => subject))
}

/** The slots of one request. */
export interface RequestSlots {
  /** Called when the request, or a step of it, is sent to the store. */
  sent(step: Request): void
  /**
   * Called with the store's outcome for the request or a step.
   *
   * @param sentAtMs when its batch was sent, in ms since the process started; not used if answers are values
   */
  answered(step: Request, outcome: Outcome, sentAtMs: number): void
  /** Called when the request is decided: only the first call counts. */
  conclude(isAllowed: boolean): void
  /** Gives the slots back. Returns whether there were any: true once. */
  release(): boolean
}

/** Whether no plan of a request makes it wait, counts requests in flight, blocks or warns, as for most requests. */
export function isPlain({ parts }: Request): boolean {
  for (let i = 0; i < parts.length; i += 1) if (!(parts[i] as Part).set.isPlain) return false
  return true
}

/** Whether a limit of a request counts requests in flight. */
export function takesSlots({ parts }: Request): boolean {
  for (const { set } of parts) if (set.inFlightIndex !== undefined) return true
  return false
}

/** Units that a request was served with from a lease. */
export interface LeasedUnits {
  /**
   * Gives some of them back.
   *
   * @param nowMs the time by the clock that leases end by
   * @returns true if the lease has them again; otherwise what to send to the store, if it is still known when they were used
   */
  giveBack(units: number, nowMs: number): true | RefundRequest | undefined
}

/** The answer to a request, or to one step of it, and what gave it. */
export interface Verdict {
  readonly source:
    | 'store'
    | 'place'
    | 'lease'
    | 'cache'
    | 'unlimited'
    | 'blocked'
    | 'rule'
    | 'local'
    | 'open'
    | 'closed'
  readonly allowed: boolean
  readonly step: Request
  /** From the store, from its remembered denial, or from the local limiter. */
  readonly outcome?: Outcome
  /** The parts that the outcome covers, if not all of the step. */
  readonly parts?: readonly Part[]
  /** With the source `lease`: the units of each part. */
  readonly uses?: readonly LeasedUnits[]
  /** Units that earlier verdicts took from the same parts for this request. Left out: none. */
  readonly above?: number
  /** With the source `place`: how long the request waited, in ms. */
  readonly waitedMs?: number
  /** With the source `local`: this process's share of every quota, from 0 to 1. */
  readonly share?: number
  /** Why the store did not decide. */
  readonly error?: StoreError
}

/** In a remembered denial's outcome: `remaining` is no longer known, since others may have taken units. */
export const UNKNOWN = -1

/** Makes the verdict for an outcome. */
export function toVerdict(source: 'store' | 'local', step: Request, outcome: Outcome): Verdict {
  return { source, allowed: isTaken(outcome), step, outcome }
}

/** Whether an outcome of a request with grant `all` took its units. */
export function isTaken({ limits }: Outcome): boolean {
  for (let i = 0; i < limits.length; i += 1) if (limits[i]?.wait !== 0) return false
  return true
}

/** Whether a block denied a request, and not only its limits. */
export function isBlocked({ limits }: Outcome): boolean {
  for (let i = 0; i < limits.length; i += 1) if (limits[i]?.block) return true
  return false
}

/** How many units an outcome took from each limit. Units on lease, reserved or in a place are not taken yet. */
export function unitsTaken(
  { grant, parts }: Pick<StoreRequest, 'grant' | 'parts'>,
  outcome: Outcome,
): number {
  if (grant === 'lease' || (outcome.hold && outcome.hold.endsInUs > 0)) return 0
  if (grant === 'upTo') return outcome.limits[0]?.granted ?? 0
  return isTaken(outcome) ? (parts[0]?.cost ?? 0) : 0
}

/**
 * How many units are missing for the cost of a part, or with the grant `upTo` for one more unit. Infinity if units would
 * not help: too many requests are in flight, or too many reservations are open.
 *
 * @param limits the store's outcome for them
 */
export function lackingUnits(
  { set, cost }: SubRequest,
  grant: Grant,
  limits: readonly LimitOutcome[],
): number {
  const needed = grant === 'upTo' ? 1 : cost
  let lacking = 0
  for (const [i, { wait, remaining }] of limits.entries()) {
    const limit = set.limits[i]
    if (limit && !isDenying(limit)) continue
    const denies = grant === 'all' && wait !== 0
    if (denies && (i === set.inFlightIndex || remaining >= needed)) return Infinity
    if (i !== set.inFlightIndex) lacking = Math.max(lacking, needed - remaining)
  }
  return lacking
}

/** The error that kept the store from deciding all of them. */
export function errorIn(verdicts: readonly Verdict[]): StoreError | undefined {
  return verdicts.length === 1 ? verdicts[0]?.error : verdicts.find(({ error }) => error)?.error
}

/**
 * @param ofNothing what to write instead of a cost of 0, if that is known
 * @throws {TollgateError} ERR_TOLLGATE_COST when it is not a whole number of units from `least`
 */
export function needCost(cost: number, least: 0 | 1, ofNothing = ''): void {
  if (isWhole(cost, least)) return
  quiet(cost)
  const remedy = cost === 0 ? ofNothing : ''
  throw new TollgateError(
    'ERR_TOLLGATE_COST',
    `cost: got ${show(cost)}, expected a whole number of units from ${least}${remedy}`,
  )
}

/**
 * @param example a correct call
 * @throws {TollgateError} ERR_TOLLGATE_COST when it is not a whole number of units from `least`
 */
export function needUnits(units: unknown, least: 0 | 1, example: string): void {
  if (isWhole(units, least)) return
  quiet(units)
  const expected = `a whole number of units from ${least}, such as ${example}`
  throw new TollgateError('ERR_TOLLGATE_COST', `units: got ${show(units)}, expected ${expected}`)
}
