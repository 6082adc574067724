import { NEVER } from '../../algorithms/implementation.js'
import type { LimitAnswer, Packing, QuickRequest } from '../../algorithms/implementation.js'
import { implementations, type AnyImplementation } from '../../algorithms/registry.js'
import { keptId, type CompiledLimit, type Params } from '../../plans/limit/limit-set.js'
import type { CountedWindow } from '../account.js'
import { type Account, Pots, renewedAt, withoutPaid } from './beside/account.js'
import { heldUntil, leasedOf, NO_LEASES, type Ended, type LeaseBook } from './beside/lease-book.js'
import type { Part } from './records.js'
import { openingOf } from './beside/level-openings.js'
import { isOfLimit, type Opening } from './beside/place-line.js'

/** The numbers of a subject that has used nothing. */
const ZEROS = new Float64Array(16)

/** A limit of a set, ready for decisions: what they need is looked up once, not at every request. */
export class PreparedLimit {
  readonly algorithm: AnyImplementation
  /** Whether it counts requests in flight: then none of its units are ever on lease. */
  readonly isInFlight: boolean
  readonly observes: boolean
  readonly overage: boolean
  /** Whether it denies nothing. */
  readonly isLenient: boolean
  readonly stateId: number
  /** The id that its state is kept under. */
  readonly keptId: number
  /** As in CompiledLimit. */
  readonly otherId: number | undefined
  /** Of units on lease, reserved and in places, with and without a billing day. */
  readonly ids: readonly number[]
  /** How long its units count at most, in µs. */
  readonly ttlUs: number
  readonly #limit: CompiledLimit
  readonly #behindMs: () => number
  /** Its parameters, if they never change: to ask for them at each request would read more of memory. */
  readonly #steady: Params | undefined
  /** The parameters for the quick way, if those that it reads never change. */
  readonly #steadyWhenQuick: Params | undefined
  readonly packing: Packing<object, Params> | undefined
  /** Where its numbers begin among those of the set. */
  readonly first: number
  /** How many limits with overage of its window are in front of it: each exceeds its quota by other units. */
  readonly nth: number
  /** The state of the subject that is being decided. */
  state: object
  params: Params = {}
  /** The state that numbers are read into: one for all subjects, since garbage collection of one for each costs more. */
  spare: object
  /** How many units of the subject are on lease, and in how many µs the last of them come back. */
  leased = 0
  #leasesEndInUs = 0
  /** The subject's top-ups of this limit, if it has any. */
  #pots: Pots | undefined
  /** Whether it only observes, and what top-ups paid is of a window that is over. */
  #forgetsPaid = false
  /** When the subject's limit was renewed, in µs; 0 if it was not. */
  renewedAtUs = 0
  /** As of the load, in µs: now, and when it was written before. */
  now = 0
  last = 0
  #book: LeaseBook = NO_LEASES
  #loadedUnits = 0

  constructor(
    limit: CompiledLimit,
    { first, nth }: Pick<PreparedLimit, 'first' | 'nth'>,
    behindMs: () => number,
  ) {
    const { algorithm, stateId, isSteady, ttlMs, observes = false, overage = false } = limit
    this.algorithm = implementations[algorithm]
    this.isInFlight = this.algorithm.inFlight === true
    this.observes = observes
    this.overage = overage
    this.isLenient = observes || overage
    this.stateId = stateId
    this.keptId = keptId(limit)
    this.otherId = limit.otherId
    this.ids = limit.otherId === undefined ? [stateId] : [stateId, limit.otherId]
    this.ttlUs = ttlMs * 1000
    this.#limit = limit
    this.#behindMs = behindMs
    this.#steady = isSteady ? limit.paramsAt(0) : undefined
    this.packing = this.algorithm.packing
    this.#steadyWhenQuick = this.packing?.isQuickSteady ? limit.paramsAt(0) : this.#steady
    this.first = first
    this.nth = nth
    this.state = this.spare = this.algorithm.create()
  }

  /** Makes a subject's state the one that is decided, as of `now`. */
  load(state: object, last: number, now: number): void {
    this.state = state
    this.now = now
    this.params = this.#paramsAt(now)
    this.algorithm.load(state, last, now, this.params)
    if (this.algorithm.paramsFor) this.params = this.#paramsOfPlan()
    this.last = last
    this.leased = 0
    this.#pots = undefined
    this.#forgetsPaid = false
    this.renewedAtUs = 0
    this.#book = NO_LEASES
  }

  /** Adds the top-ups of the subject. What only observes pays nothing. Called before leases enter. */
  attach(account: Account, now: number, isRenewed = false): void {
    this.renewedAtUs = renewedAt(account, this, now)
    if (!this.algorithm.over) return
    const count = this.#count()
    const isNewWindow = isRenewed || count === 0
    this.#forgetsPaid = this.observes && isNewWindow
    if (this.observes) return
    const { quota = 0, whole = quota } = this.params
    this.#pots = Pots.of(account, { ids: this, quota, whole, count, isNewWindow }, now)
    if (this.#pots) this.params = { ...this.params, quota: this.#pots.quota }
    this.#notePaid()
  }

  /** Limits of one window count the same units, and top-ups pay those beyond the smallest quota. Called once all are attached. */
  payWith(limits: readonly PreparedLimit[]): void {
    for (const other of limits)
      if (other.keptId === this.keptId && other.#pots) this.#pots?.payWith(other.#pots)
  }

  /** Notes what it counts in the window of now, before the request changes it. */
  noteUnits(): void {
    this.#loadedUnits = this.running()?.units ?? 0
    this.#notePaid()
  }

  #notePaid(): void {
    this.#pots?.note(this.#count(), this.#held())
  }

  /** Whether units were counted in the window of now since then. */
  hasCounted(): boolean {
    return (this.running()?.units ?? 0) > this.#loadedUnits
  }

  /** What it counts in the window of now. */
  running(): CountedWindow | undefined {
    const running = this.algorithm.running?.(this.state, this.params)
    return running && { ...running, over: this.over() }
  }

  /** Without top-ups. */
  detach(): void {
    if (!this.#pots) return
    this.params = this.#paramsOfPlan()
    this.#pots = undefined
  }

  /** The parameters for its state, without top-ups. */
  #paramsOfPlan(): Params {
    const params = this.#paramsAt(this.now)
    return this.algorithm.paramsFor?.(this.state, params) ?? params
  }

  /** What the limit counts in its window. */
  #count(): number {
    return this.algorithm.over?.(this.state, { ...this.params, quota: 0 }) ?? 0
  }

  /** Its quota without top-ups. */
  get planQuota(): number {
    return (this.#pots?.base ?? this.params['quota'] ?? 0) as number
  }

  /** Units that processes hold for use in this window. They can be counted when it is over. */
  #held(): number {
    const { algorithm, state, params } = this
    const reset = algorithm.wait(state, algorithm.remaining(state, params) + 1, params)
    return reset > 0 ? heldUntil(this.#book, this.ids, this.now + reset, this.now) : 0
  }

  /** How long its window is, in µs. */
  get windowUs(): number {
    return this.algorithm.windowUs?.(this.params) ?? this.algorithm.countsForUs(this.params)
  }

  /** Its quota without top-ups, if its window is short. */
  get shortQuota(): number | undefined {
    return this.params['whole'] === undefined ? undefined : this.planQuota
  }

  /** Units left of top-ups. */
  toppedUp(): number {
    return this.#pots?.left(this.#count(), this.#held()) ?? 0
  }

  /** The account with what this limit has used of its top-ups. */
  settled(account: Account): Account {
    if (this.#forgetsPaid) return withoutPaid(account, this)
    return this.#pots?.settled(account, this.#count(), this.#held()) ?? account
  }

  /** A state made from the one that the limit had before the subject got a billing day; undefined if that counts nothing now. */
  fromPlain({ state, last }: Part, now: number, isBilled: boolean): object | undefined {
    const plain = state as { readonly count: number }
    return this.algorithm.fromPlain?.(plain, last, this.#paramsAt(now), isBilled)
  }

  /**
   * Lets in what has ended of a subject's leases. Units of a place that drain together enter as of its time: else the level would
   * drain nothing while the place waits to be used, and the line would be slower than the limit.
   */
  enterEnded(ended: readonly Ended[], now: number): void {
    const drains = this.algorithm.flow !== undefined
    for (const { stateIds, units, entryUs, slackUs } of ended) {
      if (isOfLimit(stateIds, this.ids)) this.enter(units, now - entryUs + (drains ? slackUs : 0))
    }
  }

  /** Units that were on lease count from now on. What is stored stays as it is until the subject is written. */
  enter(units: number, ageUs: number): void {
    if (this.state !== this.spare) this.state = structuredClone(this.state)
    if (this.algorithm.enter) this.algorithm.enter(this.state, units, ageUs, this.params)
    else this.algorithm.force(this.state, [{ units, ageUs }], this.params)
  }

  countLeased(book: LeaseBook, now: number): void {
    this.#book = book
    const { units, endsInUs } = leasedOf(book, this.ids, now)
    this.leased = units
    this.#leasesEndInUs = endsInUs
  }

  /** µs until the cost fits. With units on lease, an upper bound: they may come back earlier than they would if used. */
  wait(cost: number): number {
    const wait = this.#waitBeside(cost)
    return wait > 0 ? this.#later(cost, wait, 0) : wait
  }

  /** When a cost fits, if the client comes in `wait` µs: then, later, or never, since top-ups may have ended, or a month is short then. */
  waitFrom(cost: number, wait: number): number {
    if (this.isLenient) return wait
    const pots = this.#pots
    if (!pots) return this.#later(cost, wait, wait)
    const { algorithm, state, params } = this
    const free = algorithm.remaining(state, params)
    const reset = algorithm.wait(state, free + 1, params)
    const held = wait < this.#leasesEndInUs ? this.leased : 0
    const gone = pots.goneBy(this.now + wait)
    if (wait < reset && cost + gone + held <= free) return wait
    return this.#later(cost, Math.max(wait, reset), wait)
  }

  /** When a cost fits that cannot fit before `wait`. Later windows can be short, and top-ups will have ended. Never earlier than `since`. */
  #later(cost: number, wait: number, since: number): number {
    const pots = this.#pots
    if (!pots) return this.#behindShort(cost, wait)
    const later = pots.wait(cost, this.#behindShort(cost, wait, pots.lasting(this.now + wait)), this.now)
    const endsIn = this.#leasesEndInUs
    if (later !== NEVER || this.leased === 0 || endsIn < since) return later
    // Units that are reserved can come back unused while the top-ups are still there.
    const gone = pots.goneBy(this.now + endsIn)
    return cost + gone <= this.algorithm.remaining(this.state, this.params) ? endsIn : NEVER
  }

  /** The end of a short window if `wait` leads into one that the cost does not fit. Else `wait`. */
  #behindShort(cost: number, wait: number, lasting = 0): number {
    const short = wait > 0 ? this.algorithm.short?.(this.state, this.#paramsOfPlan()) : undefined
    if (!short || wait < short.startsInUs || wait >= short.endsInUs) return wait
    return cost > short.quota + lasting ? short.endsInUs : wait
  }

  /** µs until one more unit than these is there. */
  reset(remaining: number): number {
    return Math.max(this.#waitBeside(remaining + 1), 0)
  }

  #waitBeside(cost: number): number {
    const { algorithm, state, params, leased } = this
    const wait = algorithm.wait(state, cost + leased, params)
    if (leased === 0 || wait !== NEVER || algorithm.wait(state, cost, params) === NEVER) return wait
    return this.#leasesEndInUs + Math.ceil(algorithm.countsForUs(params))
  }

  /** When the cost can have a place. Later windows may have no top-up any more. */
  opening(book: LeaseBook, cost: number, now: number): Opening {
    const { algorithm, state, ids } = this
    const params = this.#pots ? this.#paramsOfPlan() : this.params
    const wait = (units: number): number =>
      algorithm.place?.(state, units, params) ??
      this.#behindShort(units, algorithm.wait(state, units, params))
    const leftIn = (): ((us: number) => number) | undefined => algorithm.leftIn?.(state, params)
    return openingOf(book, { ids, wait, leftIn, flow: algorithm.flow?.(state, params) }, cost, now)
  }

  /** Units beyond the quota, if it has overage. */
  over(): number {
    if (!this.overage) return 0
    const { algorithm, state, params } = this
    return this.#pots?.over(this.#count(), this.#held()) ?? algorithm.over?.(state, params) ?? 0
  }

  /** Units that fit now. Requests in flight take one each, whatever they cost. */
  get room(): number {
    return this.isInFlight ? Infinity : this.remaining()
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
    const params = this.#steadyWhenQuick ?? this.#paramsAt(request.now)
    if (kept) return this.algorithm.quick?.(kept, request, params)
    return this.packing?.quick?.(page, at + this.first, request, params)
  }

  #paramsAt(now: number): Params {
    return this.#steady ?? this.#limit.paramsAt(now / 1000, this.#behindMs())
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
