import { NEVER } from '../algorithms/implementation.js'
import { isWhole } from '../base/options.js'
import type { LimitSet } from '../plans/limit/limit-set.js'
import type {
  Booked,
  ChargedPart,
  Hold,
  HoldOutcome,
  LeaseOrder,
  LeaseOutcome,
  LimitOutcome,
  LimitUsage,
  Outcome,
  StoreRequest,
  SubRequest,
} from './contract.js'

/** Whether a store's answer is a valid outcome for a request. A user's own store can return anything. */
export function isOutcome(given: unknown, request: StoreRequest): given is Outcome {
  try {
    const { at, limits, lease, hold, wasBlocked, booked, usage } = (given ?? {}) as Partial<Outcome>
    if (!Number.isFinite(at) || !Array.isArray(limits) || limits.length !== countOf(request.parts))
      return false
    // Loops over indices, here and below, since this runs for every request.
    for (let i = 0; i < limits.length; i += 1) if (!isLimitOutcome(limits[i] as object)) return false
    switch (request.grant) {
      case 'all':
        return request.hold === undefined || isHold(hold, limits, request.hold)
      case 'upTo':
        return isSameForAll(limits, Math.min(...request.parts.map(({ cost }) => cost)))
      case 'force':
        return isOfEach(limits, request.parts)
      case 'lease':
        return isLease(lease, limits, request.order)
      case 'unblock':
        return typeof wasBlocked === 'boolean'
      case 'account':
        return BOOKED.has(booked) && (request.entry.kind !== 'usage' || isUsage(usage))
      default:
        return true
    }
  } catch {
    // A limit is undefined or null, or a getter threw.
    return false
  }
}

const BOOKED: ReadonlySet<unknown> = new Set<Booked>(['booked', 'repeated', 'other', 'full', 'late'])

function isUsage(given: LimitUsage | undefined): boolean {
  return given !== undefined && isCountedWindow(given.running) && isCountedWindow(given.closed)
}

function isCountedWindow(given: LimitUsage['closed']): boolean {
  if (given === undefined) return true
  const { units, over, startUs, endUs } = given
  return isWhole(units, 0) && isWhole(over, 0) && isTime(startUs) && isTime(endUs)
}

/** Whether a store's answer is a valid answer to a refund. */
export function isRefundAnswer(given: unknown): given is boolean {
  return typeof given === 'boolean'
}

function countOf(parts: readonly SubRequest[]): number {
  let count = 0
  for (let i = 0; i < parts.length; i += 1) count += (parts[i] as SubRequest).set.limits.length
  return count
}

function isLimitOutcome(given: Partial<LimitOutcome>): boolean {
  const { wait, remaining, reset, leased, slot, block, wouldWait, over, toppedUp, shortQuota } = given
  if (!isTime(wait) || (wait < 0 && wait !== NEVER) || !isTime(reset) || !isWhole(remaining, 0)) return false
  if (wouldWait !== undefined && (!isTime(wouldWait) || (wouldWait <= 0 && wouldWait !== NEVER))) return false
  if (over !== undefined && !isWhole(over, 0)) return false
  if (toppedUp !== undefined && !isWhole(toppedUp, 0)) return false
  if (shortQuota !== undefined && !isWhole(shortQuota, 0)) return false
  // A blocked key lets nothing pass.
  if (block !== undefined && !(isWhole(block.endsInUs, 1) && isWhole(block.level, 1) && wait !== 0))
    return false
  return (leased === undefined || isWhole(leased, 0)) && (slot === undefined || isWhole(slot, 0))
}

/** Safe integers only: a larger number could not be written into a header. */
function isTime(given: unknown): given is number {
  return typeof given === 'number' && Math.abs(given) <= Number.MAX_SAFE_INTEGER
}

/** For `upTo` and `lease`: whether `granted` is the same for every limit, and at most what was asked for. */
function isSameForAll(limits: readonly LimitOutcome[], most: number): boolean {
  const granted = limits[0]?.granted
  return isWhole(granted, 0, most) && limits.every((limit) => limit.granted === granted)
}

/** A lease that lasts longer than the wish would be served after the store has given its units to others. */
function isLease(
  { endsInUs, isKnown }: Partial<LeaseOutcome> = {},
  limits: readonly LimitOutcome[],
  { wish }: LeaseOrder,
): boolean {
  const isInTime = isWhole(endsInUs, 0, wish?.lengthUs ?? 0)
  return isInTime && typeof isKnown === 'boolean' && isSameForAll(limits, wish?.most ?? 0)
}

/** A place that comes later than asked, or a hold that lasts longer, would keep units for which no request waits. */
function isHold(held: HoldOutcome | undefined, limits: readonly LimitOutcome[], hold: Hold): boolean {
  if (limits.some(({ wait }) => wait !== 0)) return held === undefined
  const { delayUs, endsInUs } = held ?? {}
  if (!isWhole(delayUs, 0) || !isWhole(endsInUs, 0)) return false
  const { kind, lengthUs, slackUs } = hold
  if (kind === 'reservation') return delayUs === 0 && endsInUs <= lengthUs + lengthUs / 64 + 1000
  return delayUs <= lengthUs && endsInUs <= delayUs + slackUs && (delayUs === 0 || endsInUs >= delayUs)
}

/** For `force`: whether each limit has its own `granted`, at most its used units. */
function isOfEach(limits: readonly LimitOutcome[], parts: readonly ChargedPart[]): boolean {
  return limitsByPart(parts, limits).every(([{ used }, own]) =>
    own.every(({ granted }, i) =>
      isWhole(
        granted,
        0,
        (used[i] ?? []).reduce((sum, { units }) => sum + units, 0),
      ),
    ),
  )
}

/** Each part of a request with its limits' items from a list. As in an outcome, the first part's limits come first. */
export function limitsByPart<Part extends { readonly set: LimitSet }, T>(
  parts: readonly Part[],
  ofLimits: readonly T[],
): (readonly [Part, readonly T[]])[] {
  if (parts.length === 1) return [[parts[0] as Part, ofLimits]]
  let next = 0
  return parts.map((part) => [part, ofLimits.slice(next, (next += part.set.limits.length))])
}
