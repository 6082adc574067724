import type { Part } from '../../requests/request.js'
import type { Verdict } from '../../requests/verdict.js'
import type { LimitOutcome, RefundRequest } from '../../stores/contract.js'
import { refundOf } from '../../stores/receipts.js'

/**
 * Gives units of a place back that has ended, so that they entered the limits then. Nobody told what else was in the limits at that
 * moment. Of a bucket they count as the first to drain, so that no more goes back than can still be there.
 *
 * @param parts those of the verdict's parts whose units entered
 */
export function refundOfPlace(
  { step, outcome }: Verdict,
  parts: readonly Part[],
  units: number,
): RefundRequest {
  const { at = 0, limits = [], hold } = outcome ?? {}
  const entered: LimitOutcome[] = []
  let next = 0
  for (const part of step.parts) {
    for (const { capacity } of part.limits) {
      const reset = limits[next++]?.reset ?? 0
      if (parts.includes(part)) entered.push({ wait: 0, remaining: Math.max(capacity - step.cost, 0), reset })
    }
  }
  const { shard } = step
  return refundOf({ shard, parts }, { at: at + (hold?.endsInUs ?? 0), limits: entered }, units)
}
