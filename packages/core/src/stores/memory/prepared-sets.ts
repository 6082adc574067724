import { keptId, type CompiledLimit, type LimitSet } from '../../plans/limit/limit-set.js'
import { PreparedLimit } from './prepared-limit.js'

export interface PreparedSet {
  readonly limits: readonly PreparedLimit[]
  /** How many numbers the states of its limits take. */
  readonly size: number
  /** How long a subject's state is kept, in µs. */
  readonly ttlUs: number
}

/** Limit sets, each prepared once. */
export class PreparedSets {
  readonly #known = new WeakMap<LimitSet, PreparedSet>()
  #newest: LimitSet | undefined
  #prepared: PreparedSet | undefined
  readonly #behindMs: () => number

  /** @param behindMs how far the system's clock is behind the store's */
  constructor(behindMs: () => number) {
    this.#behindMs = behindMs
  }

  of(set: LimitSet): PreparedSet {
    if (set === this.#newest) return this.#prepared as PreparedSet
    let prepared = this.#known.get(set)
    if (!prepared) this.#known.set(set, (prepared = prepareSet(set, this.#behindMs)))
    this.#newest = set
    this.#prepared = prepared
    return prepared
  }
}

function prepareSet(set: LimitSet, behindMs: () => number): PreparedSet {
  let size = 0
  const limits = set.limits.map((compiled, i) => {
    const isSame = (one: CompiledLimit): boolean => one.overage === true && keptId(one) === keptId(compiled)
    const nth = set.limits.slice(0, i).filter(isSame).length
    const limit = new PreparedLimit(compiled, { first: size, nth }, behindMs)
    size += limit.packing?.size ?? 0
    return limit
  })
  return { limits, size, ttlUs: set.ttlMs * 1000 }
}
