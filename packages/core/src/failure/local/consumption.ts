import { isA, show, StoreError, pageOf } from '../../base/errors.js'
import { chain, type MaybePromise, quiet, quietEach } from '../../base/promises.js'
import type { Answer, Call, Store, StoreRequest } from '../../stores/contract.js'
import type { Question } from '../guard/deadlines.js'

/** A request to the store. While it waits to be sent, the failure policy may answer it: then its `turn` is over. */
export type Asked = StoreRequest & { readonly turn?: { readonly isOver: boolean } | undefined }

/** Gets the answers in the order of the batch, or the error of all its requests. */
export type OnAnswers = (given: readonly unknown[] | StoreError) => void

/** Learns what became of batches. */
export interface BatchListener {
  /** Called once per failed batch, with the number of requests that got no outcome. */
  readonly onFailure: (error: StoreError, requests: number) => void
  /** Called when the store decided requests that the failure policy had answered already. */
  readonly onLate: (batch: readonly Asked[], answers: readonly Answer[]) => void
}

/** Who is asked, and who learns of it. */
export interface Asking {
  readonly store: Store
  readonly listener: BatchListener
}

/** A batch of requests whose units may be taken, as a question to the store. */
export class Consumption implements Question<readonly Answer[]> {
  protected readonly batch: readonly Asked[]
  protected readonly store: Store
  readonly #listener: BatchListener
  readonly #onAnswers: OnAnswers

  constructor(batch: readonly Asked[], onAnswers: OnAnswers, { store, listener }: Asking) {
    this.batch = batch
    this.#onAnswers = onAnswers
    this.store = store
    this.#listener = listener
  }

  ask(call: Call): MaybePromise<readonly Answer[]> {
    for (const { turn } of this.batch) if (turn) return sendInTime(this.store, this.batch, call)
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

/** Sends a batch without the requests that the failure policy answered while they waited. */
function sendInTime(store: Store, batch: readonly Asked[], call: Call): MaybePromise<readonly Answer[]> {
  const sent = batch.filter(({ turn }) => !turn?.isOver)
  const ofAll = {
    get isOver(): boolean {
      return call.isOver || sent.some(({ turn }) => turn?.isOver)
    },
  }
  const answers = sent.length > 0 ? store.consume(sent, ofAll) : []
  if (sent.length === batch.length) return answers
  const late = new StoreError('too late to ask the store: raise deadlineMs if this comes often', {
    code: 'ERR_TOLLGATE_STORE_TIMEOUT',
    isOfRequest: true,
  })
  return chain(answers, (given) => batch.map((request) => given[sent.indexOf(request)] ?? late))
}

export function notAList(given: unknown): StoreError {
  quiet(given)
  return new StoreError(
    `the store answered a batch with ${show(given)}, expected an array (${pageOf('writing-a-store.md')})`,
  )
}
