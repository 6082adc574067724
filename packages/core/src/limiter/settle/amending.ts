import { isA, StoreError } from '../../base/errors.js'
import { chain, type MaybePromise } from '../../base/promises.js'
import type { Part, Request, Verdict } from '../../requests/request.js'
import type { Outcome } from '../../stores/contract.js'
import { CountedDecision } from '../decision/counted-decision.js'
import { type Decision } from '../decision/decision.js'
import { type Settlement, holdBoth, noteTaken, settleDecision } from './settlement.js'
import { limitsOfParts } from '../../features/holds/hold.js'

/** What amending needs from the pipeline, which has made the decisions. */
export interface AmendingHost {
  /** Has the store decide a request in one step. It does not wait, and no feature answers. Never rejects. */
  take(request: Request): MaybePromise<Verdict | StoreError>
  /** Has the failure policy decide a request. */
  fallBack(request: Request, error: StoreError): Decision
  /** Has a request decided like any other. */
  consume(request: Request): MaybePromise<Decision>
  /** Makes the decision from verdicts, counts it and emits it. */
  conclude(request: Request, verdicts: readonly Verdict[]): Decision
  /** Gives units back. Never rejects. */
  refund(settlement: Settlement): Promise<unknown>
  /** Remembers what is under way, so that `close` waits for it. */
  track<T>(asked: Promise<T>): Promise<T>
}

/** What a request has taken so far, and what it asks for in total. */
interface Amendment {
  readonly first: Decision
  readonly taken: Settlement
  readonly request: Request
}

/**
 * Decides again on requests that were let in and that now have another cost, other counters or more limits. The new
 * decision covers all that they ask for, as if they had asked for it at once: what the first decision took is part of it,
 * or has gone back. Until then the request holds what the first decision took.
 *
 * Usually only what is missing is asked for. This needs a first decision by the store, by the same limits and keys, and a
 * cost within every quota.
 */
export class Amending {
  readonly #host: AmendingHost

  constructor(host: AmendingHost) {
    this.#host = host
  }

  /**
   * @param first   the decision that let the request in
   * @param asked   all that the request asks for now
   * @returns       the first decision itself, if it has taken exactly that
   */
  amend(first: Decision, asked: Request): MaybePromise<Decision> {
    if (CountedDecision.is(first) && isSame(CountedDecision.requestOf(first), asked)) return first
    const { waitedMs } = first
    const request = waitedMs === undefined ? asked : { ...asked, waitedMs }
    const taken = settleDecision(first, 0, this.#host)
    if (!taken) {
      // It has taken nothing, or was refunded.
      first.release()
      return this.#host.consume(request)
    }
    noteTaken(first, 0)
    const missing = canFit(first, request) ? findMissing(taken, request) : undefined
    const amendment = { first, taken, request }
    const decided = missing ? this.#take(amendment, missing) : this.#exchange(amendment)
    return decided instanceof Promise ? this.#host.track(decided) : decided
  }

  /** Takes what is missing. If that does not fit, everything is asked for at once, so that the denial reports it all. */
  #take(amendment: Amendment, missing: Request): MaybePromise<Decision> {
    const { first, taken, request } = amendment
    // The message that asks for a slot of the same key also reports that the earlier slot is free.
    if (missing.parts.some((part) => part.set.inFlightIndex !== undefined && isIn(taken.request, part)))
      first.release()
    return chain(this.#host.take(withoutCounting(missing)), (verdict) => {
      if (isA(verdict, StoreError)) return this.#fallBack(amendment, verdict)
      const { inFlight } = verdict.step
      if (!verdict.allowed) {
        inFlight?.conclude(false)
        return this.#exchange(amendment)
      }
      const verdicts = [...byCost(verdict, amendment), ...taken.verdicts.map((one) => inside(one, request))]
      return holdBoth(this.#host.conclude({ ...request, inFlight }, verdicts), first)
    })
  }

  /** Gives back what was taken, then has everything decided at once. */
  async #exchange({ first, taken, request }: Amendment): Promise<Decision> {
    const back = this.#host.refund(taken)
    // Without a common key, the old units cannot be in the way of the new ones.
    if (request.parts.some((part) => isIn(taken.request, part))) await back
    first.release()
    const [decision] = await Promise.all([this.#host.consume(request), back])
    return decision
  }

  /** The failure policy answers for all that was asked for. What the store has counted goes back when it answers again. */
  #fallBack({ first, taken, request }: Amendment, error: StoreError): Decision {
    void this.#host.refund(taken)
    first.release()
    return this.#host.fallBack(request, error)
  }
}

/** If it is denied, everything is asked for at once, and that denial counts. */
function withoutCounting(request: Request): Request {
  if (request.parts.every(({ set }) => !set.blockAfter)) return request
  return { ...request, parts: request.parts.map((part) => ({ ...part, countsDenial: false })) }
}

function isIn({ parts }: Pick<Request, 'parts'>, { key }: Part): boolean {
  return parts.some((part) => part.key === key)
}

/** The part of a request that counts under the same key by the same limits. */
function sameIn({ parts }: Request, { key, set }: Part): Part | undefined {
  return parts.find((part) => part.key === key && part.set === set)
}

function isSame(taken: Request, { cost, parts, isBlocked }: Request): boolean {
  if (isBlocked || cost !== taken.cost || parts.length !== taken.parts.length) return false
  return parts.every((part) => sameIn(taken, part))
}

/**
 * Whether what is missing can fit, as far as is known. If it cannot, the store is not asked for it: a cost above the quota
 * must not pass in two halves, and a denial would only cost a trip to the store. A limit that observes takes all of the cost or
 * nothing, so it must not see two halves either.
 */
function canFit({ limits, observed = [], cost }: Decision, request: Request): boolean {
  const more = request.cost - cost
  if (more > 0 && observed.some(({ wouldDeny }) => wouldDeny)) return false
  const isLeft = [...limits, ...observed].every(
    ({ remaining, windowMs, over }) => windowMs === 0 || over !== undefined || remaining >= more,
  )
  return (
    isLeft &&
    request.limits.every(
      ({ capacity, windowMs, overage }) => windowMs === 0 || overage || capacity >= request.cost,
    )
  )
}

/** What a request asks for beyond what was taken. Undefined if it no longer asks for all of that, or if this takes several steps. */
function findMissing({ request: taken, verdicts }: Settlement, request: Request): Request | undefined {
  const more = request.cost - taken.cost
  if (more < 0 || request.isBlocked || !verdicts.every(isByStore)) return undefined
  if (!taken.parts.every((part) => sameIn(request, part))) return undefined
  const parts = request.parts.flatMap((part) => {
    if (!isIn(taken, part)) return [part]
    return more > 0 ? [{ ...part, cost: more }] : []
  })
  const { steps = [request] } = request
  if (!steps.some((step) => parts.every((part) => isIn(step, part)))) return undefined
  const [{ cost, shard }] = parts as [Part, ...Part[]]
  return { ...request, cost, shard, parts, limits: limitsOfAll(parts), steps: undefined, signal: undefined }
}

function limitsOfAll(parts: readonly Part[]): Request['limits'] {
  return parts.length === 1 ? (parts[0] as Part).limits : parts.flatMap(({ limits }) => limits)
}

function isByStore({ source }: Verdict): boolean {
  return source === 'store' || source === 'place'
}

/** Splits a verdict on parts with different costs into one for each cost, so that the units can go back. */
function byCost(verdict: Verdict, { taken, request }: Amendment): Verdict[] {
  const { step, outcome } = verdict as Verdict & { readonly outcome: Outcome }
  const isKept = (part: Part): boolean => isIn(taken.request, part)
  const kept = step.parts.filter(isKept)
  const added = step.parts.filter((part) => !isKept(part))
  const of = (parts: readonly Part[], above: number): Verdict[] => {
    const limits = limitsOfParts(step, outcome, parts)
    const cost = parts[0]?.cost ?? 0
    const one = { ...verdict, step: { ...step, parts, cost }, outcome: { ...outcome, limits }, above }
    return parts.length === 0 ? [] : [inside(one, request)]
  }
  return [...of(kept, taken.request.cost), ...of(added, 0)]
}

/** The same verdict, with the parts as the request has them. */
function inside(verdict: Verdict, request: Request): Verdict {
  const parts = verdict.step.parts.map((part) => sameIn(request, part) ?? part)
  return { ...verdict, step: { ...verdict.step, parts, limits: limitsOfAll(parts) } }
}
