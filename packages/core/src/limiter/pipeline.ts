import { StoreError } from '../base/errors.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import type { Fallback } from '../failure/fallback.js'
import type { GiveBacks, GivenBack } from '../failure/give-backs.js'
import type { FastPath } from '../fast-path/fast-path.js'
import { refundOf } from '../stores/receipts.js'
import type { SubjectKeys } from '../requests/request-builder.js'
import type { Request } from '../requests/request.js'
import { verdictOf, type Verdict } from '../requests/verdict.js'
import type { Outcome } from '../stores/contract.js'
import { isOutcome } from '../stores/outcome-check.js'
import { makeBacking, type BackingOptions } from './backing.js'
import { CountedDecision } from './counted-decision.js'
import { decideWithoutLimits, type Decision } from './decision.js'
import type { Events } from './events.js'
import type { Settlement } from './settlement.js'
import type { LimiterHealth, LimiterStats } from './stats.js'
import { consumeInTurn, takeUpTo, type StepsOptions } from './steps-in-turn.js'
import { errorOf, type StoreAccess } from './store-access.js'
import { StoreWarning } from './store-warning.js'
import { Telling } from './telling.js'

export interface PipelineOptions extends BackingOptions {
  /** Asked in this order. */
  readonly fastPaths: readonly FastPath[]
}

/**
 * The road of a decision: is it known already (fast path)? is the shard asked at all (breaker)? then the store, in one
 * step or several, and where it cannot answer the failure policy. What comes out is learnt, counted and told.
 */
export class Pipeline {
  readonly #telling: Telling
  readonly #fastPaths: readonly FastPath[]
  readonly #store: StoreAccess
  readonly #fallback: Fallback
  readonly #giveBacks: GiveBacks
  readonly #steps: StepsOptions
  readonly #unobserve: (() => void) | undefined
  readonly #inTurn = new Set<Promise<unknown>>()
  #closed = false
  /** Nothing is sent any more. */
  #isOver = false
  #closing: Promise<void> | undefined

  constructor(options: PipelineOptions, events: Events) {
    this.#telling = new Telling(events, new StoreWarning(options.warn, options.onStoreFailure))
    this.#fastPaths = options.fastPaths
    const { store, fallback, giveBacks } = makeBacking(options, this.#telling)
    this.#store = store
    this.#fallback = fallback
    this.#giveBacks = giveBacks
    this.#steps = {
      deadlineMs: options.deadlineMs,
      ask: (step) => this.#ask(step),
      fallBack: (step, error) => this.#fallback.decide(step, error),
      onLate: ({ source, step, outcome }) => {
        if (source === 'store' && outcome) this.#fallback.late([step], [outcome])
      },
      giveBack: (verdict, units) => void this.#giveBack(verdict, units),
      onDecided: ({ source, step }) => {
        if (source === 'local') this.#fallback.release(step)
      },
    }
    this.#unobserve = options.store.observe?.({
      onEvicted: (subjects) => this.#telling.evicted(subjects),
      onUnreached: (error) => this.#telling.unreached(error),
    })
  }

  consume(request: Request): MaybePromise<Decision> {
    const known = this.#answerFast(request)
    if (known) return this.#inKind(this.#conclude(request, [known]))
    if (request.steps) return this.#consumeInTurn(request)
    const refused = this.#refusal(request)
    if (refused) return this.#inKind(this.#conclude(request, [this.#fallback.decide(request, refused)]))
    return this.#store.consume(request, this.#concludeAnswer)
  }

  /** The decision that `consume` would give, with nothing taken. */
  peek(request: Request): MaybePromise<Decision> {
    const known = this.#answerFast(request)
    const verdicts = known ? [known] : (request.steps ?? [request]).map((step) => this.#peek(step))
    const decide = (all: readonly Verdict[]): Decision => this.#decide(request, all, true)
    if (this.#store.answersAtOnce) return decide(verdicts as readonly Verdict[])
    return Promise.all(verdicts).then(decide)
  }

  /** What became of the units of each step. */
  refund({ verdicts, units }: Settlement): Promise<GivenBack[]> {
    return Promise.all(verdicts.map((verdict) => this.#giveBack(verdict, units)))
  }

  /** Takes as many more units as fit every limit of a request; resolves with how many those were. */
  takeMore(request: Request, cost: number): Promise<number> {
    return this.#track(takeUpTo(request, cost, this.#steps))
  }

  /** @throws {StoreError} when the store did not */
  async reset({ shard, keys }: SubjectKeys): Promise<void> {
    if (this.#closed) throw closedError()
    await this.#store.reset(keys, shard)
    this.#fallback.forget(keys)
    for (const path of this.#fastPaths) path.forget?.(keys)
  }

  stats(): LimiterStats {
    return this.#telling.stats(this.#store.pending)
  }

  health(): LimiterHealth {
    const open = [...this.#store.states()].flatMap(([shard, state]) => (state === 'closed' ? [] : [shard]))
    const status = this.#closed ? 'closed' : open.length > 0 ? 'degraded' : 'ok'
    return { status, openShards: open.toSorted((a, b) => a - b) }
  }

  /** Answers what is under way, and tells the store what was admitted beside it. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#closed = true
    await this.#store.drain()
    await Promise.all(this.#inTurn)
    await this.#fallback.end()
    await this.#giveBacks.end()
    this.#isOver = true
    this.#unobserve?.()
    await this.#store.close()
  }

  #consumeInTurn(request: Request): Promise<Decision> {
    return this.#track(consumeInTurn(request, this.#steps).then((all) => this.#conclude(request, all)))
  }

  /** Until the last step is over, what was taken may have to go back: whoever closes waits for it. */
  #track<T>(asked: Promise<T>): Promise<T> {
    this.#inTurn.add(asked)
    return asked.finally(() => this.#inTurn.delete(asked))
  }

  #answerFast(request: Request): Verdict | undefined {
    for (const path of this.#fastPaths) {
      const known = path.answer(request)
      if (known) return known
    }
    return undefined
  }

  /** One step of a request, by the store or what stands in for it. */
  #ask(step: Request): MaybePromise<Verdict> {
    const refused = this.#refusal(step)
    return refused ? this.#fallback.decide(step, refused) : this.#store.consume(step, this.#readAnswer)
  }

  #peek(step: Request): MaybePromise<Verdict> {
    const refused = this.#refusal(step)
    if (refused) return this.#fallback.peek(step, refused)
    return this.#store.peek(step, (_, given) => {
      if (!isOutcome(given, step)) return this.#fallback.peek(step, this.#errorOf(given))
      this.#learn(step, given)
      return verdictOf('store', step, given)
    })
  }

  /** Why the store is not asked at all. */
  #refusal({ shard }: Request): StoreError | undefined {
    if (!this.#closed) return this.#store.refusal(shard)
    const error = closedError()
    this.#telling.storeError(error, 1)
    return error
  }

  // Made once: each request is sent with one of them as what concludes it.
  readonly #concludeAnswer = (request: Request, given: unknown): Decision =>
    this.#conclude(request, [this.#readAnswer(request, given)])

  /** What the store gave, or what the failure policy says where that is no outcome. */
  readonly #readAnswer = (step: Request, given: unknown): Verdict => {
    if (isOutcome(given, step)) {
      this.#learn(step, given)
      return verdictOf('store', step, given)
    }
    const error = this.#errorOf(given)
    // Where its time was over the policy has answered it already.
    if (step.turn?.isOver) return { source: 'closed', allowed: false, step, error }
    return this.#fallback.decide(step, error)
  }

  #errorOf(given: unknown): StoreError {
    const error = errorOf(given)
    // The guard has told of its own errors, once a batch.
    if (this.#store.answersAtOnce || error !== given) this.#telling.storeError(error, 1)
    return error
  }

  #learn(step: Request, outcome: Outcome): void {
    if (!this.#store.answersAtOnce) this.#fallback.note(step, outcome)
    for (const path of this.#fastPaths) {
      path.learn?.(step, outcome)
      for (const request of path.due?.() ?? []) this.#send(request, path)
    }
  }

  /** A request of a fast path's own: nobody waits for it. */
  #send(request: Request, path: FastPath): void {
    void this.#store.consume(request, (_, given) => {
      if (isOutcome(given, request)) path.learn?.(request, given)
    })
  }

  #conclude(request: Request, verdicts: readonly Verdict[]): Decision {
    const decision = this.#decide(request, verdicts, false)
    this.#telling.decision(decision, verdicts.find(({ error }) => error)?.error)
    return decision
  }

  #decide(request: Request, verdicts: readonly Verdict[], isPeek: boolean): Decision {
    const [{ source, allowed }] = verdicts as readonly [Verdict, ...Verdict[]]
    if (verdicts.length === 1 && source !== 'store' && source !== 'local') {
      return decideWithoutLimits(request, { source, allowed })
    }
    return new CountedDecision(request, verdicts, { isPeek, by: this })
  }

  async #giveBack({ source, step, outcome }: Verdict, units: number): Promise<GivenBack> {
    // What the store has been told of does not come back from here.
    if (source === 'local') return this.#fallback.refund(step, units) ? 'given' : 'unknown'
    // What the store counts late of it goes back, too.
    this.#fallback.revoke(step)
    if (source !== 'store' || !outcome) return 'gone'
    if (this.#isOver) return 'unknown'
    return this.#giveBacks.give(refundOf(step, outcome, units))
  }

  /** A promise where others are: what is only now and then a value is met in an outage by who calls its `then`. */
  #inKind(decision: Decision): MaybePromise<Decision> {
    return this.#store.answersAtOnce ? decision : Promise.resolve(decision)
  }
}

function closedError(): StoreError {
  return new StoreError('the limiter was closed', { code: 'ERR_TOLLGATE_CLOSED' })
}
