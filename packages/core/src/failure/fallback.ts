import { reasonOf, type StoreError } from '../base/errors.js'
import type { Warn } from '../base/warnings.js'
import { choosePolicy, type FailurePolicy, type FailurePolicyOption } from '../plans/failure-policy.js'
import type { Subject } from '../plans/subject.js'
import { refundOf } from '../stores/receipts.js'
import type { Part, Request } from '../requests/request.js'
import { isTaken, unitsTaken, type Verdict } from '../requests/verdict.js'
import type { Answer, Outcome, RefundRequest, StoreRequest } from '../stores/contract.js'
import { isOutcome } from '../stores/outcome-check.js'
import { InstanceCounter } from './instance-counter.js'
import { LocalLimiter, type LocalOptions } from './local-limiter.js'
import { Reconciliation, type ReconciliationOptions } from './reconciliation.js'

export interface FallbackOptions extends ReconciliationOptions {
  readonly policy: FailurePolicyOption
  readonly local: LocalOptions
  /** What all keys of the limiter begin with. */
  readonly begin: string
  readonly warn: Warn
  /** Gives back what the store took of a request that had been answered otherwise. Never rejects. */
  readonly giveBack: (request: RefundRequest) => Promise<boolean>
}

const MOST_SUBJECTS = 10_000

/** Decides where the store could not, by the failure policy, and squares that with the store when it is back. */
export class Fallback {
  readonly #options: FallbackOptions
  readonly #local: LocalLimiter
  readonly #reconciliation: Reconciliation
  /** Undefined where the user says how many there are. */
  readonly #instances: InstanceCounter | undefined
  /** Requests that were let pass though the store may have counted them: they stay counted. */
  readonly #letPass = new WeakSet<StoreRequest>()

  constructor(options: FallbackOptions) {
    this.#options = options
    this.#local = new LocalLimiter(options.local.maxSubjects ?? MOST_SUBJECTS)
    this.#reconciliation = new Reconciliation(this.#local, options)
    const { instances } = options.local
    const onCount = (count: number): void => void (this.#local.share = 1 / count)
    if (instances === undefined) {
      const { begin, store, giveBack } = options
      this.#instances = new InstanceCounter({
        begin,
        consume: (batch) => store.charge(batch),
        giveBack,
        onCount,
      })
    } else {
      onCount(instances)
    }
  }

  /** Remembers what the store said, to go on from. */
  note(request: Request, outcome: Outcome): void {
    if (!request.parts.some((part) => mayLimit(this.#policyOf(part)))) return
    const nowMs = this.#local.note(request, outcome)
    this.#instances?.tick(nowMs)
  }

  /** What is answered to a request that the store could not decide. Each subject's own policy holds, and all must allow. */
  decide(request: Request, error: StoreError): Verdict {
    const { parts, isClosed } = this.#choose(request, error)
    if (isClosed) return { source: 'closed', allowed: false, step: request, error }
    if (parts.length === 0) {
      // Of more units that are asked for afterwards nothing is given: what is counted late of them goes back.
      if (request.grant !== 'upTo') this.#letPass.add(request)
      return { source: 'open', allowed: true, step: request, error }
    }
    const outcome = this.#local.consume(request, parts)
    const allowed = isGiven(request, outcome)
    // Of a step it is due when all others are decided.
    if (allowed && !request.turn) this.#reconciliation.due(request)
    return { source: 'local', allowed, step: request, outcome, parts, error }
  }

  /** The same, with nothing taken. */
  peek(request: Request, error: StoreError): Verdict {
    const { parts, isClosed } = this.#choose(request, error)
    if (isClosed) return { source: 'closed', allowed: false, step: request, error }
    if (parts.length === 0) return { source: 'open', allowed: true, step: request, error }
    const outcome = this.#local.peek(request, parts)
    return { source: 'local', allowed: isTaken(outcome), step: request, outcome, parts, error }
  }

  /** What the store took late: of requests that were let pass it stays, others are charged apart, or were denied. */
  late(batch: readonly StoreRequest[], answers: readonly Answer[]): void {
    batch.forEach((request, i) => {
      const answer: unknown = answers[i]
      if (this.#letPass.has(request) || !isOutcome(answer, request)) return
      const units = unitsTaken(request, answer)
      if (units > 0) void this.#options.giveBack(refundOf(request, answer, units))
    })
  }

  /** A request that was let pass has been denied after all. */
  revoke(request: StoreRequest): void {
    this.#letPass.delete(request)
  }

  /** Whether units of a request that was decided here went back. */
  refund(request: Request, units: number): boolean {
    return this.#local.refund(request, units)
  }

  /** All steps of a request have been decided. */
  release(request: Request): void {
    this.#local.release(request)
    this.#reconciliation.due(request)
  }

  forget(keys: readonly string[]): void {
    for (const key of keys) this.#local.forget(key)
  }

  /** Tells a shard what was admitted beside it, before it decides again. */
  recover(shard: number): Promise<void> {
    return this.#reconciliation.recover(shard)
  }

  /** The same for the last time, as far as the store answers. */
  async end(): Promise<void> {
    await Promise.all([this.#reconciliation.end(), this.#instances?.leave()])
  }

  #policyOf({ onStoreFailure }: Part): FailurePolicyOption {
    return onStoreFailure ?? this.#options.policy
  }

  /** What a function of the user does wrong must not decide a request: then it is `local`. */
  #policyFor(part: Part, error: StoreError): FailurePolicy {
    try {
      return choosePolicy(this.#policyOf(part), part.subject, error)
    } catch (thrown) {
      const text = `onStoreFailure failed, and 'local' was used: ${reasonOf(thrown)}`
      this.#options.warn('TOLLGATE_POLICY', text)
      return 'local'
    }
  }

  #choose(request: Request, error: StoreError): Choice {
    // A function is asked once a subject, however many limits that has.
    const chosen = new Map<Subject, FailurePolicy>()
    const parts: Part[] = []
    let isClosed = false
    for (const part of request.parts) {
      const { subject } = part
      const policy = chosen.get(subject) ?? this.#policyFor(part, error)
      chosen.set(subject, policy)
      if (policy === 'closed') isClosed = true
      if (policy === 'local') parts.push(part)
    }
    return { parts, isClosed }
  }
}

/** What the policies of a request's subjects come to. */
interface Choice {
  /** Those that this process limits by itself. */
  readonly parts: readonly Part[]
  readonly isClosed: boolean
}

function mayLimit(policy: FailurePolicyOption): boolean {
  return policy !== 'open' && policy !== 'closed'
}

function isGiven({ grant }: StoreRequest, outcome: Outcome): boolean {
  return grant === 'upTo' || isTaken(outcome)
}
