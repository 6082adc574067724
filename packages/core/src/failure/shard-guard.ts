import { isA, StoreError } from '../base/errors.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import type { Call, Store, StoreRequest } from '../stores/contract.js'
import { isOutcome } from '../stores/outcome-check.js'
import { Breaker, type BreakerState } from './breaker.js'
import { DeadlineCall, type CallListener } from './deadline.js'
import { probeOf } from './probe.js'
import type { ReadyQueue } from './ready-queue.js'

export interface ShardGuardOptions {
  /** How long a call may take, in ms, including the wait for the store to be ready. */
  readonly deadlineMs: number
  readonly onBreaker: (state: BreakerState, shard: number, error: StoreError | undefined) => void
  /** Called before the shard decides requests again, to tell it what was admitted meanwhile. Never rejects. */
  readonly recover: (shard: number) => Promise<void>
}

/** Options of one call. */
export interface Way<T> {
  /** Call the store even while the breaker is open. */
  readonly isForced?: boolean
  /** Called with a value that came after the deadline, when the caller had got another answer. */
  readonly onLate?: (value: T) => void
}

/**
 * Calls one shard of a store and ends within the deadline in any case. After a few failures in a row it rejects calls
 * at once, until the store answers a probe.
 */
export class ShardGuard {
  readonly breaker: Breaker
  readonly #shard: number
  readonly #store: Store
  readonly #queue: ReadyQueue
  readonly #deadlineMs: number
  /** The error for calls while the breaker is open. Made once, since creating an error costs more than the answer. */
  #refusal: StoreError | undefined
  /** Forced calls, such as probes, that are past their deadline without a reply. */
  #overdue = 0

  constructor(shard: number, store: Store, queue: ReadyQueue, options: ShardGuardOptions) {
    this.#shard = shard
    this.#store = store
    this.#queue = queue
    this.#deadlineMs = options.deadlineMs
    this.breaker = new Breaker({
      probe: () => this.#probe(),
      recover: () => options.recover(shard),
      overdue: () => this.#overdue,
      onChange: (state, error) => {
        if (error) this.#refusal = givenUp(error)
        options.onBreaker(state, shard, error)
      },
    })
  }

  /** Why calls are rejected at the moment; undefined when they are not. */
  get refusal(): StoreError | undefined {
    return this.breaker.state === 'closed' ? undefined : this.#refusal
  }

  /**
   * Resolves to what `ask` returns.
   *
   * @throws {StoreError} when `ask` fails or takes longer than the deadline, or the breaker is open
   */
  call<T>(ask: (call: Call) => MaybePromise<T>, { isForced = false, onLate }: Way<T> = {}): Promise<T> {
    const refused = isForced ? undefined : this.refusal
    if (refused) return Promise.reject(refused)
    return new Promise<T>((resolve, reject) => {
      const listener: CallListener<T> = {
        onValue: (value) => {
          const error = systemicErrorIn(value)
          if (error) this.breaker.fail(error)
          else this.breaker.succeed()
          resolve(value)
        },
        onError: (error) => {
          if (isForced && call.isOver && call.isSent) this.#overdue += 1
          this.#queue.leave(call)
          if (!error.isOfRequest) this.breaker.fail(error)
          reject(error)
        },
        onLate: (value) => {
          if (isForced) this.#overdue -= 1
          this.breaker.wake()
          if (!isA(value, StoreError)) onLate?.(value)
        },
      }
      const call = new DeadlineCall(ask, listener, this.#deadlineMs, !isForced)
      this.#queue.enter(call)
    })
  }

  /** Takes a unit rather than reads, since a store that can be read may still refuse writes. */
  #probe(): Promise<boolean> {
    const request: StoreRequest = probeOf(this.#shard)
    return this.call((call) => this.#store.consume([request], call), { isForced: true }).then(
      ([answer]) => isOutcome(answer, request),
      () => false,
    )
  }
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
