import type { FailurePolicyOption } from '../plans/failure-policy.js'
import type { Limit } from '../plans/limit/limit.js'
import type { Plan } from '../plans/plan.js'
import type { Subject } from '../plans/subject.js'
import type {
  UnchargedRequest,
  Hold,
  LeaseRequest,
  Outcome,
  SlotHolder,
  SlotsRequest,
  SubRequest,
} from '../stores/contract.js'

/** What a request asks of one key: the key of a subject on its plan, in a group, or with a stacked limit. */
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
 * A request on its way from the builder to the store: the subject that pays, its plan, and what is asked of which keys.
 */
export type Request = UnchargedRequest<Part> & RequestTerms

interface RequestTerms {
  /** The subject that pays. */
  readonly subject: Subject
  /** Its plan. */
  readonly plan: Plan
  /** Units asked of every limit. */
  readonly cost: number
  /** The limits of all parts: the same array for all requests with the same plans, so that headers are cached. */
  readonly limits: readonly Limit[]
  /** The steps, in the order in which they are asked, if the request cannot be decided in one. */
  readonly steps?: readonly Request[] | undefined
  /** Set when one of its subjects is on a plan that is `blocked`. */
  readonly isBlocked?: true
  /** While it waits for a place, it gives that back when this aborts. */
  readonly signal?: AbortSignal | undefined
  /** How long it has waited already, in ms: a route asks more for a request that waited before it was let in. */
  readonly waitedMs?: number | undefined
  /** The second argument of listeners, beside the decision. */
  readonly context?: object
  /** Set while it is decided if it takes slots: of a request and all its steps the same. */
  readonly inFlight?: RequestSlots | undefined
  /** Set on steps, and on what is asked again: the deadline that all asking for the request shares. */
  readonly deadline?: SharedDeadline | undefined
}

/** What is asked of one key without a caller: the leases of a process, or how many requests it has in flight. */
export function messageAbout(part: Part, plan: Plan, message: LeaseMessage | SlotsMessage): Request {
  const { subject, limits, shard } = part
  const { slots, ...kind } = message
  return { subject, plan, cost: 1, parts: [{ ...part, cost: 1, slots }], limits, shard, ...kind }
}

type LeaseMessage = Pick<LeaseRequest, 'grant' | 'order'> & { readonly slots?: undefined }
type SlotsMessage = Pick<SlotsRequest, 'grant'> & { readonly slots: SlotHolder }

/** The request, and each of its steps, putting its cost beside the limits; without a hold, to take it as any other does. */
export function withHold(request: Request, hold: Hold | undefined): Request {
  const steps = request.steps?.map((step) => withHold(step, hold))
  return { ...request, grant: 'all', order: undefined, hold, steps }
}

/** The deadline that all asking for a request shares. */
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
   * Called with the store's outcome for it.
   *
   * @param sentAtMs when its batch was sent, in ms since the process started; not used where answers are values
   */
  answered(step: Request, outcome: Outcome, sentAtMs: number): void
  /** Called when the request is decided: only the first call counts. */
  conclude(isAllowed: boolean): void
  /** Gives the slots back. Returns whether there were any: true once. */
  release(): boolean
}

/** Whether no plan of a request has it wait, or counts requests in flight: most are so. */
export function isPlain({ parts }: Request): boolean {
  for (let i = 0; i < parts.length; i += 1) {
    const { wait, inFlightIndex } = (parts[i] as Part).set
    if (wait !== undefined || inFlightIndex !== undefined) return false
  }
  return true
}

/** Whether a limit of a request counts requests in flight. */
export function takesSlots({ parts }: Request): boolean {
  for (const { set } of parts) if (set.inFlightIndex !== undefined) return true
  return false
}
