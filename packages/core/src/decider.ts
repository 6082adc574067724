import type { Consumption } from './consumption.js'
import { decide, decideByPolicy, decideUnlimited, isOutcomeOf, type Decision } from './decision.js'
import { show, StoreError, toStoreError } from './errors.js'
import type { Events } from './events.js'
import { Guard } from './failure/guard.js'
import type { FailurePolicy, LimiterOptions } from './limiter.js'
import type { MaybePromise } from './maybe-promise.js'
import { askNow, Batcher } from './stores/batcher.js'
import { memoryStore } from './stores/memory.js'
import { OneByOne } from './stores/one-by-one.js'
import type { RefundRequest, Store, StoreRequest } from './stores/store.js'

/** A consumption that limits hold. */
type Limited = Consumption & StoreRequest

/** From what is asked to a decision: by the store, or by the failure policy where it cannot answer. */
export class Decider {
  readonly #events: Events
  readonly #store: Store
  readonly #batcher: Batcher<Limited, Decision>
  /** For requests of several keys. */
  readonly #joint: Batcher<Limited, Decision>
  readonly #jointStore: Store
  readonly #policy: FailurePolicy
  #closed = false

  constructor(options: LimiterOptions, events: Events) {
    const { store = memoryStore(), onStoreFailure = 'open', deadlineMs = 100 } = options
    this.#events = events
    this.#policy = onStoreFailure
    const onFailure = (error: StoreError, requests: number): void =>
      events.emit('storeError', error, requests)
    const guard = (inner: Store): Store => new Guard(inner, { deadlineMs, onFailure })
    const conclude = (request: Limited, given: unknown): Decision => this.#answer(request, given, false)
    this.#store = store.immediate ? store : guard(store)
    this.#batcher = new Batcher(this.#store, conclude)
    this.#jointStore = store.joins ? this.#store : guard(new OneByOne(store))
    this.#joint = store.joins ? this.#batcher : new Batcher(this.#jointStore, conclude)
  }

  consume(request: Consumption): MaybePromise<Decision> {
    if (!isLimited(request)) return decideUnlimited(request)
    if (this.#closed) return this.#answerClosed(request, false)
    return (request.also ? this.#joint : this.#batcher).consume(request)
  }

  peek(request: Consumption): MaybePromise<Decision> {
    if (!isLimited(request)) return decideUnlimited(request)
    if (this.#closed) return this.#answerClosed(request, true)
    const answer = (given: unknown): Decision => this.#answer(request, given, true)
    const store = request.also ? this.#jointStore : this.#store
    if (store.immediate) return answer(askNow(store, 'peek', request))
    return Promise.resolve(store.peek([request])).then(([given]) => answer(given), answer)
  }

  /** Whether any units went back. */
  async refund(requests: readonly RefundRequest[]): Promise<boolean> {
    if (this.#closed) return false
    const given = await Promise.all(requests.map((request) => this.#store.refund(request)))
    return given.includes(true)
  }

  /** @throws {StoreError} when the store did not */
  async reset(keys: readonly string[]): Promise<void> {
    if (this.#closed) throw closedError()
    await Promise.all(keys.map((key) => this.#store.reset(key)))
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#store.close?.()
  }

  #answer(request: Limited, given: unknown, isPeek: boolean): Decision {
    if (isOutcomeOf(request, given)) return this.#tell(decide(request, given, isPeek), isPeek)
    // The guard has told of its own errors, once a batch.
    if (this.#store.immediate || !(given instanceof StoreError)) {
      this.#events.emit('storeError', given instanceof Error ? toStoreError(given) : notAnOutcome(given), 1)
    }
    return this.#answerByPolicy(request, isPeek)
  }

  #answerClosed(request: Limited, isPeek: boolean): Decision {
    this.#events.emit('storeError', closedError(), 1)
    return this.#answerByPolicy(request, isPeek)
  }

  #answerByPolicy(request: Limited, isPeek: boolean): Decision {
    return this.#tell(decideByPolicy(request, this.#policy), isPeek)
  }

  #tell(decision: Decision, isPeek: boolean): Decision {
    if (!decision.allowed && !isPeek) this.#events.emit('limited', decision)
    return decision
  }
}

function isLimited(request: Consumption): request is Limited {
  return request.set !== undefined
}

function closedError(): StoreError {
  return new StoreError('the limiter was closed', { code: 'ERR_TOLLGATE_CLOSED' })
}

function notAnOutcome(given: unknown): StoreError {
  const expected = '{ at, limits } with { wait, remaining, reset } for each limit of the plan'
  return new StoreError(`the store answered a request with ${show(given)}, expected ${expected}`)
}
