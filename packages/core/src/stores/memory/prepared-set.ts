import type { LimitAnswer, Packing, QuickRequest } from '../../algorithms/implementation.js'
import { implementations, type AnyImplementation } from '../../algorithms/registry.js'
import type { LimitSet, Params } from '../../plans/limit-set.js'

/** The numbers of a subject that has used nothing. */
const ZEROS = new Float64Array(16)

/** A limit of a set, ready to be decided: all that is looked up once and not at every request. */
export class PreparedLimit {
  readonly algorithm: AnyImplementation
  readonly paramsAt: (nowMs: number) => Params
  readonly packing: Packing<object, Params> | undefined
  /** Where its numbers begin among those of the set. */
  readonly first: number
  /** The state of the subject that is being decided. */
  state: object
  params: Params = {}
  /** The state that numbers are read into: one for all subjects, since garbage collection of one for each costs more. */
  spare: object

  constructor({ limits }: LimitSet, i: number, first: number) {
    const { algorithm, paramsAt } = limits[i] as LimitSet['limits'][number]
    this.algorithm = implementations[algorithm]
    this.paramsAt = paramsAt
    this.packing = this.algorithm.packing
    this.first = first
    this.state = this.spare = this.algorithm.create()
  }

  /** Makes a subject's state the one that is decided, as of `now`. */
  load(state: object, last: number, now: number): void {
    this.state = state
    this.params = this.paramsAt(now / 1000)
    this.algorithm.load(state, last, now, this.params)
  }

  /**
   * Decides in the quick way, on the numbers of the set's states, which begin at `at`, or on the state that is kept as
   * an object. Returns undefined if the algorithm leaves it to the general way.
   */
  decide(
    page: Float64Array,
    at: number,
    kept: object | undefined,
    request: QuickRequest,
  ): LimitAnswer | undefined {
    const params = this.paramsAt(request.now / 1000)
    if (kept) return this.algorithm.quick?.(kept, request, params)
    return this.packing?.quick?.(page, at + this.first, request, params)
  }

  /** The state of a subject that has used nothing. */
  unused(): object {
    if (!this.packing) return this.algorithm.create()
    this.packing.unpack(this.spare, ZEROS, 0)
    return this.spare
  }

  /** The state, to be kept. */
  giveState(): object {
    const { state } = this
    if (state === this.spare) this.spare = this.algorithm.create()
    return state
  }
}

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
