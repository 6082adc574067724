import type { Part, Request, Verdict } from '../../requests/request.js'
import type { LimitOutcome, Outcome, RefundRequest } from '../../stores/contract.js'
import { limitsByPart } from '../../stores/outcome-check.js'
import { refundOf } from '../../stores/receipts.js'

/** Whether units of a verdict were put beside the limits, as a reservation or a place. */
export function isHeld({ allowed, outcome }: Verdict): boolean {
  return allowed && outcome?.hold !== undefined && outcome.hold.endsInUs > 0
}

/** Whether its units are a reservation: they come back at the end, and enter the limits only if they are reported as used. */
export function isReserved(verdict: Verdict): boolean {
  return isHeld(verdict) && verdict.step.hold?.kind === 'reservation'
}

/** The parts whose units are held. For a place, these are the parts that can wait: the others are taken at once. */
export function heldParts({ hold, parts }: Pick<Request, 'hold' | 'parts'>): readonly Part[] {
  return hold?.kind === 'place' ? parts.filter(({ set }) => set.wait) : parts
}

/** The parts whose units were taken at once beside those that are held. */
function takenParts(step: Pick<Request, 'hold' | 'parts'>): readonly Part[] {
  const held = heldParts(step)
  return step.parts.filter((part) => !held.includes(part))
}

/** What an outcome says of the limits of some parts. */
export function limitsOfParts(
  step: Pick<Request, 'parts'>,
  { limits }: Pick<Outcome, 'limits'>,
  parts: readonly Part[],
): LimitOutcome[] {
  return limitsByPart(step.parts, limits).flatMap(([part, own]) => (parts.includes(part) ? own : []))
}

/**
 * Gives back units of a place that has ended: they entered the limits then. What else was in the limits at that moment is
 * not known. So in a bucket they count as the first to drain since the place's time, and no more goes back than can still be
 * there.
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

/** Gives back units that were taken at once beside a place; undefined if there are none. */
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
