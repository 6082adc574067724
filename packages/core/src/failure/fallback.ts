import type { StoreError } from '../base/errors.js'
import { onceAMinute, thrownText, type Warn } from '../base/warnings.js'
import { choosePolicy, type FailurePolicy, type FailurePolicyOption } from '../plans/failure-policy.js'
import type { Subject } from '../plans/subject.js'
import { refundOf } from '../stores/receipts.js'
import type { Feature, FeatureHost, ForgetReason, GivenBack } from '../requests/feature.js'
import { type Part, type Request, type Verdict, isTaken, unitsTaken } from '../requests/request.js'
import type { Answer, Outcome, StoreRequest } from '../stores/contract.js'
import { isOutcome } from '../stores/outcome-check.js'
import { InstanceCounter } from './local/instance-counter.js'
import { LocalLimiter, type LocalOptions } from './local/local-limiter.js'
import { Reconciliation, type ReconciliationOptions } from './local/reconciliation.js'

export interface FallbackOptions extends Pick<ReconciliationOptions, 'onReconciled'> {
  readonly onStoreFailure: FailurePolicyOption
  readonly local: LocalOptions
  /** What all keys of the limiter begin with. */
  readonly begin: string
  /** Whether the store counts the limiters of this name by itself: see `instancesAre`. */
  readonly areCounted: () => boolean
  readonly warn: Warn
}

const MOST_SUBJECTS = 10_000

/** Decides what the store could not, by the failure policy, and reconciles that with the store when it is back. */
export class Fallback implements Feature {
  readonly #host: FeatureHost
  readonly #options: FallbackOptions
  readonly #warn: Warn
  readonly #local: LocalLimiter
  readonly #reconciliation: Reconciliation
  /** Undefined if the option `instances` says how many processes there are. */
  readonly #instances: InstanceCounter | undefined
  /** Requests that were let pass. The store may count them late, and then they stay counted. */
  readonly #letPass = new WeakSet<StoreRequest>()
  /** When the batch of the last answer was sent, in ms since the process started, and when its answers came. */
  #sentAtMs = -1
  #answeredAtMs = 0

  constructor(options: FallbackOptions, host: FeatureHost) {
    const charge = (batch: readonly StoreRequest[]): Promise<readonly Answer[]> =>
      new Promise((resolve) => host.charge(batch, resolve))
    this.#host = host
    this.#options = options
    this.#warn = onceAMinute(options.warn)
    this.#local = new LocalLimiter(options.local.maxSubjects ?? MOST_SUBJECTS)
    this.#reconciliation = new Reconciliation(this.#local, {
      charge,
      // A store that answers at once is never charged for an outage.
      isRefused: (shard) => host.answersAtOnce || host.isRefused(shard),
      onReconciled: options.onReconciled,
    })
    const { instances } = options.local
    if (instances === undefined) {
      this.#instances = new InstanceCounter({
        begin: options.begin,
        charge,
        giveBack: async (request) => (await host.refund(request)) === 'given',
        onCount: (count) => void (options.areCounted() || this.instancesAre(count)),
      })
    } else {
      this.#local.share = 1 / instances
    }
  }

  /**
   * Remembers an answer of the store, from which the local limiter continues.
   *
   * @param sentAtMs when its batch was sent, in ms since the process started
   */
  learn(request: Request, outcome: Outcome, sentAtMs: number): void {
    if (!this.#mayLimitAny(request.parts)) return
    // The answers of a batch come together, so the clock is read once for all of them: reading it takes longer than the
    // rest. So an answer may seem a little older than it is.
    if (sentAtMs !== this.#sentAtMs) {
      this.#sentAtMs = sentAtMs
      this.#answeredAtMs = this.#local.nowMs()
    }
    this.#local.note(request, outcome, this.#answeredAtMs)
    if (!this.#options.areCounted()) this.#instances?.tick(sentAtMs)
  }

  /** So many limiters of this name are open, in all processes. The option `instances` says it instead. */
  instancesAre(count: number): void {
    if (this.#instances) this.#local.share = 1 / Math.max(count, 1)
  }

  /** Decides a request that the store could not. Each subject has its own policy, and all must allow. */
  decide(request: Request, error: StoreError): Verdict {
    const { parts, isClosed } = this.#choose(request, error)
    if (isClosed) return { source: 'closed', allowed: false, step: request, error }
    if (parts.length === 0) {
      // An upTo request is given no units here. If the store counts it late, its units go back.
      if (request.grant !== 'upTo') this.#letPass.add(request)
      return { source: 'open', allowed: true, step: request, error }
    }
    const outcome = this.#local.consume(request, parts)
    const allowed = isGiven(request, outcome)
    // A step is charged later, by `release`, when all steps of its request are decided.
    if (allowed && !request.deadline) this.#reconciliation.due(request)
    return { source: 'local', allowed, step: request, outcome, parts, share: this.#local.share, error }
  }

  /** As `decide`, but takes nothing. */
  peek(request: Request, error: StoreError): Verdict {
    const { parts, isClosed } = this.#choose(request, error)
    if (isClosed) return { source: 'closed', allowed: false, step: request, error }
    if (parts.length === 0) return { source: 'open', allowed: true, step: request, error }
    const outcome = this.#local.peek(request, parts)
    const { share } = this.#local
    return { source: 'local', allowed: isTaken(outcome), step: request, outcome, parts, share, error }
  }

  /**
   * Requests that the store decided after they were answered here. Their units are given back: they were denied, or
   * are charged by reconciliation. Only the units of requests that were let pass stay counted.
   */
  late(batch: readonly StoreRequest[], answers: readonly Answer[]): void {
    batch.forEach((request, i) => {
      const answer: unknown = answers[i]
      if (this.#letPass.has(request) || !isOutcome(answer, request)) return
      const units = unitsTaken(request, answer)
      if (units > 0) void this.#host.refund(refundOf(request, answer, unitsOfEach(request, units)))
    })
  }

  /** After the store was charged for a local decision, its units cannot be given back. */
  giveBack({ source, step }: Verdict, units: number): Promise<GivenBack> | undefined {
    if (source === 'local') return Promise.resolve(this.#local.refund(step, units) ? 'given' : 'unknown')
    // If it was let pass, and the store counts it late, its units go back then.
    this.#letPass.delete(step)
    return undefined
  }

  /** Called when all steps of a request have been decided. */
  release(request: Request): void {
    this.#local.release(request)
    this.#reconciliation.due(request)
  }

  forget(reason: ForgetReason, keys: readonly string[] = []): void {
    if (reason === 'reset') for (const key of keys) this.#local.forget(key)
  }

  /** Charges a shard for what was admitted without it. */
  recover(shard: number, onDone: () => void): void {
    void this.#reconciliation.recover(shard).then(onDone)
  }

  /** Charges all shards that answer a last time. */
  async end(): Promise<void> {
    await Promise.all([this.#reconciliation.end(), this.#instances?.leave()])
  }

  #mayLimitAny(parts: readonly Part[]): boolean {
    for (const part of parts) if (mayLimit(this.#policyOf(part))) return true
    return false
  }

  #policyOf({ onStoreFailure }: Part): FailurePolicyOption {
    return onStoreFailure ?? this.#options.onStoreFailure
  }

  /** The policy for a part. If the user's policy function throws or returns something else, the policy is `local`. */
  #policyFor(part: Part, error: StoreError): FailurePolicy {
    try {
      return choosePolicy(this.#policyOf(part), part.subject, error)
    } catch (thrown) {
      const text = `onStoreFailure failed, and 'local' was used: ${thrownText(thrown)}`
      this.#warn('TOLLGATE_POLICY', text)
      return 'local'
    }
  }

  #choose(request: Request, error: StoreError): Choice {
    // A policy function is called once per subject, not once per limit.
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

/** The result of all policies of a request. */
interface Choice {
  /** The parts with the policy `local`. */
  readonly parts: readonly Part[]
  readonly isClosed: boolean
}

function mayLimit(policy: FailurePolicyOption): boolean {
  return policy !== 'open' && policy !== 'closed'
}

/** The units that a request took from each of its limits. They can differ between parts with the grant `all`. */
function unitsOfEach({ parts, grant }: StoreRequest, units: number): number[] {
  return parts.flatMap(({ set, cost }) => set.limits.map(() => (grant === 'all' ? cost : units)))
}

function isGiven({ grant }: StoreRequest, outcome: Outcome): boolean {
  return grant === 'upTo' || isTaken(outcome)
}
