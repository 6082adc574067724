import { isA, show, StoreError, toStoreError } from '../base/errors.js'
import { pageOf } from '../base/pages.js'
import { quiet } from '../base/quiet.js'
import type { RefundAnswer, RefundRequest } from '../stores/contract.js'
import { isRefundAnswer } from '../stores/outcome-check.js'

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
