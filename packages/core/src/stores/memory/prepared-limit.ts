import { NEVER, type LimitAnswer, type Packing, type QuickRequest } from '../../algorithms/implementation.js'
import { implementations, type AnyImplementation } from '../../algorithms/registry.js'
import { keptId, type CompiledLimit, type Params, type LimitSet } from '../../plans/limit/limit-set.js'
import type { SlotHolder, SubRequest } from '../contract.js'
import { leasedOf, type Ended, type LeaseBook } from './beside/lease-book.js'
import { openingOf } from './beside/level-openings.js'
import type { Opening } from './beside/place-line.js'
import { EXPIRES, LAST, MORE, MORE_LIMITS, NONE, STATES, type Records } from './records.js'

/** The numbers of a subject that has used nothing. */
const ZEROS = new Float64Array(16)

/** A limit of a set, ready to be decided: all that is looked up once and not at every request. */
export class PreparedLimit {
  readonly algorithm: AnyImplementation
  /** Whether it counts requests in flight: then none of its units are ever on lease. */
  readonly isInFlight: boolean
  readonly stateId: number
  /** The id that its state is kept under. */
  readonly keptId: number
  /** How long its units count at most, in µs. */
  readonly ttlUs: number
  readonly #limit: CompiledLimit
  readonly #behindMs: () => number
  /** Its parameters, if they never change: to ask for them at each request would read more of memory. */
  readonly #steady: Params | undefined
  readonly packing: Packing<object, Params> | undefined
  /** Where its numbers begin among those of the set. */
  readonly first: number
  /** The state of the subject that is being decided. */
  state: object
  params: Params = {}
  /** The state that numbers are read into: one for all subjects, since garbage collection of one for each costs more. */
  spare: object
  /** How many units of the subject are on lease, and in how many µs the last of them come back. */
  leased = 0
  #leasesEndInUs = 0

  constructor(limit: CompiledLimit, first: number, behindMs: () => number) {
    const { algorithm, stateId, isSteady, ttlMs } = limit
    this.algorithm = implementations[algorithm]
    this.isInFlight = this.algorithm.inFlight === true
    this.stateId = stateId
    this.keptId = keptId(limit)
    this.ttlUs = ttlMs * 1000
    this.#limit = limit
    this.#behindMs = behindMs
    this.#steady = isSteady ? limit.paramsAt(0) : undefined
    this.packing = this.algorithm.packing
    this.first = first
    this.state = this.spare = this.algorithm.create()
  }

  /** Makes a subject's state the one that is decided, as of `now`. */
  load(state: object, last: number, now: number): void {
    this.state = state
    this.params = this.#steady ?? this.#paramsAt(now)
    this.algorithm.load(state, last, now, this.params)
    this.leased = 0
  }

  /** Where units drain together: how many a stored state has of them by now. Else 0. */
  levelOf(state: object, last: number, now: number): number {
    this.load(state, last, now)
    return this.algorithm.flow?.(state, this.params).level ?? 0
  }

  /**
   * Lets in what has ended of a subject's leases. Units of a place that drain together enter as of its time: else the level would
   * drain nothing while the place waits to be used, and the line would be slower than the limit.
   */
  enterEnded(ended: readonly Ended[], now: number): void {
    const drains = this.algorithm.flow !== undefined
    for (const { stateIds, units, entryUs, slackUs } of ended) {
      if (stateIds.includes(this.stateId)) this.enter(units, now - entryUs + (drains ? slackUs : 0))
    }
  }

  /** Units that were on lease count from now on. What is stored stays as it is until the subject is written. */
  enter(units: number, ageUs: number): void {
    if (this.state !== this.spare) this.state = structuredClone(this.state)
    if (this.algorithm.enter) this.algorithm.enter(this.state, units, ageUs, this.params)
    else this.algorithm.force(this.state, [{ units, ageUs }], this.params)
  }

  countLeased(book: LeaseBook, now: number): void {
    const { units, endsInUs } = leasedOf(book, this.stateId, now)
    this.leased = units
    this.#leasesEndInUs = endsInUs
  }

  /** Makes the row of a process what it tells. Returns whether it said anything else. */
  declare(holder: SlotHolder): boolean {
    return this.algorithm.declare?.(this.state, holder, this.params) ?? false
  }

  /** µs until the cost fits. With units on lease, an upper bound: they may come back earlier than they would if used. */
  wait(cost: number): number {
    const { algorithm, state, params, leased } = this
    const wait = algorithm.wait(state, cost + leased, params)
    if (leased === 0 || wait !== NEVER || algorithm.wait(state, cost, params) === NEVER) return wait
    return this.#leasesEndInUs + Math.ceil(algorithm.countsForUs(params))
  }

  /** When the cost can have a place. */
  opening(book: LeaseBook, cost: number, now: number): Opening {
    const { algorithm, state, params, stateId } = this
    const wait = (units: number): number =>
      algorithm.place?.(state, units, params) ?? algorithm.wait(state, units, params)
    const leftIn = (): ((us: number) => number) | undefined => algorithm.leftIn?.(state, params)
    return openingOf(book, { stateId, wait, leftIn, flow: algorithm.flow?.(state, params) }, cost, now)
  }

  /** Units that fit now, beside those on lease. */
  remaining(): number {
    return Math.max(this.algorithm.remaining(this.state, this.params) - this.leased, 0)
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
    const params = this.#steady ?? this.#paramsAt(request.now)
    if (kept) return this.algorithm.quick?.(kept, request, params)
    return this.packing?.quick?.(page, at + this.first, request, params)
  }

  #paramsAt(now: number): Params {
    return this.#limit.paramsAt(now / 1000, this.#behindMs())
  }

  /** The state of a subject that has used nothing. */
  unused(): object {
    if (!this.packing) return this.algorithm.create()
    this.packing.unpack(this.spare, ZEROS, 0)
    return this.spare
  }

  /** For how long the state counts at most, in µs. */
  lifetimeUs(): number {
    return this.algorithm.unitsIn(this.state) > 0 ? this.ttlUs : 0
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
  const limits = set.limits.map((compiled) => {
    const limit = new PreparedLimit(compiled, size, behindMs)
    size += limit.packing?.size ?? 0
    return limit
  })
  return { limits, size, ttlUs: set.ttlMs * 1000 }
}

/**
 * Decides what is common straight on a subject's record: all or nothing, of a subject that was on the same limits at its
 * last write, each of them in a state that its algorithm decides quickly.
 */
export class QuickWay {
  readonly #records: Records
  /** How much longer subjects are kept under a test's clock, in µs. */
  readonly #keptUs: number
  readonly #sets: PreparedSets
  /** One object for all requests, since garbage collection of one for each costs more. */
  readonly #request = { cost: 0, takes: false, last: 0, now: 0 }

  constructor(records: Records, keptUs: number, sets: PreparedSets) {
    this.#sets = sets
    this.#records = records
    this.#keptUs = keptUs
  }

  /**
   * @param mayTake whether the cost is taken if it fits all limits
   * @returns undefined where the general way must decide: then nothing has changed
   */
  decide({ key, set, cost }: SubRequest, mayTake: boolean, now: number): LimitAnswer[] | undefined {
    const records = this.#records
    const id = records.find(key)
    if (id === NONE || records.sets[id] !== set || set.inFlightIndex !== undefined) return undefined
    const page = records.page(id)
    const at = records.at(id)
    const last = page[at + LAST] as number
    const more = page[at + MORE] as number
    if (last > now || (page[at + EXPIRES] as number) <= now || more >= MORE_LIMITS) return undefined
    const { limits, ttlUs } = this.#sets.of(set)
    const kept = more === 0 ? undefined : records.states[id]
    const request = this.#request
    const final = limits.length - 1
    request.cost = cost
    request.last = last
    request.now = now
    // The last limit takes at once if all others have said that the cost fits them.
    request.takes = mayTake && final === 0
    const first = (limits[0] as PreparedLimit).decide(page, at + STATES, kept?.[0], request)
    if (!first) return undefined
    // Made with the first answer: an empty list reserves 17 places at the first push.
    const answers = [first]
    let fits = mayTake && first.wait === 0
    for (let i = 1; i <= final; i += 1) {
      request.takes = fits && i === final
      const answer = (limits[i] as PreparedLimit).decide(page, at + STATES, kept?.[i], request)
      if (!answer) return undefined
      answers.push(answer)
      if (answer.wait !== 0) fits = false
    }
    if (fits) {
      for (let i = 0; i < final; i += 1) {
        answers[i] = (limits[i] as PreparedLimit).decide(page, at + STATES, kept?.[i], request) as LimitAnswer
      }
      page[at + LAST] = now
      page[at + EXPIRES] = now + ttlUs + this.#keptUs
    }
    if (mayTake) records.use(id, now)
    return answers
  }
}
