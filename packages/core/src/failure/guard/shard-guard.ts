import { isA, isPassing, StoreError, toStoreError } from '../../base/errors.js'
import type { MaybePromise } from '../../base/promises.js'
import { attempt } from '../../base/show.js'
import { clearTimeout, setTimeout } from '../../base/timers.js'
import { createLimitSet } from '../../plans/limit/limit.js'
import type { Call, Store, StoreRequest } from '../../stores/contract.js'
import { isOutcome } from '../../stores/outcome-check.js'
import {
  DeadlineCall,
  type CallListener,
  type CallOptions,
  type Question,
  type Deadlines,
  type ReadyQueue,
} from './deadlines.js'

export interface ShardGuardOptions {
  /**
   * A call that requests waited for ended.
   *
   * @param sinceMs when it began, in ms since the process started
   */
  readonly onCall: (shard: number, sinceMs: number, error: StoreError | undefined) => void
  readonly onBreaker: (state: BreakerState, shard: number, error: StoreError | undefined) => void
  /**
   * The shard was asked again and failed.
   *
   * @param isNews whether the reason is a new one that needs a fix
   */
  readonly onFailedProbe: (error: StoreError, isNews: boolean) => void
  /** Called before the shard decides requests again, to charge it for what was admitted meanwhile. Never rejects. */
  readonly recover: (shard: number) => Promise<void>
}

/** What all shards of a store share. */
export interface GuardedStore {
  readonly store: Store
  readonly queue: ReadyQueue
  readonly deadlines: Deadlines
}

/**
 * Calls one shard of a store and ends within the deadline in any case. After a few failures in a row it rejects calls
 * at once, until the store answers a probe.
 */
export class ShardGuard implements CallListener {
  readonly breaker: Breaker
  readonly #shard: number
  readonly #store: Store
  readonly #queue: ReadyQueue
  readonly #awaited: CallOptions
  readonly #forced: CallOptions
  readonly #onCall: ShardGuardOptions['onCall']
  /** The error for calls while the breaker is open. Made once, since creating an error costs more than the answer. */
  #refusal: StoreError | undefined
  /** Forced calls, such as probes, that are past their deadline without a reply. */
  #overdue = 0

  constructor(shard: number, { store, queue, deadlines }: GuardedStore, options: ShardGuardOptions) {
    this.#shard = shard
    this.#store = store
    this.#queue = queue
    this.#onCall = options.onCall
    const whySilent = (): StoreError | undefined => whyNotReady(store)
    this.#awaited = { listener: this, deadlines, whySilent, isForced: false }
    this.#forced = { listener: this, deadlines, whySilent, isForced: true }
    this.breaker = new Breaker({
      probe: () => this.#probe(),
      recover: () => options.recover(shard),
      overdue: () => this.#overdue,
      onChange: (state, error) => {
        if (error) this.#refusal = givenUp(error)
        options.onBreaker(state, shard, error)
      },
      onFailedProbe: (error) => {
        const isNews = error.reason !== this.#refusal?.reason && !isPassing(error)
        if (isNews) this.#refusal = givenUp(error)
        options.onFailedProbe(error, isNews)
      },
    })
  }

  /** Why calls are rejected at the moment; undefined when they are not. */
  get refusal(): StoreError | undefined {
    return this.breaker.state === 'closed' ? undefined : this.#refusal
  }

  /** Makes one call. The question gets a value or an error within the deadline; an open breaker answers at once. */
  ask<T>(question: Question<T>, isForced = false): void {
    const refused = isForced ? undefined : this.refusal
    if (refused) return question.onError(refused)
    this.#queue.enter(new DeadlineCall(question, isForced ? this.#forced : this.#awaited))
  }

  /**
   * Resolves to what `ask` returns.
   *
   * @param isForced call the store even while the breaker is open
   * @throws {StoreError} when `ask` fails or takes longer than the deadline, or the breaker is open
   */
  call<T>(ask: (call: Call) => MaybePromise<T>, isForced = false): Promise<T> {
    return new Promise<T>((onValue, onError) => this.ask({ ask, onValue, onError }, isForced))
  }

  onValue(value: unknown, { isForced, sinceMs }: DeadlineCall<never>): void {
    const error = systemicErrorIn(value)
    if (!isForced) this.#onCall(this.#shard, sinceMs, error)
    if (error) this.breaker.fail(error)
    else this.breaker.succeed()
  }

  onError(error: StoreError, call: DeadlineCall<never>): void {
    if (!call.isForced && call.isSent) this.#onCall(this.#shard, call.sinceMs, error)
    if (call.isForced && call.isOver && call.isSent) this.#overdue += 1
    this.#queue.leave(call)
    if (!error.isOfRequest) this.breaker.fail(error)
  }

  onLate({ isForced }: DeadlineCall<never>): void {
    if (isForced) this.#overdue -= 1
    this.breaker.wake()
  }

  /** Takes a unit instead of reading, since a store that can be read may still refuse writes. */
  #probe(): Promise<StoreError | undefined> {
    const request: StoreRequest = createProbe(this.#shard)
    return this.call((call) => this.#store.consume([request], call), true).then(
      (answers: unknown) => {
        const answer: unknown = Array.isArray(answers) ? answers[0] : answers
        return isOutcome(answer, request) ? undefined : toStoreError(answer)
      },
      (error: unknown) => toStoreError(error),
    )
  }
}

/** A user's own store may throw, or return something else. */
function whyNotReady(store: Store): StoreError | undefined {
  const why = attempt(() => store.whyNotReady?.(), undefined)
  return isA(why, StoreError) ? why : undefined
}

/** The first error, if every answer is an error and none of them is a request's own fault. */
function systemicErrorIn(answers: unknown): StoreError | undefined {
  if (!Array.isArray(answers)) return undefined
  const [first] = answers as readonly unknown[]
  if (!isA(first, StoreError)) return undefined
  const isSystemic = (answer: unknown): boolean => isA(answer, StoreError) && !answer.isOfRequest
  return answers.every(isSystemic) ? first : undefined
}

function givenUp(cause: StoreError): StoreError {
  const { code, reason, message } = cause
  return new StoreError(`the store is not asked until it answers again: ${message}`, { code, reason, cause })
}

const SET = createLimitSet({ quota: 1_000_000, window: '1s', algorithm: 'fixed-window' })

/** A request for one unit of a key that cannot be a subject's. The key expires after a second. */
function createProbe(shard: number): StoreRequest {
  return { shard, grant: 'all', parts: [{ key: '!probe', set: SET, cost: 1 }] }
}

/**
 * Whether the store is asked.
 * - `closed`: it decides requests.
 * - `open`: it failed, and gets only probes.
 * - `half-open`: it answered a probe. Before it decides again, it is charged for what was admitted without it.
 */
export type BreakerState = 'closed' | 'open' | 'half-open'

interface BreakerOptions {
  /** Asks the store something that no request waits for. Resolves to the error, if it does not answer. Never rejects. */
  readonly probe: () => Promise<StoreError | undefined>
  /** Called before the store decides requests again; the breaker closes when it resolves. Never rejects. */
  readonly recover: () => Promise<void>
  /** How many probes are past their deadline without a reply. The more, the longer the pause between probes. */
  readonly overdue: () => number
  readonly onChange: (state: BreakerState, error: StoreError | undefined) => void
  /** A probe failed, perhaps for another reason than the one that opened the breaker. */
  readonly onFailedProbe: (error: StoreError) => void
}

/** After this many failed calls in a row the breaker opens. */
const FAILURES = 3
/** In ms; doubled for each overdue probe, at most 32 times this. */
const PROBE_EVERY_MS = 250
const LONGEST_PAUSE = 2 ** 5

/**
 * A circuit breaker: knows whether a store is worth asking. Failures open it. While it is open, only probes are sent,
 * until one of them is answered.
 *
 * @see https://martinfowler.com/bliki/CircuitBreaker.html
 */
class Breaker {
  readonly #options: BreakerOptions
  #state: BreakerState = 'closed'
  #failures = 0
  #timer: NodeJS.Timeout | undefined
  #isProbing = false
  #isEnded = false

  constructor(options: BreakerOptions) {
    this.#options = options
  }

  get state(): BreakerState {
    return this.#state
  }

  succeed(): void {
    this.#failures = 0
  }

  fail(error: StoreError): void {
    this.#failures += 1
    if (this.#state !== 'closed' || this.#failures < FAILURES || this.#isEnded) return
    this.#enter('open', error)
    this.#probeIn(PROBE_EVERY_MS)
  }

  /** A late reply came from the store, so probe now instead of later. */
  wake(): void {
    if (this.#state === 'open' && !this.#isProbing) this.#probeIn(0)
  }

  /** Stops probing for good. */
  end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
  }

  #enter(state: BreakerState, error?: StoreError): void {
    this.#state = state
    this.#options.onChange(state, error)
  }

  #probeIn(ms: number): void {
    if (this.#isEnded) return
    clearTimeout(this.#timer)
    // unref: probes do not keep the process alive.
    this.#timer = setTimeout(() => void this.#probe(), ms).unref()
  }

  async #probe(): Promise<void> {
    this.#isProbing = true
    const error = await this.#options.probe()
    this.#isProbing = false
    if (error) {
      if (!this.#isEnded) this.#options.onFailedProbe(error)
      return this.#probeIn(PROBE_EVERY_MS * Math.min(2 ** this.#options.overdue(), LONGEST_PAUSE))
    }
    this.#enter('half-open')
    this.#failures = 0
    await this.#options.recover()
    // A call may have failed during `recover`.
    if (this.#failures === 0) return this.#enter('closed')
    this.#enter('open')
    this.#probeIn(PROBE_EVERY_MS)
  }
}
