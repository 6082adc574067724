import { MOST_UNITS } from '../../algorithms/implementation.js'
import { keptId, type LimitSet } from '../../plans/limit/limit-set.js'
import { NO_ACCOUNT, type Account } from './beside/account.js'
import { openUntil } from './beside/billed-windows.js'
import type { LeaseBook } from './beside/lease-book.js'
import type { PreparedLimit } from './prepared-limit.js'
import type { PreparedSet } from './prepared-sets.js'
import {
  LAST,
  MORE,
  MORE_STATES,
  STATES,
  type MergedPart,
  type OtherParts,
  type Part,
  type Records,
} from './records.js'

/** As many states of other limits are kept. Those of before are merged. */
const MOST_OTHERS = 64

/** Every state that is kept of a subject: those of the last write in order, then those of other limits. */
export interface KeptParts {
  readonly own: readonly Part[]
  readonly others: OtherParts
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
  const account = records.accounts.get(id) ?? NO_ACCOUNT
  const own = prepared.limits.map((limit, i): Part => {
    const { keptId: id, algorithm } = limit
    const ends = Math.max(last + prepared.ttlUs, openUntil(account, limit)) + keptUs
    return { id, algorithm, state: kept?.[i] ?? unpacked(limit, page, at + STATES), last, ends }
  })
  return { own, others: records.othersOf(id) }
}

function unpacked({ algorithm, packing, first }: PreparedLimit, page: Float64Array, at: number): object {
  const state = algorithm.create()
  packing?.unpack(state, page, at + first)
  return state
}

/**
 * What is kept beside a set: the states of limits that it does not have and that still count, and the units on lease. The
 * twin of parts.lua in stores/redis/scripts/shared: change both, law 5 (one truth) compares them.
 *
 * @param leases what waits for limits of other sets goes with those that are merged
 */
export function othersBeside(
  { own, others }: KeptParts,
  { limits }: LimitSet,
  leases: LeaseBook,
  now: number,
): OtherParts & { readonly leases: LeaseBook } {
  const isLeased = ({ id }: Part, afterUs: number): boolean =>
    leases.some(({ endUs, stateIds }) => endUs > afterUs && stateIds.includes(id))
  // What was of the set until now may say nothing.
  const saying = own.filter((part) => part.algorithm.unitsIn(part.state) > 0 || isLeased(part, 0))
  const counting = [...saying, ...others.parts].filter(
    ({ id, ends }) => ends > now && !limits.some((limit) => keptId(limit) === id || limit.otherId === id),
  )
  const early = counting.filter(({ algorithm }) => !algorithm.inFlight).slice(MOST_OTHERS)
  const old = new Set(early.filter((part) => !isLeased(part, now)))
  let merged = others.merged && others.merged.ends > now ? others.merged : undefined
  let left = leases
  for (const part of old) {
    const waits = ({ endUs, stateIds }: LeaseBook[number]): boolean =>
      endUs <= now && stateIds.includes(part.id)
    merged = merge(merged, part, left.filter(waits))
    left = left.flatMap((group) => (waits(group) ? without(group, part.id) : group))
  }
  return { parts: counting.filter((part) => !old.has(part)), merged, leases: left }
}

/** Merges a part with those before it, and with units on lease that have ended and wait for its limit. */
function merge(
  merged: MergedPart | undefined,
  { algorithm, state, last, ends }: Part,
  waiting: LeaseBook,
): MergedPart | undefined {
  const units = waiting.reduce((sum, { out }) => sum + out, algorithm.unitsIn(state))
  if (units === 0) return merged
  return {
    units: Math.min(Math.max(units, merged?.units ?? 0), MOST_UNITS),
    last: Math.max(
      last,
      merged?.last ?? 0,
      ...waiting.map((group) => group.endUs - (group.kind === 'place' ? 0 : group.lagUs)),
    ),
    ends: Math.max(ends, merged?.ends ?? 0, ...waiting.map(({ expiresUs }) => expiresUs)),
  }
}

function without(group: LeaseBook[number], stateId: number): LeaseBook {
  const stateIds = group.stateIds.filter((id) => id !== stateId)
  return stateIds.length > 0 ? [{ ...group, stateIds }] : []
}

/** The state of a limit, and when it was written. */
export interface FoundState {
  readonly state: object
  readonly last: number
  /** Whether it is of this very limit. */
  readonly isOwn: boolean
}

/**
 * Finds the states of a set's limits, by state id, in a record that another set wrote. Searches in the same order as
 * the Redis script. A limit without a state can be one of those that are merged: so it has used as much as any of them, and
 * as late. A client gains nothing by moving among many plans, and may be let in later.
 *
 * @returns undefined for a limit that has used nothing
 */
export function findStates(
  { own, others }: KeptParts,
  { limits }: PreparedSet,
  account: Account,
  now: number,
): (FoundState | undefined)[] {
  const parts = [...own, ...others.parts]
  const { merged } = others
  const taken = new Set<object>()
  let next = 0
  return limits.map((limit) => {
    const { algorithm } = limit
    const isNext = next < own.length && parts[next]?.id === limit.keptId
    const part = isNext ? parts[next] : fullest(partsFor(limit, own, parts), limit, now)
    next = isNext ? next + 1 : 0
    if (!part) {
      const plain = parts.find(({ id }) => algorithm.fromPlain && id === limit.otherId)
      const state = plain && limit.fromPlain(plain, now, openUntil(account, limit) > 0)
      if (state) return { state, last: plain.last, isOwn: true }
      if (!merged || merged.ends <= now || algorithm.inFlight) return undefined
      return { state: algorithm.stateOf(merged.units, merged.last), last: merged.last, isOwn: false }
    }
    // Two limits with the same state id must not share one state object.
    const state = taken.has(part.state) ? structuredClone(part.state) : part.state
    taken.add(part.state)
    return { state, last: part.last, isOwn: true }
  })
}

/**
 * The parts that may say what a limit has used: the one of the last write, which says it exactly. Without it, others of its
 * window: a bucket of the same window counted the same units, but not how fast they drain here.
 */
function partsFor(
  { keptId: id, stateId }: PreparedLimit,
  own: readonly Part[],
  all: readonly Part[],
): Part[] {
  const exact = own.filter((part) => part.id === id)
  return exact.length > 0 ? exact : all.filter((part) => part.id === id || part.id === stateId)
}

/** The first of those that leave the limit the fewest units. */
function fullest(parts: readonly Part[], limit: PreparedLimit, now: number): Part | undefined {
  let [found] = parts
  if (!found || parts.length === 1) return found
  let most = -1
  for (const part of parts) {
    limit.load(part.state, part.last, now)
    const level = limit.algorithm.flow?.(limit.state, limit.params).level ?? 0
    if (level <= most) continue
    most = level
    found = part
  }
  return found
}
