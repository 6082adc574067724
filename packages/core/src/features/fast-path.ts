import type { Request } from '../requests/request.js'
import type { Verdict } from '../requests/verdict.js'
import type { Outcome, Grant, LimitOutcome, SubRequest } from '../stores/contract.js'
import type { LeaseChange } from './leases/lease-change.js'

/**
 * Why what is known of some keys no longer holds: units came back to them, or were charged; they were reset; the plans were
 * replaced; or the limiter is being closed.
 */
export type ForgetReason = 'changed' | 'reset' | 'plans' | 'closed'

/** What a fast path can ask of the pipeline. */
export interface FastPathHost {
  /** Sends a request of the path's own, which no caller waits for. `onAnswer` gets no outcome if the store gave none. */
  send(request: Request, onAnswer: (outcome: Outcome | undefined) => void): void
  readonly told: LeaseListener
}

/** Receives what becomes of units that were taken in advance. */
export interface LeaseListener {
  /** @param isRenewal of a granted lease: whether it followed another of the same subject */
  lease(change: LeaseChange, isRenewal?: boolean): void
  /** Units of a lease that were served; told when the lease is over. */
  leaseUsed(units: number): void
}

/** A source of decisions that needs no store. The pipeline tries each before the breaker. */
export interface FastPath {
  /** Whether it answers only requests without parts, which no limit counts. It is not asked for others then. */
  readonly ofUncounted?: true
  /** How many leases it can serve from now. */
  readonly held?: number
  /** Called once, before anything else. */
  start?(host: FastPathHost): void
  /**
   * The verdict if it is known, else undefined. Called for every request: must be quick, and never throw.
   *
   * @param isPeek whether the caller only looks: then it wants all that the store knows
   */
  answer(request: Request, isPeek: boolean): Verdict | undefined
  /**
   * Called with the store's outcome for any caller's request.
   *
   * @param sentAtMs when its batch was sent, in ms since the process started (`elapsedMs`). The outcome is no older, so
   *                 one that was sent before `forget` was called may be of before that. 0 from a synchronous store, whose
   *                 outcomes are of now
   * @param isPeek   whether the caller only looked
   */
  learn?(request: Request, outcome: Outcome, sentAtMs: number, isPeek: boolean): void
  /**
   * Called with the store's outcome for a request that it denied, or gave less than was asked for. If that is because of units which
   * the path took in advance, it gives them back.
   *
   * @returns resolves when they are back, and never rejects; undefined: the request would be denied again
   */
  makeRoom?(request: Request, outcome: Outcome): Promise<unknown> | undefined
  /** Called when something happened in this process after which what is known of these keys (of all) may be wrong. */
  forget?(reason: ForgetReason, keys?: readonly string[]): void
}

/** The fast paths of a limiter, in the order in which they are asked. */
export class FastPaths {
  readonly #paths: readonly FastPath[]
  /** Those for requests with limits. */
  readonly #ofCounted: readonly FastPath[]
  /** Those that do more than answer. */
  readonly #learning: readonly FastPath[]

  constructor(paths: readonly FastPath[], host: FastPathHost) {
    this.#paths = paths
    this.#ofCounted = paths.filter(({ ofUncounted }) => !ofUncounted)
    this.#learning = paths.filter(({ learn, forget }) => learn ?? forget)
    for (const path of paths) path.start?.(host)
  }

  /** How many leases can be served from now. */
  get held(): number {
    return this.#paths.reduce((sum, { held = 0 }) => sum + held, 0)
  }

  /** The verdict of the first path that knows it. */
  answer(request: Request, isPeek = false): Verdict | undefined {
    const paths = request.parts.length === 0 ? this.#paths : this.#ofCounted
    for (const path of paths) {
      const known = path.answer(request, isPeek)
      if (known) return known
    }
    return undefined
  }

  /** Tells all paths the store's outcome for a caller's request. */
  learn(request: Request, outcome: Outcome, sentAtMs: number, isPeek: boolean): void {
    for (const path of this.#learning) path.learn?.(request, outcome, sentAtMs, isPeek)
  }

  /** Has units given back that stand in the way of a request: see FastPath. */
  makeRoom(request: Request, outcome: Outcome): Promise<unknown> | undefined {
    for (const path of this.#learning) {
      const room = path.makeRoom?.(request, outcome)
      if (room) return room
    }
    return undefined
  }

  /** @param keys undefined: all */
  forget(reason: ForgetReason, keys?: readonly string[]): void {
    for (const path of this.#learning) path.forget?.(reason, keys)
  }
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
    if (denies && (i === set.slots || remaining >= needed)) return Infinity
    if (i !== set.slots) lacking = Math.max(lacking, needed - remaining)
  }
  return lacking
}

/** Allows subjects whose plan has no limits. Nothing is counted for them. */
export const unlimited: FastPath = {
  ofUncounted: true,
  answer: (step) => (step.parts.length === 0 ? { source: 'unlimited', allowed: true, step } : undefined),
}

/** Denies subjects whose plan admits nothing. If one of several has such a plan, nothing is taken from the others. */
export const blocked: FastPath = {
  ofUncounted: true,
  answer: (step) => (step.isBlocked ? { source: 'blocked', allowed: false, step } : undefined),
}
