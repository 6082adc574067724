import { timingOf } from '../../base/clocks.js'
import type { MaybePromise } from '../../base/promises.js'
import { elapsedMs, setImmediate } from '../../base/timers.js'
import type { Fallback } from '../../failure/fallback.js'
import type { BreakerState } from '../../failure/guard/breaker.js'
import { type GivenBack, newLeaseId } from '../../failure/outbox/outbox.js'
import { type FastPath, FastPaths } from '../../features/fast-path.js'
import type { InFlight } from '../../features/in-flight/in-flight.js'
import { isPlain, type Request } from '../../requests/request.js'
import { errorIn, verdictOf, type Verdict } from '../../requests/verdict.js'
import { isOutcome } from '../../stores/outcome-check.js'
import { CountedDecision, type Origin } from '../decision/counted-decision.js'
import type { Decision } from '../decision/decision.js'
import { holdSlots, inFlightOf } from '../decision/slots-of-decisions.js'
import { decideWithoutLimits } from '../decision/uncounted-decision.js'
import type { Holds } from '../holds/holds.js'
import type { PeekOptions } from '../limiter.js'
import type { EventContext } from '../report/events.js'
import type { LimiterHealth, LimiterStats } from '../report/stats.js'
import type { Reporter } from '../report/reporter.js'
import { Amending } from '../settle/amending.js'
import { ByKey } from '../settle/by-key.js'
import { unitsBackOf, type Settlement } from '../settle/settlement.js'
import { UnitsBack } from '../settle/units-back.js'
import { WaitingRoom, type WaitingHost } from '../waiting/waiting-room.js'
import { makeBacking, type BackingOptions, type Backing, PathHost } from './backing.js'
import { askAfter, askTwice, consumeInTurn, takeUpTo, type StepsOptions } from './steps.js'
import { type StoreAccess, StoreVerdicts } from './store-access.js'

export interface PipelineOptions extends BackingOptions {
  /** Tried in this order. */
  readonly fastPaths: readonly FastPath[]
}

/**
 * Leads a request to its decision: by a fast path, else by the store in one step or several, unless the shard's breaker
 * is open. If the store cannot answer, the failure policy decides. Fast paths learn from every result; it is counted
 * and emitted.
 */
export class Pipeline {
  readonly holds: Holds
  readonly byKey: ByKey
  readonly amending: Amending
  readonly #reporter: Reporter
  readonly #fastPaths: FastPaths
  readonly #store: StoreAccess
  readonly #verdicts: StoreVerdicts
  readonly #fallback: Fallback
  readonly #room: WaitingRoom
  readonly #unitsBack: UnitsBack
  readonly #inFlight: InFlight
  readonly #steps: StepsOptions
  readonly #unobserve: (() => void) | undefined
  readonly #inTurn = new Set<Promise<unknown>>()
  readonly #turns = new Turns()
  /** Of all decisions that the store makes in one step. */
  readonly #origin: Origin = { isPeek: false, by: this, verdicts: [] }
  #closing: Promise<void> | undefined

  constructor(options: PipelineOptions, reporter: Reporter) {
    this.#reporter = reporter
    const backing = makeBacking(options, this.#reporter, {
      onChanged: (keys) => this.#fastPaths.forget('changed', keys),
      onRecovery: (shard) => new Promise((resolve) => this.#inFlight.recover(shard, resolve)),
      onLate: (batch) => this.#inFlight.late(batch),
    })
    const { store, fallback, holds } = backing
    this.#inFlight = inFlightOf(store, this.#reporter)
    this.#fastPaths = new FastPaths(options.fastPaths, new PathHost(store, fallback, this.#reporter))
    this.#store = store
    this.#fallback = fallback
    this.holds = holds
    const learning = { fastPaths: this.#fastPaths, inFlight: this.#inFlight }
    this.#verdicts = new StoreVerdicts({ ...backing, ...learning, reporter })
    this.byKey = new ByKey({ ...backing, ...learning })
    this.#unitsBack = new UnitsBack(backing, options.store.testClock ?? elapsedMs)
    this.#steps = stepsOptionsOf(backing, this.#unitsBack, { fastPaths: this.#fastPaths, ask: this.#ask })
    const host = waitingHostOf(this.#inFlight, this.#unitsBack, {
      isRefused: ({ shard }) => this.#verdicts.isEnded || store.refusal(shard) !== undefined,
      ask: (request) => askTwice(request, this.#steps),
      conclude: (request, verdict) => this.#conclude(request, [verdict]),
      told: this.#reporter,
    })
    this.#room = new WaitingRoom(host, newLeaseId, timingOf(options.store.testClock))
    this.amending = new Amending({
      by: this,
      take: (request) => this.#verdicts.take(this.#inFlight.begin(request)),
      fallBack: (given, error) => {
        const request = this.#inFlight.begin(given)
        return this.#conclude(request, [fallback.decide(request, error)])
      },
      ...{ consume: (request) => this.consume(request), refund: (settlement) => this.refund(settlement) },
      conclude: (request, verdicts) => this.#conclude(request, verdicts),
      track: (asked) => this.#track(asked),
    })
    this.#unobserve = options.store.observe?.(this.#reporter)
  }

  consume(request: Request): MaybePromise<Decision> {
    return (isPlain(request) ? undefined : this.#room.join(request)) ?? this.#consumeNow(request)
  }

  #consumeNow(given: Request): MaybePromise<Decision> {
    const known = this.#fastPaths.answer(given)
    if (known) return this.#inKind(this.#conclude(given, [known]))
    const request = isPlain(given) ? given : this.#inFlight.begin(given)
    if (request.steps) return this.#consumeInTurn(request)
    const refused = this.#verdicts.refusal(request)
    if (refused) return this.#inKind(this.#conclude(request, [this.#fallback.decide(request, refused)]))
    return this.#verdicts.ask(request, this.#concludeAnswer)
  }

  /**
   * Returns the decision that `consume` would, but takes nothing.
   *
   * @throws {StoreError} with `onStoreFailure: 'throw'`, when the store does not answer
   */
  peek(request: Request, { onStoreFailure }: PeekOptions = {}): MaybePromise<Decision> {
    const known = this.#fastPaths.answer(request, true)
    const verdicts = known ? [known] : (request.steps ?? [request]).map((step) => this.#verdicts.peek(step))
    const decide = (all: readonly Verdict[]): Decision => {
      const failed = onStoreFailure === 'throw' ? errorIn(all) : undefined
      if (failed) throw failed
      return decisionOf(request, { isPeek: true, by: this, verdicts: all })
    }
    if (this.#store.answersAtOnce) return decide(verdicts as readonly Verdict[])
    return Promise.all(verdicts).then(decide)
  }

  /** Gives the units of each step back. Resolves to the result for each. */
  refund(settlement: Settlement): Promise<GivenBack[]> {
    return Promise.all(
      unitsBackOf(settlement).map(([verdict, units]) => this.#unitsBack.give(verdict, units)),
    )
  }

  /** Takes up to `cost` more units: as many as fit every limit of the request. Resolves to their number. */
  takeMore(request: Request, cost: number): Promise<number> {
    return this.#track(takeUpTo(request, cost, this.#steps))
  }

  plansChanged(): void {
    this.#fastPaths.forget('plans')
  }

  stats(): LimiterStats {
    return this.#reporter.stats({
      pending: this.#store.pending,
      held: this.#fastPaths.held,
      inFlight: this.#inFlight.held,
      waiting: this.#room.waiting,
    })
  }

  health(): LimiterHealth {
    return healthOf(this.#store.states(), this.#verdicts.isEnded)
  }

  /** Waits for pending requests, and charges the store for what was admitted without it. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#verdicts.end()
    this.byKey.end()
    this.#fastPaths.forget('closed')
    this.#inFlight.beginEnd()
    await Promise.all([this.#room.close(), this.#store.drain()])
    // Again, for what was under way.
    this.#fastPaths.forget('closed')
    this.holds.reports.end()
    await this.#store.drain()
    await Promise.all(this.#inTurn)
    this.#inFlight.end()
    await this.#store.drain()
    await this.#fallback.end()
    await this.#unitsBack.end()
    this.#unobserve?.()
    await this.#store.close()
  }

  #consumeInTurn(request: Request): Promise<Decision> {
    return this.#track(consumeInTurn(request, this.#steps).then((all) => this.#conclude(request, all)))
  }

  /** Asks once more for a request that was denied over units which this process holds on lease, when these are back. */
  #askAfter(room: Promise<unknown>, denied: Verdict, beganMs: number): Promise<Decision> {
    const asked = askAfter(room, denied, { ...this.#steps, beganMs })
    return this.#track(asked.then((verdict) => this.#conclude(denied.step, [verdict])))
  }

  /** Remembers a request until its last step is over, since `close` must wait: its units may have to go back. */
  #track<T>(asked: Promise<T>): Promise<T> {
    this.#inTurn.add(asked)
    return asked.finally(() => this.#inTurn.delete(asked))
  }

  /** Decides one step of a request, by the store or its fallback. */
  readonly #ask = (step: Request): MaybePromise<Verdict> => {
    const refused = this.#verdicts.refusal(step)
    return refused ? this.#fallback.decide(step, refused) : this.#verdicts.ask(step, this.#readAnswer)
  }

  // Made once: a function for each request would cost time.
  readonly #concludeAnswer = (request: Request, given: unknown, sentAtMs: number): MaybePromise<Decision> => {
    if (!isOutcome(given, request))
      return this.#conclude(request, [this.#readAnswer(request, given, sentAtMs)])
    this.#verdicts.learn(request, given, sentAtMs)
    const decision = new CountedDecision(request, given, this.#origin)
    const room = decision.allowed ? undefined : this.#fastPaths.makeRoom(request, given)
    if (room) return this.#askAfter(room, verdictOf('store', request, given), sentAtMs)
    if (request.inFlight) holdSlots(decision, request.inFlight)
    this.#reporter.decision(decision, undefined, request.context as EventContext)
    return decision
  }

  /** The verdict for a store's answer; if that is not an outcome, the failure policy's. */
  readonly #readAnswer = (step: Request, given: unknown, sentAtMs: number): Verdict => {
    if (isOutcome(given, step)) {
      this.#verdicts.learn(step, given, sentAtMs)
      return verdictOf('store', step, given)
    }
    const error = this.#reporter.invalidAnswerError(given, this.#store.answersAtOnce)
    this.holds.reports.cancel(step)
    // The policy has decided this step already when its deadline passed.
    if (step.turn?.isOver) return { source: 'closed', allowed: false, step, error }
    return this.#fallback.decide(step, error)
  }

  #conclude(request: Request, verdicts: readonly Verdict[]): Decision {
    const decision = decisionOf(request, { isPeek: false, by: this, verdicts })
    if (request.inFlight) holdSlots(decision, request.inFlight)
    this.#reporter.decision(decision, errorIn(verdicts), request.context as EventContext)
    return decision
  }

  /** A promise if the store gives promises: callers would fail if they got a plain value, and only in an outage. */
  #inKind(decision: Decision): MaybePromise<Decision> {
    return this.#store.answersAtOnce ? decision : this.#turns.resolved(decision)
  }
}

/** Makes the decision of the verdicts on all steps of a request. */
function decisionOf(request: Request, origin: Origin): Decision {
  const { verdicts } = origin
  const first = verdicts[0] as Verdict
  if (verdicts.length === 1 && isUncounted(first)) return decideWithoutLimits(request, first)
  return new CountedDecision(request, undefined, origin)
}

type Uncounted = Verdict & { readonly source: 'unlimited' | 'blocked' | 'open' | 'closed' }

function isUncounted(verdict: Verdict): verdict is Uncounted {
  const { source } = verdict
  return source === 'unlimited' || source === 'blocked' || source === 'open' || source === 'closed'
}

/** After so many answers without I/O, one waits for a turn of the event loop. */
const ANSWERS_A_TURN = 256

/**
 * Makes promises of answers that are known at once. Now and then one waits for the event loop to go round: else a caller
 * that asks again and again, such as `while (!(await limiter.consume(id)).allowed)`, would hold up all timers and sockets.
 */
class Turns {
  #answers = 0

  resolved<T>(answer: T): Promise<T> {
    this.#answers += 1
    if (this.#answers % ANSWERS_A_TURN !== 0) return Promise.resolve(answer)
    return new Promise((resolve) => void setImmediate(() => resolve(answer)))
  }
}

/** @param states the breaker of each shard that was used */
function healthOf(states: Iterable<readonly [number, BreakerState]>, isClosed: boolean): LimiterHealth {
  const open = [...states].flatMap(([shard, state]) => (state === 'closed' ? [] : [shard]))
  const status = isClosed ? 'closed' : open.length > 0 ? 'degraded' : 'ok'
  return { status, openShards: open.toSorted((a, b) => a - b) }
}

/** How requests in several steps are decided. */
function stepsOptionsOf(
  { fallback, holds, deadlines }: Backing,
  unitsBack: UnitsBack,
  { fastPaths, ask }: Pick<StepsOptions, 'ask'> & { readonly fastPaths: FastPaths },
): StepsOptions {
  return {
    deadlines,
    ask,
    makeRoom: ({ source, step, outcome }) =>
      source === 'store' && outcome ? fastPaths.makeRoom(step, outcome) : undefined,
    fallBack: (step, error) => fallback.decide(step, error),
    onLate: ({ source, step, outcome }) => {
      if (source !== 'store' || !outcome) return
      fallback.late([step], [outcome])
      holds.late([step], [outcome])
    },
    giveBack: (verdict, units) => void unitsBack.give(verdict, units),
    onDecided: ({ source, step }) => {
      if (source === 'local') fallback.release(step)
    },
  }
}

/** What a waiting room can ask of the pipeline. A request that waits holds its slots meanwhile. */
export function waitingHostOf(
  inFlight: InFlight,
  unitsBack: UnitsBack,
  { isRefused, ask, conclude, told }: Omit<WaitingHost, 'giveBack'>,
): WaitingHost {
  return {
    isRefused,
    told,
    ask: (request) => ask(inFlight.begin(request)),
    conclude(request, verdict) {
      const { inFlight: slots, parts } = verdict.step
      return conclude(slots ? { ...request, parts, inFlight: slots } : request, verdict)
    },
    giveBack(verdict) {
      verdict.step.inFlight?.conclude(false)
      return unitsBack.give(verdict, verdict.step.cost)
    },
  }
}
