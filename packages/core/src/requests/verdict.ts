import type { StoreError } from '../base/errors.js'
import type {
  Grant,
  LimitOutcome,
  Outcome,
  RefundRequest,
  StoreRequest,
  SubRequest,
} from '../stores/contract.js'
import type { Part, Request } from './request.js'

/** Units that a request was served with from a lease. */
export interface LeasedUnits {
  /**
   * Gives some of them back.
   *
   * @param nowMs by the clock that leases end by
   * @returns true if the lease has them again; else what to send to the store, if it still knows when they were used
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
    | 'local'
    | 'open'
    | 'closed'
  readonly allowed: boolean
  readonly step: Request
  /** From the store, from its remembered denial, or from the local limiter. */
  readonly outcome?: Outcome
  /** The parts that the outcome covers, if not all of the step. */
  readonly parts?: readonly Part[]
  /** Of the source `lease`: the units of each part. */
  readonly uses?: readonly LeasedUnits[]
  /** How many units of the request other verdicts took from the same parts. Left out: none. */
  readonly above?: number
  /** Of the source `place`: how long the request waited, in ms. */
  readonly waitedMs?: number
  /** Of the source `local`: this process's share of every quota, from 0 to 1. */
  readonly share?: number
  /** Why the store did not decide. */
  readonly error?: StoreError
}

/** In the outcome of a remembered denial: `remaining` is not known any more, since others may have taken units. */
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

/** Units taken from each limit, by an outcome. Those on lease, reserved or in a place are not taken yet. */
export function unitsTaken(
  { grant, parts }: Pick<StoreRequest, 'grant' | 'parts'>,
  outcome: Outcome,
): number {
  if (grant === 'lease' || (outcome.hold && outcome.hold.endsInUs > 0)) return 0
  if (grant === 'upTo') return outcome.limits[0]?.granted ?? 0
  return isTaken(outcome) ? (parts[0]?.cost ?? 0) : 0
}

/**
 * How many more units each limit of a part would need for its cost; with the grant `upTo`, for one more unit. Infinity where units
 * would not help: too many requests are in flight, or too many reservations are open.
 *
 * @param limits what the store said of them
 */
export function lackingUnits(
  { set, cost }: SubRequest,
  grant: Grant,
  limits: readonly LimitOutcome[],
): number {
  const needed = grant === 'upTo' ? 1 : cost
  let lacking = 0
  for (const [i, { wait, remaining }] of limits.entries()) {
    const denies = grant === 'all' && wait !== 0
    if (denies && (i === set.inFlightIndex || remaining >= needed)) return Infinity
    if (i !== set.inFlightIndex) lacking = Math.max(lacking, needed - remaining)
  }
  return lacking
}

/** The error because of which the store did not decide all of them. */
export function errorIn(verdicts: readonly Verdict[]): StoreError | undefined {
  return verdicts.length === 1 ? verdicts[0]?.error : verdicts.find(({ error }) => error)?.error
}
