import type { Part, Request } from '../../requests/request.js'
import type { Verdict } from '../../requests/verdict.js'
import type { Outcome, RefundRequest } from '../../stores/contract.js'
import { refundOf } from '../../stores/receipts.js'
import { limitsOfParts, takenParts } from './held.js'

/**
 * Gives units of a place back that has ended, so that they entered the limits then. Nobody told what else was in the limits at that
 * moment. Of a bucket they count as the first to drain since the time of the place, so that no more goes back than can still be
 * there: what was told when it was booked is how long the next unit takes behind all that wait.
 *
 * @param parts those of the verdict's parts whose units entered
 */
export function refundOfPlace(
  { step, outcome }: Verdict,
  parts: readonly Part[],
  units: number,
): RefundRequest {
  const { at = 0, hold } = outcome ?? {}
  const { delayUs = 0, endsInUs = 0 } = hold ?? {}
  const entered = parts.flatMap(({ limits }) =>
    limits.map(({ capacity, quota, windowMs }) => ({
      ...{ wait: 0, remaining: Math.max(capacity - step.cost, 0) },
      // At the end of the place the first unit has drained since its time: below 0 it is gone, and so may be others.
      reset: Math.floor((windowMs * 1000) / quota) - (endsInUs - delayUs),
    })),
  )
  return refundOf({ shard: step.shard, parts }, { at: at + endsInUs, limits: entered }, units)
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
