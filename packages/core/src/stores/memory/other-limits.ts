import type { LimitSet } from '../../plans/limit-set.js'
import type { PreparedLimit } from './prepared-limit.js'
import type { PreparedSet } from './prepared-sets.js'
import { LAST, MORE, MORE_STATES, STATES, type OtherPart, type Records } from './records.js'

/** Every state that is kept of a subject: those of the last write in order, then those of other limits. */
export interface KeptParts {
  readonly own: readonly OtherPart[]
  readonly others: readonly OtherPart[]
}

/**
 * Reads all states of a record as objects.
 *
 * @param prepared the set of its last write
 * @param keptUs   how much longer states are kept under a test's clock
 */
export function partsOf(records: Records, id: number, prepared: PreparedSet, keptUs: number): KeptParts {
  const page = records.page(id)
  const at = records.at(id)
  const last = page[at + LAST] as number
  const kept = (page[at + MORE] as number) & MORE_STATES ? records.states[id] : undefined
  const ends = last + prepared.ttlUs + keptUs
  const own = (records.sets[id] as LimitSet).limits.map(({ stateId }, i): OtherPart => {
    const limit = prepared.limits[i] as PreparedLimit
    return { stateId, state: kept?.[i] ?? unpacked(limit, page, at + STATES), last, ends }
  })
  return { own, others: records.othersOf(id) }
}

function unpacked({ algorithm, packing, first }: PreparedLimit, page: Float64Array, at: number): object {
  const state = algorithm.create()
  packing?.unpack(state, page, at + first)
  return state
}

/** The states of limits that `set` does not have and that still count. */
export function othersBeside(
  { own, others }: KeptParts,
  { limits }: LimitSet,
  now: number,
): readonly OtherPart[] {
  return [...own, ...others].filter(
    ({ stateId, ends }) => ends > now && !limits.some((limit) => limit.stateId === stateId),
  )
}

/**
 * Finds the states of a set's limits, by state id, in a record that another set wrote. Searches in the same order as
 * the Redis script. What is not found is undefined.
 */
export function findParts({ own, others }: KeptParts, { limits }: LimitSet): (OtherPart | undefined)[] {
  const parts = [...own, ...others]
  const taken = new Set<object>()
  let next = 0
  return limits.map(({ stateId }) => {
    const isNext = next < own.length && parts[next]?.stateId === stateId
    const part = isNext ? parts[next] : parts.find((one) => one.stateId === stateId)
    next = isNext ? next + 1 : 0
    if (!part) return undefined
    // Two limits with the same state id must not share one state object.
    const state = taken.has(part.state) ? structuredClone(part.state) : part.state
    taken.add(part.state)
    return { ...part, state }
  })
}
