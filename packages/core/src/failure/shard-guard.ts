import { isA, StoreError } from '../base/errors.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import type { Call, Store, StoreRequest } from '../stores/contract.js'
import { isOutcome } from '../stores/outcome-check.js'
import { Breaker, type BreakerState } from './breaker.js'
import { DeadlineCall, type CallListener } from './deadline.js'
import { probeOf } from './probe.js'
import type { ReadyQueue } from './ready-queue.js'

export interface ShardGuardOptions {
  /** How long a call may take, in ms, waiting for the store to be ready included. */
  readonly deadlineMs: number
  readonly onBreaker: (state: BreakerState, shard: number, error: StoreError | undefined) => void
  /** What the shard is to be told before it decides again. Never rejects. */
  readonly recover: (shard: number) => Promise<void>
}

/** How a call is made. */
export interface Way<T> {
  /** Also while the breaker is open. */
  readonly isForced?: boolean
  /** Told what the store gave after the deadline, when the caller had been answered otherwise. */
  readonly onLate?: (value: T) => void
}

/**
 * Calls one shard of a store, and answers within the deadline in any case. After a few failures in a row it is not
 * asked any more, until a probe is answered.
 */
export class ShardGuard {
  readonly breaker: Breaker
  readonly #shard: number
  readonly #store: Store
  readonly #queue: ReadyQueue
  readonly #deadlineMs: number
  /** What is answered while it is not asked: made once, since an error takes longer than the answer. */
  #refusal: StoreError | undefined
  /** Probes and other forced calls that are past their deadline and have no reply. */
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

  /** Why it is not asked. */
  get refusal(): StoreError | undefined {
    return this.breaker.state === 'closed' ? undefined : this.#refusal
  }

  /**
   * What `ask` gives.
   *
   * @throws {StoreError} when it fails, takes longer than the deadline, or is not asked
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

  /** Takes a unit that nobody needs, since a store that can be read may still not be written to. */
  #probe(): Promise<boolean> {
    const request: StoreRequest = probeOf(this.#shard)
    return this.call((call) => this.#store.consume([request], call), { isForced: true }).then(
      ([answer]) => isOutcome(answer, request),
      () => false,
    )
  }
}

/** Why none of the answers could be given, when that is not for the requests' own sake. */
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
