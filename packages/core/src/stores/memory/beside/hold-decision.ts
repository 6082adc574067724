import { NEVER } from '../../../algorithms/implementation.js'
import type { Hold, HoldOutcome, SubRequest } from '../../contract.js'
import type { LoadedSubject } from '../loaded-subject.js'
import type { Opening } from './place-line.js'

/** What becomes of a request with a hold, if it is not denied. */
export interface HoldPlan extends HoldOutcome {
  /** Whether it was made before by a request with the same id: then nothing is taken now. */
  readonly isKnown: boolean
}

/** A request with a hold, whose subjects are loaded and know how long each limit has to wait for the cost. */
export interface HoldRequest {
  readonly hold: Hold
  readonly parts: readonly SubRequest[]
  /** Those of the parts, in order. */
  readonly subjects: readonly LoadedSubject[]
}

export const NOTHING_HELD: HoldOutcome = { delayUs: 0, endsInUs: 0 }
const TAKEN: HoldPlan = { delayUs: 0, endsInUs: 0, isKnown: false }

/**
 * Whether and when the parts of a request have their cost. The twin of holds.lua in stores/redis/scripts/beside: change both.
 *
 * @returns undefined: the request is denied
 */
export function planHold(request: HoldRequest, now: number): HoldPlan | undefined {
  const { hold, subjects } = request
  for (const subject of subjects) {
    const known = subject.known(hold.id, now)
    if (known) return { ...known, isKnown: true }
  }
  const fits = subjects.every((subject) => subject.fits)
  if (hold.kind === 'reservation') {
    const hasRoom = subjects.every((subject) => subject.openReservations(now) < hold.most)
    return fits && hasRoom
      ? { delayUs: 0, endsInUs: reservationEnd(hold, now) - now, isKnown: false }
      : undefined
  }
  const delayUs = fits ? 0 : delayOf(request, now)
  if (delayUs === undefined) return undefined
  return delayUs === 0 ? TAKEN : { delayUs, endsInUs: delayUs + hold.slackUs, isKnown: false }
}

/**
 * How long the first limit of a key waits if the cost fits, but too many reservations are open. When one of them ends is not
 * known.
 */
export const FULL_WAIT_US = 1_000_000

/** A time that one limit has can be too late for places of another: so all are asked until they agree. */
function delayOf(request: HoldRequest, now: number): number | undefined {
  const openings = openingsOf(request, now)
  if (!openings) return undefined
  let delay = Math.max(0, ...openings.map(({ leastUs }) => leastUs))
  for (let before = -1; delay > before;) {
    before = delay
    for (const opening of openings) {
      delay = opening.from(delay)
      if (delay === NEVER || delay > request.hold.lengthUs) return undefined
    }
  }
  return delay
}

/** Of all limits that may be waited for; undefined if another has no room now. */
function openingsOf({ hold, parts, subjects }: HoldRequest, now: number): Opening[] | undefined {
  const all: Opening[] = []
  for (const [i, subject] of subjects.entries()) {
    const openings = subject.openings(parts[i] as SubRequest, hold, now)
    if (!openings) return undefined
    all.push(...openings)
  }
  return all
}

/** Whether the cost of a part is put beside its limits. Else it is taken at once. */
export function isHeld({ kind }: Hold, { isKnown, endsInUs }: HoldPlan, { set }: SubRequest): boolean {
  return !isKnown && endsInUs > 0 && (kind === 'reservation' || set.wait !== undefined)
}

/**
 * When a reservation ends: as late as asked for, or up to a 64th later. Steps are powers of two, so reservations of different
 * lengths end together, and those of many requests end at few moments.
 */
export function reservationEnd({ lengthUs }: Hold, now: number): number {
  const grid = 2 ** Math.floor(Math.log2(Math.max(1000, Math.floor(lengthUs / 64))))
  return Math.ceil((now + lengthUs) / grid) * grid
}

/**
 * When a lease of this length ends, rounded down to an eighth of it. So the leases of any number of processes end at about nine
 * different moments at most.
 */
export function endAfter(now: number, lengthUs: number): number {
  const grid = Math.max(1000, Math.floor(lengthUs / 8))
  return Math.floor((now + lengthUs) / grid) * grid
}
