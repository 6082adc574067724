import type { Part, Request } from '../../requests/request.js'
import type { Verdict } from '../../requests/verdict.js'
import type { LimitOutcome, Outcome } from '../../stores/contract.js'

/** Whether units of a verdict were put beside the limits, as a reservation or a place. */
export function isHeld({ allowed, outcome }: Verdict): boolean {
  return allowed && outcome?.hold !== undefined && outcome.hold.endsInUs > 0
}

/** Whether they come back at the end, and never enter the limits unless they are reported as used. */
export function isReserved(verdict: Verdict): boolean {
  return isHeld(verdict) && verdict.step.hold?.kind === 'reservation'
}

/** The parts whose units are held. Of a place that is only those that can wait: the others are taken at once. */
export function heldParts({ hold, parts }: Pick<Request, 'hold' | 'parts'>): readonly Part[] {
  return hold?.kind === 'place' ? parts.filter(({ set }) => set.wait) : parts
}

/** The parts whose units were taken at once beside those that are held. */
export function takenParts(step: Pick<Request, 'hold' | 'parts'>): readonly Part[] {
  const held = heldParts(step)
  return step.parts.filter((part) => !held.includes(part))
}

/** What an outcome says of the limits of some parts. */
export function limitsOfParts(
  step: Pick<Request, 'parts'>,
  { limits }: Pick<Outcome, 'limits'>,
  parts: readonly Part[],
): LimitOutcome[] {
  let next = 0
  return step.parts.flatMap((part) => {
    const own = limits.slice(next, (next += part.set.limits.length))
    return parts.includes(part) ? own : []
  })
}

/** The same request without what it holds, to take more units as any other does. */
export function withoutHold(request: Request): Request {
  return { ...request, hold: undefined, steps: request.steps?.map(withoutHold) }
}
