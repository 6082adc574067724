import type { Consumption } from '../requests/request.js'
import { decide, decideUnlimited, isOutcomeOf, type Decision, type Settlement } from './decision.js'
import { isA, show, StoreError, toStoreError } from '../base/errors.js'
import type { Events } from './events.js'
import { Fallback, type Limited } from '../failure/fallback.js'
import { Guard } from '../failure/guard.js'
import type { LimiterOptions } from './limiter.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import { askNow, Batcher } from '../stores/batcher.js'
import { memoryStore } from '../stores/memory/memory-store.js'
import { OneByOne } from '../stores/sequential-store.js'
import type { Store } from '../stores/contract.js'
import { Stats, type LimiterHealth, type LimiterStats } from './stats.js'

/** Where requests of one kind are decided: those of one key, or of several. */
interface Lane {
  readonly store: Store
  /** Undefined for a store that answers at once. */
  readonly guard: Guard | undefined
  readonly batcher: Batcher<Limited, Decision>
}

/** From what is asked to a decision: by the store, or by the failure policy where it cannot answer. */
export class Decider {
  readonly #events: Events
  readonly #stats = new Stats()
  readonly #fallback: Fallback
  readonly #single: Lane
  readonly #joint: Lane
  /** Decisions that are under way, for whoever closes. */
  #pending = 0
  #closed = false
  #closing: Promise<void> | undefined
  #onIdle: (() => void) | undefined

  constructor(options: LimiterOptions, events: Events) {
    const { store = memoryStore(), onStoreFailure = 'local', deadlineMs = 100, local = {} } = options
    this.#events = events
    this.#single = this.#makeLane(store, deadlineMs)
    this.#joint = store.joins ? this.#single : this.#makeLane(new OneByOne(store), deadlineMs)
    const { guard } = this.#single
    this.#fallback = new Fallback({
      by: this,
      policy: onStoreFailure,
      local,
      charge: (batch) => guard?.charge(batch) ?? Promise.resolve([]),
      refund: (request) => guard?.takeBack(request) ?? Promise.resolve(false),
      partitionOf: (key) => guard?.partitionOf?.(key) ?? 0,
      // What never fails as a whole has nobody to tell.
      isOpen: (key) => guard?.isOpen(key) ?? true,
      onSettled: (settled) => {
        this.#stats.settlement(settled)
        events.emit('settlement', settled)
      },
    })
  }

  consume(request: Consumption): MaybePromise<Decision> {
    if (!isLimited(request)) return this.#known(this.#tell(decideUnlimited(request), false))
    const lane = this.#laneOf(request)
    const refused = this.#refusal(lane, request)
    if (refused) return this.#known(this.#fallBack(request, refused, false))
    if (lane.guard) this.#pending += 1
    return lane.batcher.consume(request)
  }

  peek(request: Consumption): MaybePromise<Decision> {
    if (!isLimited(request)) return this.#known(decideUnlimited(request))
    const lane = this.#laneOf(request)
    const refused = this.#refusal(lane, request)
    if (refused) return this.#known(this.#fallBack(request, refused, true))
    const answer = (given: unknown): Decision => this.#answer(lane, request, given, true)
    if (!lane.guard) return answer(askNow(lane.store, 'peek', request))
    this.#pending += 1
    return lane.guard.peek([request]).then(([given]) => answer(given), answer)
  }

  /** Whether any units went back. */
  async refund({ request, refunds, source, units }: Settlement): Promise<boolean> {
    if (units === 0) return false
    if (source === 'local') return isLimited(request) && this.#fallback.refund(request, units)
    if (this.#closed) return false
    const given = await Promise.all(refunds.map((refund) => this.#single.store.refund(refund)))
    return given.includes(true)
  }

  /** @throws {StoreError} when the store did not */
  async reset(keys: readonly string[]): Promise<void> {
    if (this.#closed) throw closedError()
    await Promise.all(keys.map((key) => this.#single.store.reset(key)))
    for (const key of keys) this.#fallback.forget(key)
  }

  stats(): LimiterStats {
    return this.#stats.read(this.#pending)
  }

  health(): LimiterHealth {
    const lanes = new Set([this.#single, this.#joint])
    const states = [...lanes].flatMap(({ guard }) => [...(guard?.states() ?? [])])
    const open = states.flatMap(([partition, state]) => (state === 'closed' ? [] : [partition]))
    const openPartitions = [...new Set(open)].toSorted((a, b) => a - b)
    const status = this.#closed ? 'closed' : open.length > 0 ? 'degraded' : 'ok'
    return { status, openPartitions }
  }

  /** Answers what is under way, and tells the store what was admitted beside it. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#closed = true
    this.#single.batcher.flush()
    this.#joint.batcher.flush()
    if (this.#pending > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve))
    await this.#fallback.end()
    this.#joint.guard?.end()
    await this.#single.store.close?.()
  }

  #makeLane(store: Store, deadlineMs: number): Lane {
    const guard = store.immediate ? undefined : this.#guard(store, deadlineMs)
    const batcher = new Batcher<Limited, Decision>(guard ?? store, (request, given) =>
      this.#answer(lane, request, given, false),
    )
    const lane: Lane = { store: guard ?? store, guard, batcher }
    return lane
  }

  #guard(store: Store, deadlineMs: number): Guard {
    return new Guard(store, {
      deadlineMs,
      onFailure: (error, requests) => this.#tellError(error, requests),
      onLate: (batch, answers) => this.#fallback.late(batch, answers),
      onBreaker: (state, partition, error) => this.#events.emit('breaker', { state, partition, error }),
      recover: (partition) => this.#fallback.recover(partition),
    })
  }

  /** A promise where others are: what is only now and then a value is met in an outage by who calls its `then`. */
  #known(decision: Decision): MaybePromise<Decision> {
    return this.#single.guard ? Promise.resolve(decision) : decision
  }

  #laneOf(request: Limited): Lane {
    return request.also ? this.#joint : this.#single
  }

  /** Why the store is not asked at all. */
  #refusal({ guard }: Lane, { key }: Limited): StoreError | undefined {
    if (this.#closed) {
      const error = closedError()
      this.#tellError(error, 1)
      return error
    }
    return guard?.refusal(key)
  }

  #answer({ guard }: Lane, request: Limited, given: unknown, isPeek: boolean): Decision {
    if (guard) this.#pending -= 1
    if (this.#pending === 0) this.#onIdle?.()
    if (isOutcomeOf(request, given)) {
      if (guard) this.#fallback.note(request, given)
      return this.#tell(decide(request, given, { source: 'store', isPeek, by: this }), isPeek)
    }
    const error = isA(given, StoreError) ? given : errorOf(given)
    // The guard has told of its own errors, once a batch.
    if (!guard || error !== given) this.#tellError(error, 1)
    return this.#fallBack(request, error, isPeek)
  }

  #fallBack(request: Limited, error: StoreError, isPeek: boolean): Decision {
    const decision = this.#fallback.decide(request, error, isPeek)
    if (!isPeek) this.#events.emit('fallback', decision, error)
    return this.#tell(decision, isPeek)
  }

  #tell(decision: Decision, isPeek: boolean): Decision {
    if (isPeek) return decision
    this.#stats.decision(decision)
    this.#events.emit('decision', decision)
    if (!decision.allowed) this.#events.emit('limited', decision)
    return decision
  }

  #tellError(error: StoreError, requests: number): void {
    this.#stats.storeError(requests)
    this.#events.emit('storeError', error, requests)
  }
}

function isLimited(request: Consumption): request is Limited {
  return request.set !== undefined
}

function closedError(): StoreError {
  return new StoreError('the limiter was closed', { code: 'ERR_TOLLGATE_CLOSED' })
}

function errorOf(given: unknown): StoreError {
  if (isA(given, Error)) return toStoreError(given)
  const expected = '{ at, limits } with { wait, remaining, reset } for each limit of the plan'
  return new StoreError(`the store answered a request with ${show(given)}, expected ${expected}`)
}
