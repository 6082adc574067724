import type { RequestSlots } from '../../requests/request.js'
import type { Decision } from './decision.js'

/** Concludes the slots of a request. If it was let in, the decision can give them back. */
export function holdSlots(decision: Decision, slots: RequestSlots): void {
  slots.conclude(decision.allowed)
  // Its own property, so that a copy of the decision gives back the same slots.
  if (decision.allowed) (decision as { release: () => boolean }).release = () => slots.release()
}

/** Has a decision give back the slots of an earlier one, too, which it includes. */
export function holdBoth(decision: Decision, earlier: Decision): Decision {
  if (!hasSlots(earlier)) return decision
  const own = decision.release.bind(decision)
  const releases = [() => earlier.release(), own]
  ;(decision as { release: () => boolean }).release = () =>
    releases.map((release) => release()).includes(true)
  return decision
}

/** Whether a decision took slots that are to be given back: only then `release` is its own. */
export function hasSlots(decision: Decision): boolean {
  return Object.hasOwn(decision, 'release')
}
