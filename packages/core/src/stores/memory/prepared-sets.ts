import type { LimitSet } from '../../plans/limit-set.js'
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

  of(set: LimitSet): PreparedSet {
    if (set === this.#newest) return this.#prepared as PreparedSet
    let prepared = this.#known.get(set)
    if (!prepared) this.#known.set(set, (prepared = prepareSet(set)))
    this.#newest = set
    this.#prepared = prepared
    return prepared
  }
}

function prepareSet(set: LimitSet): PreparedSet {
  let size = 0
  const limits = set.limits.map((_, i) => {
    const limit = new PreparedLimit(set, i, size)
    size += limit.packing?.size ?? 0
    return limit
  })
  return { limits, size, ttlUs: set.ttlMs * 1000 }
}
