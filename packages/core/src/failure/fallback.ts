import type { Consumption } from '../requests/request.js'
import { decide, decideByPolicy, type Decision } from '../limiter/decision.js'
import type { StoreError } from '../base/errors.js'
import { asksOf, refundsOf } from '../stores/sub-requests.js'
import { isOutcome } from '../stores/outcome-check.js'
import type { Answer, Outcome, RefundRequest, StoreRequest } from '../stores/contract.js'
import { Headcount } from './instance-counter.js'
import { LocalLimiter, type LocalOptions } from './local-limiter.js'
import { choosePolicy, type FailurePolicyOption } from '../plans/failure-policy.js'
import { Settlement, type SettlementOptions } from './reconciliation.js'

/** A consumption that limits hold. */
export type Limited = Consumption & StoreRequest

export interface FallbackOptions extends SettlementOptions {
  readonly policy: FailurePolicyOption
  /** What its decisions are of. */
  readonly by: object
  readonly local: LocalOptions
  /** Gives back what the store took for a request that had been answered otherwise. Never rejects. */
  readonly refund: (request: RefundRequest) => Promise<boolean>
}

const MOST_SUBJECTS = 10_000

/** Decides where the store could not, by the failure policy, and squares that with the store when it is back. */
export class Fallback {
  readonly #options: FallbackOptions
  readonly #local: LocalLimiter
  readonly #settlement: Settlement
  /** Undefined where the user says how many there are. */
  readonly #headcount: Headcount | undefined
  readonly #letPass = new WeakSet<StoreRequest>()

  constructor(options: FallbackOptions) {
    this.#options = options
    this.#local = new LocalLimiter(options.local.maxSubjects ?? MOST_SUBJECTS)
    this.#settlement = new Settlement(this.#local, options)
    const { instances } = options.local
    const onCount = (count: number): void => void (this.#local.share = 1 / count)
    if (instances === undefined) {
      const { charge: consume, refund } = options
      this.#headcount = new Headcount({ consume, refund, onCount })
    } else {
      onCount(instances)
    }
  }

  /** Remembers what the store said, to go on from. */
  note(request: Limited, outcome: Outcome): void {
    const policy = this.#policyOf(request)
    if (policy === 'open' || policy === 'closed') return
    const nowMs = this.#local.note(request, outcome)
    this.#headcount?.tick(nowMs)
  }

  decide(request: Limited, error: StoreError, isPeek: boolean): Decision {
    const policy = choosePolicy(this.#policyOf(request), request.subject, error)
    if (policy !== 'local') {
      if (policy === 'open') this.#letPass.add(request)
      return decideByPolicy(request, policy)
    }
    const outcome = isPeek ? this.#local.peek(request) : this.#local.consume(request)
    const decision = decide(request, outcome, { source: 'local', isPeek, by: this.#options.by })
    if (decision.allowed && !isPeek && !this.#options.isOpen(request.key)) this.#settlement.due()
    return decision
  }

  #policyOf({ plan }: Limited): FailurePolicyOption {
    return plan.onStoreFailure ?? this.#options.policy
  }

  /** What the store took late: of requests that were let pass it stays, others are charged apart, or were denied. */
  late(batch: readonly StoreRequest[], answers: readonly Answer[]): void {
    batch.forEach((request, i) => {
      const answer: unknown = answers[i]
      if (this.#letPass.has(request) || !isOutcome(answer, countOf(request))) return
      if (answer.limits.some(({ wait }) => wait !== 0)) return
      for (const refund of refundsOf(asksOf(request), answer, request.cost)) void this.#options.refund(refund)
    })
  }

  /** Whether units of a request that was decided here went back. */
  refund(request: StoreRequest, units: number): boolean {
    return this.#local.refund(request, units)
  }

  forget(key: string): void {
    this.#local.forget(key)
  }

  /** Tells the store what was admitted beside it, before it decides again. */
  recover(partition: number): Promise<void> {
    return this.#settlement.recover(partition)
  }

  /** The same for the last time, as far as the store answers. */
  async end(): Promise<void> {
    await Promise.all([this.#settlement.end(), this.#headcount?.leave()])
  }
}

function countOf(request: StoreRequest): number {
  return asksOf(request).reduce((sum, { set }) => sum + set.limits.length, 0)
}
