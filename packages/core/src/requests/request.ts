import type { FailurePolicyOption } from '../plans/failure-policy.js'
import type { Limit } from '../plans/limit.js'
import type { Plan } from '../plans/plan.js'
import type { Subject } from '../plans/subject.js'
import type { StoreRequest, SubRequest } from '../stores/contract.js'

/** What a request asks of one key: of a subject on its plan, in a group, or of a limit on top. */
export interface Part extends SubRequest {
  readonly subject: Subject
  /** By the names that the decision gives them. */
  readonly limits: readonly Limit[]
  /** The plan that these limits are of; undefined where a group has its own, and for those on top. */
  readonly planName: string | undefined
  /** The group that they are counted in, or the name they are stacked under; undefined for the common counters. */
  readonly place: string | undefined
  /** The policy of the subject's plan, where it has one of its own. */
  readonly onStoreFailure: FailurePolicyOption | undefined
  readonly shard: number
}

/** A request on its way, from the builder to the store: who pays, on which plan, and what it asks of which keys. */
export interface Request extends StoreRequest {
  /** Who pays. */
  readonly subject: Subject
  /** The plan of who pays. */
  readonly plan: Plan
  /** Units asked of every limit. */
  readonly cost: number
  /** Empty when nothing limits the request. */
  readonly parts: readonly Part[]
  /** The limits of all parts: the same array for every request of the same plans. */
  readonly limits: readonly Limit[]
  /** What can be decided in one step each, narrowest first, where that is not all of it. */
  readonly steps?: readonly Request[] | undefined
  /** Who pays, or another of its subjects, is on a plan that lets nothing pass. */
  readonly isBlocked?: true
  /** What listeners are told of it beside the decision. */
  readonly context?: object
  /** Of a step: how long its request may go on asking. */
  readonly turn?: Turn | undefined
}

/** The time that all steps of a request have together. */
export interface Turn {
  /** The request was answered: nothing may be sent for it any more. */
  isOver: boolean
}

/** Whose each limit of some parts is. */
export function ownersOf(parts: readonly Part[]): Subject[] {
  return parts.flatMap(({ limits, subject }) => limits.map(() => subject))
}
