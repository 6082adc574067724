import { keptId, type CompiledLimit, type LimitSet } from '../../plans/limit/limit-set.js'
import { PreparedLimit } from './prepared-limit.js'

export interface PreparedSet {
  readonly set: LimitSet
  readonly limits: readonly PreparedLimit[]
  /** How many numbers the states of its limits take. */
  readonly size: number
  /** How long a subject's state is kept, in µs. */
  readonly ttlUs: number
}

/** Limit sets, each prepared once. At most one of them is loaded at a time. */
export class PreparedSets {
  readonly #known = new WeakMap<LimitSet, PreparedSet>()
  readonly #limits = new WeakMap<CompiledLimit, PreparedLimit[]>()
  readonly #behindMs: () => number

  /** @param behindMs how far the system's clock is behind the store's */
  constructor(behindMs: () => number) {
    this.#behindMs = behindMs
  }

  of(set: LimitSet): PreparedSet {
    let prepared = this.#known.get(set)
    if (!prepared) this.#known.set(set, (prepared = this.#prepare(set)))
    return prepared
  }

  #prepare(set: LimitSet): PreparedSet {
    let size = 0
    const limits: PreparedLimit[] = []
    for (const [i, compiled] of set.limits.entries()) {
      const isSame = (one: CompiledLimit): boolean => one.overage === true && keptId(one) === keptId(compiled)
      const nth = set.limits.slice(0, i).filter(isSame).length
      // Sets of different billing days share their other limits, which then stay in the processor's cache. Where a limit's numbers
      // begin depends on the limits before it.
      const known = this.#limits.get(compiled) ?? []
      const shared = known.find((one) => one.first === size && one.nth === nth)
      const limit = shared ?? new PreparedLimit(compiled, { first: size, nth }, this.#behindMs)
      if (!shared) this.#limits.set(compiled, [...known, limit])
      limits.push(limit)
      size += limit.packing?.size ?? 0
    }
    return { set, limits, size, ttlUs: set.ttlMs * 1000 }
  }
}
