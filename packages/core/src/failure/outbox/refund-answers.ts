import { isA, show, StoreError, toStoreError, type StoreErrorReason, pageOf } from '../../base/errors.js'
import { quiet } from '../../base/promises.js'
import type { RefundAnswer, RefundRequest } from '../../stores/contract.js'
import { isRefundAnswer } from '../../stores/outcome-check.js'
import type { BatchListener } from '../local/consumption.js'

/** Reports refunds that failed. Each is sent again every 250 ms for minutes, so it is reported once for each reason. */
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
      `the store answered a batch with ${show(given)}, expected an array (${pageOf('writing-a-store.md')})`,
    )
  const answer: unknown = given[i]
  if (isRefundAnswer(answer)) return answer
  if (isA(answer, Error)) return toStoreError(answer)
  return new StoreError(
    `the store answered a refund with ${show(answer)}, expected true or false (${pageOf('writing-a-store.md')})`,
  )
}
