import { isA, StoreError } from '../../base/errors.js'
import type { MaybePromise } from '../../base/promises.js'
import type { Warn } from '../../base/warnings.js'
import { Fallback } from '../../failure/fallback.js'
import { Deadlines } from '../../failure/guard/deadlines.js'
import { StoreAccess } from '../../failure/guard/store-access.js'
import type { LocalOptions } from '../../failure/local/local-limiter.js'
import { GiveBacks } from '../../failure/outbox.js'
import { Holds } from '../../features/holds/holds.js'
import type { FailurePolicyOption } from '../../plans/failure-policy.js'
import type { FeatureHost, GivenBack } from '../../requests/feature.js'
import type { SubjectKeys } from '../../requests/request-builder.js'
import { type Request, type Verdict, isPlain, toVerdict } from '../../requests/request.js'
import type { Conclude } from '../../stores/batcher.js'
import type {
  AccountRequest,
  Answer,
  Outcome,
  RefundRequest,
  Store,
  StoreRequest,
  SubRequest,
} from '../../stores/contract.js'
import { isOutcome, limitsByPart } from '../../stores/outcome-check.js'
import { refundOf } from '../../stores/receipts.js'
import type { ChangeEvents } from '../report/events.js'
import type { Reporter } from '../report/reporter.js'
import { Features, type MakeFeatures } from './features.js'

export interface VerdictsOptions {
  readonly store: Store
  readonly onStoreFailure: FailurePolicyOption
  readonly local: LocalOptions
  readonly deadlineMs: number
  /** What all keys begin with. */
  readonly begin: string
  readonly warn: Warn
  /** As in FallbackOptions. */
  readonly areCounted: () => boolean
  readonly features: MakeFeatures
}

/**
 * Gets verdicts on steps: from the store, or from the failure policy if the store cannot answer or the shard's breaker is
 * not closed. Features learn from every outcome.
 */
export class Verdicts implements FeatureHost<ChangeEvents> {
  /**
   * For all calls, and for all requests in several steps. One list, since a request must end before a call that it made
   * later. Otherwise its next step would be sent.
   */
  readonly deadlines: Deadlines
  readonly features: Features
  readonly holds: Holds
  readonly store: StoreAccess
  readonly #fallback: Fallback
  readonly #giveBacks: GiveBacks
  readonly #reporter: Reporter
  #isEnded = false

  constructor(options: VerdictsOptions, reporter: Reporter) {
    this.#reporter = reporter
    this.deadlines = new Deadlines(options.deadlineMs)
    this.store = new StoreAccess(options.store, {
      deadlines: this.deadlines,
      onFailure: (error, requests) => reporter.storeError(error, requests),
      onLate: (batch, answers) => this.#late(batch, answers),
      onChanged: (keys) => this.features.forget('changed', keys),
      onCall: (shard, sinceMs, error) => reporter.storeCall(shard, sinceMs, error),
      onBreaker: (state, shard, error) => reporter.breaker({ state, shard, error }),
      onFailedProbe: (error, isNews) => reporter.failedProbe(error, isNews),
      recover: (shard) => this.features.recover(shard),
    })
    this.#giveBacks = new GiveBacks(this.store)
    const onReconciled: Reporter['reconciled'] = (reconciled, shard) => reporter.reconciled(reconciled, shard)
    this.#fallback = new Fallback({ ...options, onReconciled }, this)
    this.holds = new Holds(this)
    // These three come last, since the others may still give back or charge as they end.
    this.features = new Features([...options.features(this), this.holds, this.#fallback, this.#giveBacks])
  }

  get answersAtOnce(): boolean {
    return this.store.answersAtOnce
  }

  /** Whether the limiter was closed, so that the store is not asked for callers any more. */
  get isEnded(): boolean {
    return this.#isEnded
  }

  end(): void {
    this.#isEnded = true
  }

  /** Why the store must not be asked; undefined if it can be. */
  refusal({ shard }: Request): StoreError | undefined {
    if (!this.#isEnded) return this.store.refusal(shard)
    const error = closedError()
    this.#reporter.storeError(error, 1)
    return error
  }

  /** Sends a caller's request or step to the store. Nothing else does, because in-flight must know of each. */
  consume<T>(step: Request, conclude: Conclude<Request, MaybePromise<T>>): MaybePromise<T> {
    step.inFlight?.sent(step)
    return this.store.consume(step, conclude)
  }

  learn(step: Request, outcome: Outcome, sentAtMs: number, isPeek = false): void {
    step.inFlight?.answered(step, outcome, sentAtMs)
    if (!this.answersAtOnce) this.features.learn(step, outcome, sentAtMs, isPeek)
    if (!isPlain(step)) this.#tellBlocks(step, outcome)
  }

  /** Features note what the store said of a request that is decided. Steps before a denial have given back what they took. */
  noteDecided(verdicts: readonly Verdict[]): void {
    const denials = verdicts.filter(({ allowed }) => !allowed)
    this.noteTaken(denials.length > 0 ? denials : verdicts)
  }

  /** Features note what the store said of steps. */
  noteTaken(verdicts: readonly Verdict[]): void {
    for (const { source, step, outcome } of verdicts) {
      const isStored = source === 'store' || source === 'place'
      if (isStored && outcome && !isPlain(step)) this.features.note(step, outcome)
    }
  }

  #late(batch: readonly StoreRequest[], answers: readonly Answer[]): void {
    this.features.late(batch, answers)
    for (const [i, step] of (batch as readonly Request[]).entries()) {
      const answer = answers[i]
      if (isOutcome(answer, step)) this.#tellBlocks(step, answer)
    }
  }

  /** Emits the blocks that a request began. The store tells only this request, so each is emitted once. */
  #tellBlocks({ parts }: Request, { at, limits: all }: Outcome): void {
    for (const [{ subject, planName: plan, place }, limits] of limitsByPart(parts, all)) {
      const block = limits[0]?.block
      if (!block?.isNew) continue
      const until = Math.ceil((at + block.endsInUs) / 1000)
      this.#reporter.emit('blocked', { subject, plan, place, until, level: block.level })
    }
  }

  /** Has one step decided, by the store or the failure policy. Never rejects. */
  ask(step: Request): MaybePromise<Verdict> {
    const refused = this.refusal(step)
    return refused ? this.fallBack(step, refused) : this.consume(step, this.read)
  }

  /** The verdict for a store's answer; the failure policy's if that is not an outcome. Bound, so that it is made only once. */
  readonly read = (step: Request, given: unknown, sentAtMs: number): Verdict => {
    const read = this.#verdictOr(step, given, sentAtMs)
    if (!isA(read, StoreError)) return read
    this.features.failed(step)
    // When the deadline passed, the policy decided this step already.
    if (step.deadline?.isOver) return { source: 'closed', allowed: false, step, error: read }
    return this.fallBack(step, read)
  }

  /** The verdict for a store's answer; the error if it is not an outcome. */
  #verdictOr(step: Request, given: unknown, sentAtMs: number, isPeek = false): Verdict | StoreError {
    if (!isOutcome(given, step)) return this.#reporter.invalidAnswerError(given, this.answersAtOnce)
    this.learn(step, given, sentAtMs, isPeek)
    return toVerdict('store', step, given)
  }

  /** Has the store decide one step; the error if it cannot. Never rejects. */
  take(step: Request): MaybePromise<Verdict | StoreError> {
    const failed = (error: StoreError): StoreError => {
      step.inFlight?.conclude(false)
      return error
    }
    const refused = this.refusal(step)
    if (refused) return failed(refused)
    return this.consume(step, (_, given, sentAtMs) => {
      const read = this.#verdictOr(step, given, sentAtMs)
      return isA(read, StoreError) ? failed(read) : read
    })
  }

  /** The verdict that a request would get, by the failure policy if the store cannot say. */
  peek(step: Request): MaybePromise<Verdict> {
    const refused = this.refusal(step)
    if (refused) return this.#fallback.peek(step, refused)
    return this.store.peek(step, (_, given, sentAtMs) => {
      const read = this.#verdictOr(step, given, sentAtMs, true)
      return isA(read, StoreError) ? this.#fallback.peek(step, read) : read
    })
  }

  /** As `Fallback.instancesAre`. */
  instancesAre(count: number): void {
    this.#fallback.instancesAre(count)
  }

  /** The failure policy's verdict on a step that the store cannot decide, or can no longer. */
  fallBack(step: Request, error: StoreError): Verdict {
    return this.#fallback.decide(step, error)
  }

  /** Makes features give back units that are in the way of a step: see `Feature.makeRoom`. */
  makeRoom({ source, step, outcome }: Verdict): Promise<unknown> | undefined {
    return source === 'store' && outcome ? this.features.makeRoom(step, outcome) : undefined
  }

  /** The store answered a step that was decided without it. Features have learnt from the outcome. */
  late({ source, step, outcome }: Verdict): void {
    if (source !== 'store' || !outcome) return
    this.#fallback.late([step], [outcome])
    this.holds.late([step], [outcome])
  }

  /** Called for each step when its request is decided, after excess units were given back. */
  decided({ source, step }: Verdict): void {
    if (source === 'local') this.#fallback.release(step)
  }

  /** Gives units of a verdict back to where they were taken from. Never rejects. */
  async giveBack(verdict: Verdict, units: number): Promise<GivenBack> {
    const { source, step, outcome } = verdict
    const given = this.features.giveBack(verdict, units)
    if (given) return given
    return source === 'store' && outcome ? this.#giveBacks.give(refundOf(step, outcome, units)) : 'gone'
  }

  /**
   * Forgets all counts of a subject. Returns whether there were any.
   *
   * @throws {StoreError} when the store failed, or the limiter was closed
   */
  async reset(subject: SubjectKeys): Promise<boolean> {
    if (this.#isEnded) throw closedError()
    const { keys, marks = [] } = subject
    const { features } = this
    const forget = (): void => features.forget('reset', [...keys, ...marks])
    // Before the reset, too: nothing may be served that the store no longer counts.
    features.forget('resetting', keys)
    try {
      const wasThere = await this.store.reset(subject, forget)
      // Marks are no counts, so they do not say whether there were any.
      if (marks.length > 0) await this.store.reset({ ...subject, keys: marks }, forget)
      forget()
      return wasThere
    } catch (error) {
      features.forget('perhaps-reset', [...keys, ...marks])
      throw error
    }
  }

  /**
   * Ends a subject's block, and forgets its denials. Repeating it changes nothing. Returns whether it was blocked.
   *
   * @throws {StoreError} when the store failed, or the limiter was closed
   */
  async unblock(subject: SubjectKeys): Promise<boolean> {
    if (this.#isEnded) throw closedError()
    const forget = (): void => this.features.forget('unblocked', subject.keys)
    try {
      return await this.store.unblock(subject, forget)
    } finally {
      forget()
    }
  }

  /**
   * Books an entry on a limit, or asks what the limit has counted. Repeating it changes nothing.
   *
   * @param marks of warnings that no longer hold once it is booked
   * @throws {StoreError} when the store failed, or the limiter was closed
   */
  async book(request: AccountRequest, marks: readonly string[]): Promise<Outcome> {
    if (this.#isEnded) throw closedError()
    const { shard, parts } = request
    const { key } = parts[0] as SubRequest
    const forget = (): void => this.features.forget('changed', [key])
    try {
      const outcome = await this.store.book(request, forget)
      if (marks.length > 0 && outcome.booked === 'booked') {
        // It is booked. If this fails, a warning of the new period is lost.
        await this.store.reset({ keys: marks, shard, sets: [] }, forget).catch(() => {})
        this.features.forget('renewed', [key, ...marks])
      }
      return outcome
    } finally {
      if (request.entry.kind !== 'usage') forget()
    }
  }

  send(request: Request, onAnswer: (outcome: Outcome | undefined) => void): void {
    // The breaker was reported when it opened.
    if (this.isRefused(request.shard)) return onAnswer(undefined)
    void this.store.consume(request, (_, given, sentAtMs) => {
      if (!isOutcome(given, request)) {
        this.#reporter.invalidAnswerError(given)
        return onAnswer(undefined)
      }
      // The answer to a report of requests in flight is about these alone, and shows nothing about limits with a window.
      if (request.grant === 'lease') {
        if (!this.answersAtOnce) this.#fallback.learn(request, given, sentAtMs)
        this.features.note(request, given)
      }
      onAnswer(given)
    })
  }

  charge(batch: readonly StoreRequest[], onAnswers: (answers: readonly Answer[]) => void): void {
    void this.store.charge(batch).then(onAnswers)
  }

  isRefused(shard: number): boolean {
    return this.store.refusal(shard) !== undefined
  }

  refund(request: RefundRequest): Promise<GivenBack> {
    return this.#giveBacks.give(request)
  }

  emit<Name extends keyof ChangeEvents>(event: Name, change: ChangeEvents[Name]): void {
    this.#reporter.emit(event, change)
  }
}

/** The error for what comes after `close`. */
function closedError(): StoreError {
  return new StoreError('the limiter was closed: close it after the last request', {
    code: 'ERR_TOLLGATE_CLOSED',
  })
}
