import type { Request } from '../../requests/request.js'
import type { Verdict } from '../../requests/verdict.js'

/** Whether the units of a verdict were put beside the limits, as a reservation or a place. */
export function isHeld({ allowed, outcome }: Verdict): boolean {
  return allowed && outcome?.hold !== undefined && outcome.hold.endsInUs > 0
}

/** Whether they come back at the end, and never enter the limits unless they are reported as used. */
export function isReserved(verdict: Verdict): boolean {
  return isHeld(verdict) && verdict.step.hold?.kind === 'reservation'
}

/** The same request without what it holds, to take more units as any other does. */
export function withoutHold(request: Request): Request {
  return { ...request, hold: undefined, steps: request.steps?.map(withoutHold) }
}
