import { isA, show, StoreError, toStoreError, type StoreErrorReason, pageOf } from '../../base/errors.js'
import { chain, type MaybePromise, quiet, quietEach } from '../../base/promises.js'
import type { Answer, Call, RefundAnswer, RefundRequest, Store, StoreRequest } from '../../stores/contract.js'
import { isRefundAnswer } from '../../stores/outcome-check.js'
import type { Question } from './deadlines.js'

/** A request to the store. While it waits to be sent, the failure policy may answer it: then its `deadline` is over. */
export type GuardedRequest = StoreRequest & { readonly deadline?: { readonly isOver: boolean } | undefined }

/** Gets the answers in the order of the batch, or the error of all its requests. */
export type OnAnswers = (given: readonly unknown[] | StoreError) => void

/** Learns what became of batches. */
export interface BatchListener {
  /** Called once per failed batch, with the number of requests that got no outcome. */
  readonly onFailure: (error: StoreError, requests: number) => void
  /** Called when the store decided requests that the failure policy had answered already. */
  readonly onLate: (batch: readonly GuardedRequest[], answers: readonly Answer[]) => void
}

/** Which store is asked, and who learns what became of it. */
export interface BatchCallOptions {
  readonly store: Store
  readonly listener: BatchListener
}

/** A batch of requests whose units may be taken, as a question to the store. */
export class Consumption implements Question<readonly Answer[]> {
  protected readonly batch: readonly GuardedRequest[]
  protected readonly store: Store
  readonly #listener: BatchListener
  readonly #onAnswers: OnAnswers

  constructor(batch: readonly GuardedRequest[], onAnswers: OnAnswers, { store, listener }: BatchCallOptions) {
    this.batch = batch
    this.#onAnswers = onAnswers
    this.store = store
    this.#listener = listener
  }

  ask(call: Call): MaybePromise<readonly Answer[]> {
    for (const { deadline } of this.batch) if (deadline) return sendInTime(this.store, this.batch, call)
    return this.store.consume(this.batch, call)
  }

  onValue(answers: readonly Answer[]): void {
    if (!Array.isArray(answers)) return this.onError(notAList(answers))
    quietEach(answers)
    let failures = 0
    let first: StoreError | undefined
    for (const answer of answers as readonly unknown[]) {
      if (!isA(answer, StoreError)) continue
      first ??= answer
      failures += 1
    }
    if (first) this.#listener.onFailure(first, failures)
    this.#onAnswers(answers)
  }

  onError(error: StoreError): void {
    this.#listener.onFailure(error, this.batch.length)
    this.#onAnswers(error)
  }

  onLate(answers: readonly Answer[]): void {
    quietEach(answers)
    this.#listener.onLate(this.batch, answers)
  }
}

/** A batch of requests that only look. */
export class Peek extends Consumption {
  override ask(call: Call): MaybePromise<readonly Answer[]> {
    return this.store.peek(this.batch, call)
  }

  /** Nothing was taken. */
  override onLate(answers: readonly Answer[]): void {
    quietEach(answers)
  }
}

/** Sends a batch, without the requests that the failure policy answered while they waited. */
function sendInTime(
  store: Store,
  batch: readonly GuardedRequest[],
  call: Call,
): MaybePromise<readonly Answer[]> {
  const sent = batch.filter(({ deadline }) => !deadline?.isOver)
  const ofAll = {
    get isOver(): boolean {
      return call.isOver || sent.some(({ deadline }) => deadline?.isOver)
    },
  }
  const answers = sent.length > 0 ? store.consume(sent, ofAll) : []
  if (sent.length === batch.length) return answers
  const late = new StoreError('too late to ask the store: raise deadlineMs if this happens often', {
    code: 'ERR_TOLLGATE_STORE_TIMEOUT',
    isOfRequest: true,
  })
  return chain(answers, (given) => batch.map((request) => given[sent.indexOf(request)] ?? late))
}

export function notAList(given: unknown): StoreError {
  quiet(given)
  return new StoreError(
    `the store answered a batch with ${show(given)}, expected an array (${pageOf('guides/writing-a-store.md')})`,
  )
}

/** Reports refunds that failed. Each is sent again every 250 ms for minutes, so each is reported once per reason. */
export class RefundFailures {
  readonly #onFailure: BatchListener['onFailure']
  readonly #reported = new WeakMap<RefundRequest, StoreErrorReason>()

  constructor(onFailure: BatchListener['onFailure']) {
    this.#onFailure = onFailure
  }

  /** Reports the first error among the answers that is new, with the number of refunds that failed anew. */
  report(batch: readonly RefundRequest[], answers: readonly RefundAnswer[]): void {
    let failures = 0
    let first: StoreError | undefined
    batch.forEach((request, i) => {
      const answer = answers[i]
      if (!isA(answer, StoreError) || this.#reported.get(request) === answer.reason) return
      this.#reported.set(request, answer.reason)
      first ??= answer
      failures += 1
    })
    if (first) this.#onFailure(first, failures)
  }
}

/** One answer for each refund of a batch, whatever a user's own store returned. Never throws. */
export function readRefundAnswers(batch: readonly RefundRequest[], given: unknown): readonly RefundAnswer[] {
  quiet(given)
  return batch.map((_, i) => {
    try {
      return readOne(given, i)
    } catch (error) {
      // A getter threw.
      return toStoreError(error)
    }
  })
}

function readOne(given: unknown, i: number): RefundAnswer {
  if (!Array.isArray(given))
    return new StoreError(
      `the store answered a batch with ${show(given)}, expected an array (${pageOf('guides/writing-a-store.md')})`,
    )
  const answer: unknown = given[i]
  if (isRefundAnswer(answer)) return answer
  if (isA(answer, Error)) return toStoreError(answer)
  return new StoreError(
    `the store answered a refund with ${show(answer)}, expected true or false (${pageOf('guides/writing-a-store.md')})`,
  )
}
