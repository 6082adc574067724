import type { Part, Request } from '../../requests/request.js'
import type { Verdict } from '../../requests/verdict.js'
import type { Outcome, RefundRequest } from '../../stores/contract.js'
import { refundOf } from '../../stores/receipts.js'
import { limitsOfParts, takenParts } from './held.js'

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
  const capacities = parts.flatMap((part) => part.limits.map(({ capacity }) => capacity))
  const entered = limitsOfParts(step, { limits }, parts).map(({ reset }, i) => ({
    ...{ wait: 0, reset },
    remaining: Math.max((capacities[i] ?? 0) - step.cost, 0),
  }))
  return refundOf({ shard: step.shard, parts }, { at: at + (hold?.endsInUs ?? 0), limits: entered }, units)
}

/** Gives units back that were taken at once beside a place; undefined if there are none. */
export function refundOfTaken(
  step: Pick<Request, 'shard' | 'hold' | 'parts'>,
  outcome: Outcome,
  units: number,
): RefundRequest | undefined {
  const parts = takenParts(step)
  if (parts.length === 0) return undefined
  const { at } = outcome
  return refundOf({ shard: step.shard, parts }, { at, limits: limitsOfParts(step, outcome, parts) }, units)
}
