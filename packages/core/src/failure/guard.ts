import { isA, show, StoreError } from '../base/errors.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import { isOutcome } from '../stores/outcome-check.js'
import type { Answer, Call, RefundRequest, Store, StoreRequest } from '../stores/contract.js'
import { Breaker, type BreakerState } from './breaker.js'
import { DeadlineCall, type CallListener } from './deadline.js'
import { Doorstep } from './ready-queue.js'
import { findProbeKey, PROBE_SET } from './probe.js'

export interface GuardOptions {
  /** How long a batch may take, in ms, waiting for the store to be ready included. */
  readonly deadlineMs: number
  /** Told of every fault once per batch, with how many requests it left without an outcome. */
  readonly onFailure: (error: StoreError, requests: number) => void
  /** Told when requests turn out to have been decided by the store after they were answered otherwise. */
  readonly onLate: (batch: readonly StoreRequest[], answers: readonly Answer[]) => void
  readonly onBreaker: (state: BreakerState, partition: number, error: StoreError | undefined) => void
  /** What is to be told the store before it decides again. Never rejects. */
  readonly recover: (partition: number) => Promise<void>
}

/** One part of the store that can fail apart from others. */
interface Part {
  readonly partition: number
  readonly probeKey: string
  readonly breaker: Breaker
  /** What is answered while it is not asked: made once, since an error takes longer than the answer. */
  refusal: StoreError | undefined
  /** Probes and charges that are past their deadline and have no reply. */
  overdue: number
}

/** How a call is made. */
interface Way {
  readonly part: Part
  /** Also while the breaker is open. */
  readonly isForced?: boolean
}

/**
 * A store around a store that always answers: what the inner store cannot decide within the deadline is answered
 * with an error, for the failure policy to decide, and after a few of those at once, until a probe is answered.
 * Nothing is asked twice, since it may have been counted, and nothing but what gives units back is sent after its
 * deadline. What is held for a store that hangs or is down is bounded: it is what came within one deadline.
 */
export class Guard implements Store {
  readonly immediate = false
  readonly partitions?: number
  readonly partitionOf?: (key: string) => number
  readonly #store: Store
  readonly #options: GuardOptions
  readonly #doorstep: Doorstep
  readonly #parts = new Map<number, Part>()

  constructor(store: Store, options: GuardOptions) {
    this.#store = store
    this.#options = options
    this.#doorstep = new Doorstep(store)
    if (store.partitions === undefined || !store.partitionOf) return
    this.partitions = store.partitions
    this.partitionOf = (key) => store.partitionOf?.(key) ?? 0
  }

  /** Whether requests of this key are not asked of the store. */
  isOpen(key: string): boolean {
    return this.#partOf(key).breaker.state !== 'closed'
  }

  /** Why they are not. */
  refusal(key: string): StoreError | undefined {
    const { breaker, refusal } = this.#partOf(key)
    return breaker.state === 'closed' ? undefined : refusal
  }

  /** Of every part that has been asked. */
  states(): ReadonlyMap<number, BreakerState> {
    return new Map([...this.#parts.values()].map(({ partition, breaker }) => [partition, breaker.state]))
  }

  /** @param batch of one partition */
  consume(batch: readonly StoreRequest[]): Promise<readonly Answer[]> {
    return this.#decide(batch, false)
  }

  /** The same, of what has been admitted already: also while the breaker is open. */
  charge(batch: readonly StoreRequest[]): Promise<readonly Answer[]> {
    return this.#decide(batch, true)
  }

  peek(batch: readonly StoreRequest[]): Promise<readonly Answer[]> {
    const part = this.#partOf(batch[0]?.key ?? '')
    return this.#within((call) => this.#store.peek(batch, call), { part }).then(
      (answers) => this.#check(batch, answers),
      (error: StoreError) => this.#fail(batch, error),
    )
  }

  /** False also when the store cannot answer. */
  refund(request: RefundRequest): Promise<boolean> {
    return this.#refund(request, false)
  }

  /** The same, of what the store has taken late: also while the breaker is open. */
  takeBack(request: RefundRequest): Promise<boolean> {
    return this.#refund(request, true)
  }

  /** @throws {StoreError} when the store cannot answer */
  async reset(key: string): Promise<void> {
    const part = this.#partOf(key)
    try {
      await this.#within(() => this.#store.reset(key), { part })
    } catch (error) {
      this.#tellUnlessRefused(part, error)
      throw error
    }
  }

  /** Probes no more. */
  end(): void {
    for (const { breaker } of this.#parts.values()) breaker.end()
  }

  close(): MaybePromise<void> {
    this.end()
    return this.#store.close?.()
  }

  async #refund(request: RefundRequest, isForced: boolean): Promise<boolean> {
    const part = this.#partOf(request.key)
    try {
      return await this.#within(() => this.#store.refund(request), { part, isForced })
    } catch (error) {
      this.#tellUnlessRefused(part, error)
      return false
    }
  }

  /** Of what was asked; that a store which was given up is not asked has been told. */
  #tellUnlessRefused(part: Part, error: unknown): void {
    if (error !== part.refusal) this.#options.onFailure(error as StoreError, 1)
  }

  async #decide(batch: readonly StoreRequest[], isForced: boolean): Promise<readonly Answer[]> {
    const part = this.#partOf(batch[0]?.key ?? '')
    const onLate = (answers: readonly Answer[]): void => this.#options.onLate(batch, answers)
    try {
      const answers = await this.#within(
        (call) => this.#store.consume(batch, call),
        { part, isForced },
        onLate,
      )
      if (!isForced) return this.#check(batch, answers)
      return Array.isArray(answers) ? answers : batch.map(() => notAList(answers))
    } catch (error) {
      // No request has been left without an answer by a charge that failed.
      return isForced ? batch.map(() => error as StoreError) : this.#fail(batch, error as StoreError)
    }
  }

  #check(batch: readonly StoreRequest[], answers: readonly Answer[]): readonly Answer[] {
    return Array.isArray(answers) ? this.#tellOf(answers) : this.#fail(batch, notAList(answers))
  }

  #fail(batch: readonly StoreRequest[], error: StoreError): readonly Answer[] {
    this.#options.onFailure(error, batch.length)
    return batch.map(() => error)
  }

  #tellOf(answers: readonly Answer[]): readonly Answer[] {
    const failed = answers.filter((answer) => isA(answer, StoreError))
    if (failed[0]) this.#options.onFailure(failed[0], failed.length)
    return answers
  }

  #partOf(key: string): Part {
    const partition = this.partitionOf?.(key) ?? 0
    const known = this.#parts.get(partition)
    if (known) return known
    const part: Part = {
      partition,
      probeKey: findProbeKey(partition, this.partitionOf),
      overdue: 0,
      refusal: undefined,
      breaker: new Breaker({
        probe: () => this.#probe(part),
        recover: () => this.#options.recover(partition),
        overdue: () => part.overdue,
        onChange: (state, error) => {
          if (error) part.refusal = givenUp(error)
          this.#options.onBreaker(state, partition, error)
        },
      }),
    }
    this.#parts.set(partition, part)
    return part
  }

  /** Takes a unit that nobody needs, since a store that can be read may still not be written to. */
  #probe(part: Part): Promise<boolean> {
    const request = { key: part.probeKey, set: PROBE_SET, cost: 1 }
    const ask = (call: Call): MaybePromise<readonly Answer[]> => this.#store.consume([request], call)
    return this.#within(ask, { part, isForced: true }).then(
      ([answer]) => isOutcome(answer, 1),
      () => false,
    )
  }

  /** What `ask` gives, or a StoreError when that takes longer than the deadline, or the breaker is open. */
  #within<T>(
    ask: (call: Call) => MaybePromise<T>,
    { part, isForced = false }: Way,
    onLate?: (value: T) => void,
  ): Promise<T> {
    const { breaker } = part
    if (part.refusal && breaker.state !== 'closed' && !isForced) return Promise.reject(part.refusal)
    return new Promise<T>((resolve, reject) => {
      const listener: CallListener<T> = {
        onValue: (value) => {
          const error = systemicErrorIn(value)
          if (error) breaker.fail(error)
          else breaker.succeed()
          resolve(value)
        },
        onError: (error) => {
          if (isForced && call.isOver && call.isSent) part.overdue += 1
          this.#doorstep.leave(call)
          if (!error.isOfRequest) breaker.fail(error)
          reject(error)
        },
        onLate: (value) => {
          if (isForced) part.overdue -= 1
          breaker.wake()
          if (!isA(value, StoreError)) onLate?.(value)
        },
      }
      const call = new DeadlineCall(ask, listener, this.#options.deadlineMs)
      this.#doorstep.enter(call)
    })
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

function notAList(given: unknown): StoreError {
  return new StoreError(`the store answered a batch with ${show(given)}`)
}

function givenUp(cause: StoreError): StoreError {
  const { code, reason, message } = cause
  return new StoreError(`the store is not asked until it answers again: ${message}`, { code, reason, cause })
}
