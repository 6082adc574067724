import type { Usage } from '../../algorithms/implementation.js'
import type { CompiledLimit, LimitSet } from '../../plans/limit/limit-set.js'
import type { LimitOutcome } from '../../stores/contract.js'

/** Units of one limit that were admitted at about the same time. Times in µs of a monotonic clock. */
interface UsageEntry {
  readonly firstUs: number
  lastUs: number
  units: number
  /** When their window ends, if it matters in which one they were admitted. */
  readonly endsUs: number
}

/** Units that a limit admitted, and in how many µs their window ends. */
export interface Taken {
  readonly units: number
  /** Infinity if it does not matter in which window they were admitted: without overage, nothing is billed. */
  readonly endsInUs: number
}

/** Units of one key that were admitted without the store, for each limit. */
export interface Used {
  readonly set: LimitSet
  /** For each limit, oldest first. */
  readonly entries: readonly (readonly Readonly<UsageEntry>[])[]
}

/** Units within this part of a window share an entry, if they are of one window. It ages from its last unit, so no unit comes back early. */
const PARTS_OF_WINDOW = 8

/**
 * The most lists of limits that are kept for a key during an outage; then the oldest is forgotten. Only a subject whose limits
 * differ with every request has more, and each list can be long.
 */
const MOST_SETS = 16

/** What is kept for a key and some limits. */
interface KeyUsage {
  /** The latest of those with the same state ids. */
  set: LimitSet
  readonly entries: UsageEntry[][]
}

/** Remembers for each limit what was admitted and when, as long as it can count. */
export class UsageLedger {
  readonly #keys = new Map<string, KeyUsage[]>()

  /**
   * Leaves out requests in flight. When the store is back, those that still run are reported, and the others no longer count.
   *
   * @returns the units of all limits that were forgotten to make room
   */
  add(key: string, set: LimitSet, taken: readonly Taken[], nowUs: number): number {
    const [kept, forgotten] = this.#of(key, set)
    for (const [i, limit] of kept.entries.entries()) {
      const { units, endsInUs } = taken[i] as Taken
      if (i === set.inFlightIndex || units === 0) continue
      const { ttlMs } = set.limits[i] as CompiledLimit
      dropOld(limit, nowUs - ttlMs * 1000)
      const last = limit.at(-1)
      if (last && nowUs < last.endsUs && nowUs - last.firstUs < (ttlMs * 1000) / PARTS_OF_WINDOW) {
        last.lastUs = nowUs
        last.units += units
      } else {
        limit.push({ firstUs: nowUs, lastUs: nowUs, units, endsUs: nowUs + endsInUs })
      }
    }
    return forgotten
  }

  /**
   * Removes units that were added at `atUs`.
   *
   * @returns false when they have been taken by `take`, or no longer count
   */
  remove(key: string, set: LimitSet, taken: readonly number[], atUs: number): boolean {
    const found = this.#keys.get(key)?.find((one) => countsAs(one.set, set))
    let removed = false
    for (const [i, limit] of (found?.entries ?? []).entries()) {
      const units = taken[i] ?? 0
      const entry = limit.find(({ firstUs, lastUs }) => firstUs <= atUs && atUs <= lastUs)
      if (!entry || units === 0 || entry.units < units) continue
      entry.units -= units
      removed = true
    }
    return removed
  }

  /** Returns what was admitted for a key, and forgets it. */
  take(key: string): readonly Used[] {
    const found = this.#keys.get(key) ?? []
    this.#keys.delete(key)
    return found.filter(({ entries }) => entries.some((limit) => limit.some(({ units }) => units > 0)))
  }

  delete(key: string): void {
    this.#keys.delete(key)
  }

  /** What is kept for these limits, and how many units were forgotten to make room. */
  #of(key: string, set: LimitSet): readonly [kept: KeyUsage, forgotten: number] {
    const known = this.#keys.get(key)
    const same = known?.find((one) => countsAs(one.set, set))
    if (same) {
      same.set = set
      return [same, 0]
    }
    // One for each list of limits, since the subject's plan may change while the store is away.
    const made = { set, entries: set.limits.map((): UsageEntry[] => []) }
    if (!known) this.#keys.set(key, [made])
    else known.push(made)
    const oldest = known && known.length > MOST_SETS ? known.shift() : undefined
    return [made, oldest ? unitsOf(oldest) : 0]
  }
}

/** Whether units of one are units of the other, whatever their quotas. */
function countsAs(one: LimitSet, other: LimitSet): boolean {
  if (one === other) return true
  if (one.limits.length !== other.limits.length) return false
  return one.limits.every(({ stateId }, i) => stateId === other.limits[i]?.stateId)
}

function dropOld(limit: UsageEntry[], beforeUs: number): void {
  let old = 0
  while (old < limit.length && (limit[old] as UsageEntry).lastUs <= beforeUs) old += 1
  if (old > 0) limit.splice(0, old)
}

/** Converts the admitted units to the form that a store's `force` takes. `nowUs` is the time of the same clock. */
export function usageAt({ entries }: Used, nowUs: number): Usage[][] {
  return entries.map((limit) =>
    limit
      .filter(({ units }) => units > 0)
      .map(({ lastUs, units }) => ({ units, ageUs: Math.max(Math.round(nowUs - lastUs), 0) })),
  )
}

/** Units of all limits together. One request counts once for each limit, so this is only a measure of size. */
export function unitsOf({ entries }: Used): number {
  return entries.flat().reduce((sum, { units }) => sum + units, 0)
}

/** What each limit admitted by these outcomes, with the end of its window if that is billed. */
export function takenIn(
  { limits }: LimitSet,
  outcomes: readonly LimitOutcome[],
  units: readonly number[],
): Taken[] {
  return limits.map(({ overage }, i) => {
    const { reset } = outcomes[i] as LimitOutcome
    return { units: units[i] ?? 0, endsInUs: overage ? reset : Infinity }
  })
}
