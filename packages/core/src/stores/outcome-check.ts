import { NEVER } from '../algorithms/implementation.js'
import type {
  Hold,
  HoldOutcome,
  LeaseOrder,
  LimitOutcome,
  Outcome,
  StoreRequest,
  SubRequest,
} from './contract.js'

type Asked = Pick<StoreRequest, 'parts' | 'grant' | 'order' | 'hold'>

/** Whether a store's answer is a valid outcome for a request: a user's own store can return anything. */
export function isOutcome(given: unknown, { parts, grant, order, hold }: Asked): given is Outcome {
  try {
    const { at, limits, lease } = (given ?? {}) as Partial<Outcome>
    if (!Number.isFinite(at) || !Array.isArray(limits) || limits.length !== countOf(parts)) return false
    // Indices, here and below, since this runs for every request.
    for (let i = 0; i < limits.length; i += 1) if (!isLimitOutcome(limits[i])) return false
    if (grant === 'all') return hold === undefined || isHold((given as Partial<Outcome>).hold, limits, hold)
    if (grant === 'declare' || grant === 'release') return true
    if (grant === 'lease') return isLease(lease, limits, order)
    return grant === 'upTo' ? isSameForAll(limits, leastCost(parts)) : isOfEach(limits, parts)
  } catch {
    // A getter threw.
    return false
  }
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

function isLimitOutcome(given: Partial<LimitOutcome> | null | undefined): boolean {
  const { wait, remaining, reset, leased, slot } = given ?? {}
  if (leased !== undefined && !isCount(leased)) return false
  if (slot !== undefined && !isCount(slot)) return false
  return isTime(wait) && (wait >= 0 || wait === NEVER) && isTime(reset) && isCount(remaining)
}

/** Within the safe integers, beyond which a number could not be written into a header. */
function isTime(given: unknown): given is number {
  return typeof given === 'number' && Math.abs(given) <= Number.MAX_SAFE_INTEGER
}

function isCount(given: unknown): given is number {
  return Number.isSafeInteger(given) && (given as number) >= 0
}

function leastCost(parts: readonly SubRequest[]): number {
  return Math.min(...parts.map(({ cost }) => cost))
}

/** With `upTo` and `lease`: `granted` is the same for every limit, and at most what was asked for. */
function isSameForAll(limits: readonly LimitOutcome[], most: number): boolean {
  const granted = limits[0]?.granted
  return isCount(granted) && limits.every((limit) => limit.granted === granted) && granted <= most
}

/** A lease that would last longer than the wish says would be served after the store has given its units to others. */
function isLease(
  lease: Outcome['lease'],
  limits: readonly LimitOutcome[],
  { wish }: LeaseOrder = { reports: [] },
): boolean {
  const { endsInUs, isKnown } = lease ?? {}
  const isInTime = isCount(endsInUs) && endsInUs <= (wish?.lengthUs ?? 0)
  return isInTime && typeof isKnown === 'boolean' && isSameForAll(limits, wish?.most ?? 0)
}

/** A place that came later than asked for, or a hold that lasted longer, would keep units that nobody waits for. */
function isHold(held: HoldOutcome | undefined, limits: readonly LimitOutcome[], hold: Hold): boolean {
  if (limits.some(({ wait }) => wait !== 0)) return held === undefined
  const { delayUs, endsInUs } = held ?? {}
  if (!isCount(delayUs) || !isCount(endsInUs)) return false
  const { kind, lengthUs, slackUs } = hold
  if (kind === 'reservation') return delayUs === 0 && endsInUs <= lengthUs + lengthUs / 64 + 1000
  return delayUs <= lengthUs && endsInUs <= delayUs + slackUs && (delayUs === 0 || endsInUs >= delayUs)
}

/** With `force`: each limit has its own `granted`, at most the units used of it. */
function isOfEach(limits: readonly LimitOutcome[], parts: readonly SubRequest[]): boolean {
  let next = 0
  return parts.every(({ set, used = [] }) =>
    set.limits.every((_, i) => {
      const { granted } = limits[next++] as LimitOutcome
      return isCount(granted) && granted <= (used[i] ?? []).reduce((sum, { units }) => sum + units, 0)
    }),
  )
}
