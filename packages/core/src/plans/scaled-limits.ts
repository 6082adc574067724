import { bucketScale, countBytes, type CompiledLimit, type LimitSet, type Params } from './limit-set.js'

/** The most units that a limit holds at once. */
export function capacityOf({ burst, quota }: Params): number {
  return burst ?? (quota as number)
}

/** The same limits with a part of their units, such as a half: whole ones, and at least one of each limit. */
export function shareOf(set: LimitSet, share: number): LimitSet {
  if (share === 1) return set
  const known = shares.get(set)
  if (known?.share === share) return known.set
  const resized = resize(set, (units) => Math.max(Math.floor(units * share), 1), share)
  shares.set(set, { share, set: resized })
  return resized
}

const shares = new WeakMap<LimitSet, { share: number; set: LimitSet }>()

/**
 * The same limits with room for what was admitted beside the store: units taken by it are used, and over the limit
 * where they are more than that has left.
 */
export function overdraftOf(set: LimitSet): LimitSet {
  const known = overdrafts.get(set)
  if (known) return known
  const made = resize(set, (units) => Math.min(units * OVERDRAFT, MOST_UNITS), 1)
  overdrafts.set(set, made)
  return made
}

/** Each of its limits alone. */
export function limitsApart(set: LimitSet): readonly LimitSet[] {
  if (set.limits.length === 1) return [set]
  const known = apart.get(set)
  if (known) return known
  const made = set.limits.map((limit): LimitSet => ({ limits: [limit], ttlMs: set.ttlMs }))
  apart.set(set, made)
  return made
}

/** Several processes can each have admitted their share, and the store what the plan allows. */
const OVERDRAFT = 4
/** What the scripts hold in five bytes. */
const MOST_UNITS = 2 ** 40 - 1
const overdrafts = new WeakMap<LimitSet, LimitSet>()
const apart = new WeakMap<LimitSet, readonly LimitSet[]>()

function resize(set: LimitSet, units: (given: number) => number, rate: number): LimitSet {
  return { ...set, limits: set.limits.map((limit) => resizeLimit(limit, units, rate)) }
}

function resizeLimit(limit: CompiledLimit, units: (given: number) => number, rate: number): CompiledLimit {
  let known: Params | undefined
  let resized: Params = {}
  return {
    ...limit,
    // Those of a calendar change with the time.
    paramsAt(nowMs) {
      const params = limit.paramsAt(nowMs)
      if (params !== known) {
        known = params
        resized = resizeParams(params, units, rate)
      }
      return resized
    },
  }
}

function resizeParams(params: Params, units: (given: number) => number, rate: number): Params {
  if (params['burst'] !== undefined) {
    const burst = units(params['burst'])
    const scale = bucketScale(burst)
    const parts = 2 ** (scale - (params['scale'] as number))
    return { ...params, burst, scale, rate: (params['rate'] as number) * parts * rate }
  }
  const quota = units(params['quota'] as number)
  return params['unitBytes'] === undefined
    ? { ...params, quota }
    : { ...params, quota, unitBytes: countBytes(quota) }
}
