import { newHolderId } from '../../failure/outbox/outbox.js'
import { InFlight } from '../../features/in-flight/in-flight.js'
import type { RequestSlots } from '../../requests/request.js'
import { sendInBackground } from '../pipeline/backing.js'
import type { Decision } from './decision.js'
import type { StoreAccess } from '../pipeline/store-access.js'
import type { Reporter } from '../report/reporter.js'

/** Makes what counts requests in flight, with a store to tell of them. */
export function inFlightOf(store: StoreAccess, reporter: Reporter): InFlight {
  return new InFlight(newHolderId(), {
    answersAtOnce: store.answersAtOnce,
    send: (request, onAnswer) => sendInBackground(store, reporter, request, onAnswer),
    charge: (batch, onAnswers) => void store.charge(batch).then(onAnswers),
    isRefused: (shard) => store.refusal(shard) !== undefined,
    onDeclaredAgain: (subjects, slots) => reporter.declaredAgain(subjects, slots),
  })
}

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
