import type { Booking, BookingRequest, Usage, UsageRequest } from '../booking.js'
import { timingFor } from '../../base/clocks.js'
import type { StoreError } from '../../base/errors.js'
import type { MaybePromise } from '../../base/promises.js'
import { setImmediate } from '../../base/timers.js'
import type { BreakerState } from '../../failure/guard/shard-guard.js'
import { newLeaseId } from '../../failure/outbox.js'
import type { GivenBack } from '../../requests/feature.js'
import type { SubjectKeys } from '../../requests/request-builder.js'
import type { RuleChanged } from '../../features/rules/rules.js'
import type { BlockInForce } from '../../requests/rule-lookup.js'
import { type Request, type Verdict, errorIn, isPlain, toVerdict } from '../../requests/request.js'
import type { StoreAbilities } from '../../stores/contract.js'
import { isOutcome } from '../../stores/outcome-check.js'
import { refundByKey } from '../../stores/receipts.js'
import { CountedDecision, type Origin } from '../decision/counted-decision.js'
import { type Decision } from '../decision/decision.js'
import { type Settlement, holdSlots, toUnitsBack } from '../settle/settlement.js'
import { decideWithoutLimits } from '../decision/uncounted-decision.js'
import type { PeekOptions } from '../limiter.js'
import { look, type Look } from '../look.js'
import type { EventContext } from '../report/events.js'
import type { Reporter } from '../report/reporter.js'
import type { LimiterHealth, LimiterStats } from '../report/stats.js'
import { Amending, type AmendingHost } from '../settle/amending.js'
import { WaitingRoom, type WaitingHost } from '../waiting/waiting-room.js'
import { askAfter, askTwice, consumeInTurn, takeUpTo } from './steps.js'
import { Verdicts, type VerdictsOptions } from './verdicts.js'

export interface PipelineOptions extends VerdictsOptions {
  /** The rule by which a subject of a request is blocked now. */
  readonly blockOf: (request: Request) => BlockInForce | undefined
}

/**
 * Takes a request to its decision. Features answer it if they can. Otherwise they prepare it, the store is asked, and
 * features learn from the outcome. Then the decision is made, counted and emitted. A request may wait in line first, and
 * may take several steps.
 */
export class Pipeline implements AmendingHost, WaitingHost {
  readonly store: StoreAbilities
  readonly amending: Amending
  readonly holds: Verdicts['holds']
  readonly #reporter: Reporter
  readonly #verdicts: Verdicts
  readonly #room: WaitingRoom
  readonly #unobserve: (() => void) | undefined
  readonly #underWay = new Set<Promise<unknown>>()
  readonly #paced = new PacedPromises()
  /** Shared by all decisions that the store makes in one step. */
  readonly #origin: Origin = { isPeek: false, by: this, verdicts: [] }
  readonly #blockOf: PipelineOptions['blockOf']
  #closing: Promise<void> | undefined

  constructor(options: PipelineOptions, reporter: Reporter) {
    const { store } = options
    this.#blockOf = options.blockOf
    this.store = store
    this.#reporter = reporter
    this.#verdicts = new Verdicts(options, reporter)
    this.holds = this.#verdicts.holds
    this.#room = new WaitingRoom(this, {
      newId: newLeaseId,
      timing: timingFor(store.testClock),
      emit: (change) => reporter.emit('waiting', change),
    })
    this.amending = new Amending(this)
    this.#unobserve = store.observe?.(reporter)
  }

  consume(request: Request): MaybePromise<Decision> {
    return (isPlain(request) ? undefined : this.#room.join(request)) ?? this.#consumeNow(request)
  }

  #consumeNow(given: Request): MaybePromise<Decision> {
    const verdicts = this.#verdicts
    const known = verdicts.features.answer(given, false)
    if (known) return this.#inKind(this.conclude(given, [known]))
    const request = isPlain(given) ? given : this.prepare(given)
    if (request.steps) return this.#consumeInTurn(request)
    const refused = verdicts.refusal(request)
    if (refused) return this.#inKind(this.conclude(request, [verdicts.fallBack(request, refused)]))
    return verdicts.consume(request, this.#concludeAnswer)
  }

  // Made once: a function for each request would cost time.
  readonly #concludeAnswer = (request: Request, given: unknown, sentAtMs: number): MaybePromise<Decision> => {
    const verdicts = this.#verdicts
    if (!isOutcome(given, request)) return this.conclude(request, [verdicts.read(request, given, sentAtMs)])
    verdicts.learn(request, given, sentAtMs)
    const decision = new CountedDecision(request, given, this.#origin)
    const room = decision.allowed ? undefined : verdicts.features.makeRoom(request, given)
    if (room) return this.#askAfter(room, toVerdict('store', request, given), sentAtMs)
    if (request.inFlight) holdSlots(decision, request.inFlight)
    this.#report(request, decision)
    if (!isPlain(request)) verdicts.features.note(request, given)
    return decision
  }

  #report(request: Request, decision: Decision, failed?: StoreError): void {
    const context = request.context as EventContext
    this.#reporter.decision(decision, failed, context)
    if (request.isLenient) this.#reporter.lenient(decision, context)
  }

  #consumeInTurn(request: Request): Promise<Decision> {
    const decided = consumeInTurn(request, this.#verdicts).then((all) => this.conclude(request, all))
    return this.track(decided)
  }

  /** Asks once more for a request that was denied because of units that this process held on lease, once these are back. */
  #askAfter(room: Promise<unknown>, denied: Verdict, beganMs: number): Promise<Decision> {
    const asked = askAfter({ room, denied, beganMs }, this.#verdicts)
    return this.track(asked.then((verdict) => this.conclude(denied.step, [verdict])))
  }

  /** Makes the decision from the verdicts on a request's steps, counts it and emits it. */
  conclude(request: Request, verdicts: readonly Verdict[]): Decision {
    const decision = createDecision(request, { isPeek: false, by: this, verdicts })
    if (request.inFlight) holdSlots(decision, request.inFlight)
    this.#report(request, decision, errorIn(verdicts))
    if (!isPlain(request)) this.#verdicts.noteDecided(verdicts)
    return decision
  }

  /** A promise if the store's answers are promises. Otherwise callers would first meet a plain value in an outage, and fail. */
  #inKind(decision: Decision): MaybePromise<Decision> {
    return this.#verdicts.answersAtOnce ? decision : this.#paced.resolved(decision)
  }

  /**
   * Returns the decision that `consume` would, but takes nothing.
   *
   * @throws {StoreError} with `onStoreFailure: 'throw'`, when the store does not answer
   */
  peek(request: Request, { onStoreFailure }: PeekOptions = {}): MaybePromise<Decision> {
    const known = this.#verdicts.features.answer(request, true)
    const verdicts = known ? [known] : (request.steps ?? [request]).map((step) => this.#verdicts.peek(step))
    const decide = (all: readonly Verdict[]): Decision => {
      const failed = onStoreFailure === 'throw' ? errorIn(all) : undefined
      if (failed) throw failed
      return createDecision(request, { isPeek: true, by: this, verdicts: all })
    }
    if (this.#verdicts.answersAtOnce) return decide(verdicts as readonly Verdict[])
    return Promise.all(verdicts).then(decide)
  }

  /** @throws {StoreError} when the store does not answer */
  async look(request: Request): Promise<Omit<Look, 'override'>> {
    const known = this.#verdicts.features.answer(request, true)
    const decide = (of: Request, verdicts: readonly Verdict[]): Decision =>
      createDecision(of, { isPeek: true, by: this, verdicts })
    // A request without limits has an answer that leaves none out.
    if (known && request.parts.length === 0)
      return { decision: decide(request, [known]), limits: [], atMs: Date.now() }
    return look(request, { peek: (step) => this.#verdicts.peek(step), decide })
  }

  prepare(request: Request): Request {
    return this.#verdicts.features.prepare(request)
  }

  /** Has the store decide a request in one step. It does not wait, and no feature answers. The error if the store cannot. */
  take(request: Request): ReturnType<Verdicts['take']> {
    return this.#verdicts.take(this.prepare(request))
  }

  /** Asks for a request, and once more if units that this process held on lease were in the way. */
  ask(request: Request): MaybePromise<Verdict> {
    return askTwice(this.prepare(request), this.#verdicts)
  }

  fallBack(given: Request, error: Parameters<Verdicts['fallBack']>[1]): Decision {
    const request = this.prepare(given)
    return this.conclude(request, [this.#verdicts.fallBack(request, error)])
  }

  isRefused({ shard }: Request): boolean {
    return this.#verdicts.isEnded || this.#verdicts.isRefused(shard)
  }

  giveBack(verdict: Verdict, units: number): Promise<GivenBack> {
    return this.#verdicts.giveBack(verdict, units)
  }

  /** Gives the units of each step back. Resolves to the result for each. */
  refund(settlement: Settlement): Promise<GivenBack[]> {
    return Promise.all(toUnitsBack(settlement).map(([verdict, units]) => this.giveBack(verdict, units)))
  }

  /**
   * Gives up to this many units back to every limit of a request: those that have counted longest. Returns whether any went
   * back, and false if the store has not answered yet.
   */
  async refundByKey(request: Request, units: number): Promise<boolean> {
    if (this.#verdicts.isEnded) return false
    const steps = (request.steps ?? [request]).filter(({ parts }) => parts.length > 0)
    const given = await Promise.all(steps.map((step) => this.#verdicts.refund(refundByKey(step, units))))
    return given.includes('given')
  }

  /** Takes up to `cost` more units, as many as fit every limit of the request. Resolves to their number. */
  takeMore(request: Request, cost: number): Promise<number> {
    return this.track(takeUpTo(request, cost, this.#verdicts))
  }

  /** As Verdicts.reset. */
  reset(subject: SubjectKeys): Promise<boolean> {
    return this.#verdicts.reset(subject)
  }

  /** As Verdicts.unblock. */
  unblock(subject: SubjectKeys): Promise<boolean> {
    return this.#verdicts.unblock(subject)
  }

  /** As Verdicts.book. */
  async book({ request, marks, change, conclude }: BookingRequest): Promise<Booking> {
    const booking = conclude(await this.#verdicts.book(request, marks))
    if (!booking.isRepeated) this.#reporter.emit('booked', change)
    return booking
  }

  async usageOf({ request, conclude }: UsageRequest): Promise<Usage> {
    return conclude(await this.#verdicts.book(request, []))
  }

  plansChanged(): void {
    this.#verdicts.features.forget('plans')
  }

  /**
   * Rules about a subject have changed: what this process holds for it ends.
   *
   * @param keys all its keys; undefined: this may be any subject
   */
  rulesChanged(keys: readonly string[] | undefined): void {
    this.#verdicts.features.forget('rules', keys)
    this.#room.turnBlockedAway()
  }

  instancesAre(count: number): void {
    this.#verdicts.instancesAre(count)
  }

  ruleChanged(change: RuleChanged): void {
    this.#reporter.emit('rule', change)
  }

  blockOf(request: Request): BlockInForce | undefined {
    return this.#blockOf(request)
  }

  stats(): LimiterStats {
    return {
      ...this.#reporter.stats(),
      ...this.#verdicts.features.stats(),
      waiting: this.#room.stats(),
      pending: this.#verdicts.store.pending,
    }
  }

  health(): LimiterHealth {
    return toHealth(this.#verdicts.store.states(), this.#verdicts.isEnded)
  }

  /** Remembers a request until its last step is over. `close` must wait for it, since its units may have to go back. */
  track<T>(asked: Promise<T>): Promise<T> {
    this.#underWay.add(asked)
    return asked.finally(() => this.#underWay.delete(asked))
  }

  /** Waits for pending requests, and charges the store for what was admitted without it. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    const { features, store } = this.#verdicts
    this.#verdicts.end()
    features.stop()
    await Promise.all([this.#room.close(), store.drain()])
    // Again, for what was under way.
    features.stop()
    await store.drain()
    await Promise.all(this.#underWay)
    await features.end(() => store.drain())
    this.#unobserve?.()
    await store.close()
  }
}

/** Makes the decision from the verdicts on a request's steps. */
function createDecision(request: Request, origin: Origin): Decision {
  const { verdicts } = origin
  const first = verdicts[0] as Verdict
  if (verdicts.length === 1 && isUncounted(first)) return decideWithoutLimits(request, first)
  return new CountedDecision(request, undefined, origin)
}

type Uncounted = Verdict & { readonly source: 'unlimited' | 'blocked' | 'rule' | 'open' | 'closed' }

const UNCOUNTED: ReadonlySet<Verdict['source']> = new Set<Uncounted['source']>([
  ...(['unlimited', 'blocked', 'rule', 'open', 'closed'] as const),
])

function isUncounted(verdict: Verdict): verdict is Uncounted {
  const { source } = verdict
  return UNCOUNTED.has(source)
}

/** One in this many answers without I/O waits for a turn of the event loop. */
const ANSWERS_A_TURN = 256

/**
 * Makes promises of answers that are known at once. Now and then one waits for a turn of the event loop. Otherwise a caller
 * that asks in a loop, such as `while (!(await limiter.consume(id)).allowed)`, would hold up all timers and sockets.
 */
class PacedPromises {
  #answers = 0

  resolved<T>(answer: T): Promise<T> {
    this.#answers += 1
    if (this.#answers % ANSWERS_A_TURN !== 0) return Promise.resolve(answer)
    return new Promise((resolve) => void setImmediate(() => resolve(answer)))
  }
}

/** @param states the breaker of each shard that was used */
function toHealth(states: Iterable<readonly [number, BreakerState]>, isClosed: boolean): LimiterHealth {
  const open = [...states].flatMap(([shard, state]) => (state === 'closed' ? [] : [shard]))
  const status = isClosed ? 'closed' : open.length > 0 ? 'degraded' : 'ok'
  return { status, openShards: open.toSorted((a, b) => a - b) }
}
