import type { Receipt, Usage } from '../../algorithms/implementation.js'
import type { LimitSet } from '../../plans/limit-set.js'
import type { LimitOutcome } from '../contract.js'
import { findParts, othersBeside, partsOf } from './other-limits.js'
import { prepareSet, type PreparedLimit, type PreparedSet } from './prepared-set.js'
import {
  EXPIRES,
  LAST,
  MORE,
  MORE_LIMITS,
  MORE_STATES,
  NONE,
  STATES,
  type OtherPart,
  type Records,
} from './records.js'

/** An outcome that is still being filled in. */
export type LimitOutcomeDraft = { -readonly [Name in keyof LimitOutcome]: LimitOutcome[Name] }

const NOTHING: LimitSet = { limits: [], ttlMs: 0 }
/** The numbers of a subject that has used nothing. */
const ZEROS = new Float64Array(64)

/**
 * A subject's state as of now, for the limits of one set. The object is reused for every request, since garbage
 * collection of an object per request is expensive.
 */
export class LoadedSubject {
  /** Whether any of the limits has a stored state, and when the latest of those was written, in µs. */
  isKnown = false
  last = 0
  readonly #records: Records
  /** How much longer subjects are kept under a test's clock, in µs. */
  readonly #keptUs: number
  readonly #prepared = new WeakMap<LimitSet, PreparedSet>()
  #key = ''
  #set = NOTHING
  #size = 0
  #limits: readonly PreparedLimit[] = []
  #ttlUs = 0
  /** The subject's record; NONE when nothing of it counts. */
  #id = NONE
  #removals = 0

  constructor(records: Records, keptUs: number) {
    this.#records = records
    this.#keptUs = keptUs
  }

  /** Whether the store keeps anything of the subject that counts. */
  get isKept(): boolean {
    return this.#id !== NONE
  }

  get limitCount(): number {
    return this.#limits.length
  }

  load(key: string, set: LimitSet, now: number): void {
    if (set !== this.#set) this.#enter(set)
    const records = this.#records
    const id = records.find(key)
    this.#key = key
    this.#removals = records.removals
    this.#id = id !== NONE && records.expires(id) > now ? id : NONE
    if (this.#id === NONE) this.#loadNew(now)
    else if (records.sets[id] === set) this.#loadSame(id, now)
    else this.#loadOther(id, now)
  }

  /** Puts in an outcome for each limit, with the µs until the cost fits. Returns whether it fits all of them now. */
  wait(cost: number, outcomes: LimitOutcomeDraft[], first: number): boolean {
    const limits = this.#limits
    let fits = true
    for (let i = 0; i < limits.length; i += 1) {
      const { algorithm, state, params } = limits[i] as PreparedLimit
      const wait = algorithm.wait(state, cost, params)
      outcomes[first + i] = { wait, remaining: 0, reset: 0 }
      if (wait !== 0) fits = false
    }
    return fits
  }

  /** How many units fit all limits now. */
  fitting(): number {
    let least = Number.MAX_SAFE_INTEGER
    for (const { algorithm, state, params } of this.#limits) {
      least = Math.min(least, algorithm.remaining(state, params))
    }
    return least
  }

  take(cost: number): void {
    const limits = this.#limits
    for (let i = 0; i < limits.length; i += 1) {
      const { algorithm, state, params } = limits[i] as PreparedLimit
      algorithm.take(state, cost, params)
    }
  }

  /** Takes from each limit the units used of it. Returns how many were taken from each. */
  force(used: readonly (readonly Usage[])[]): number[] {
    return this.#limits.map(({ algorithm, state, params }, i) => {
      const own = used[i] ?? []
      if (own.length > 0) return algorithm.force(state, own, params)
      algorithm.take(state, 0, params)
      return 0
    })
  }

  /** Whether a stored state is from a limit so different that this set cannot give units back to it. */
  isOther(): boolean {
    return this.#limits.some(({ algorithm, state, params }) => algorithm.isOther?.(state, params))
  }

  /** Gives units back to each limit. Returns whether any were given. */
  give(receipts: readonly Receipt[]): boolean {
    let anyGiven = false
    for (const [i, { algorithm, state, params }] of this.#limits.entries()) {
      const receipt = receipts[i]
      if (receipt === undefined || receipt.units === 0) algorithm.take(state, 0, params)
      else if (algorithm.give(state, receipt, params)) anyGiven = true
    }
    return anyGiven
  }

  /** Fills in its outcomes, which begin at `first`. */
  tell(outcomes: LimitOutcomeDraft[], first: number): void {
    const limits = this.#limits
    for (let i = 0; i < limits.length; i += 1) {
      const { algorithm, state, params } = limits[i] as PreparedLimit
      const outcome = outcomes[first + i] as LimitOutcomeDraft
      const remaining = algorithm.remaining(state, params)
      outcome.remaining = remaining
      outcome.reset = Math.max(algorithm.wait(state, remaining + 1, params), 0)
    }
  }

  /** Makes the subject the most recently used. */
  use(now: number): void {
    const id = this.#current()
    if (id !== NONE) this.#records.use(id, now)
  }

  /** Writes the states. States of other limits are kept as long as they count. */
  write(now: number): void {
    const records = this.#records
    let id = this.#current()
    let others: readonly OtherPart[] | undefined
    if (id !== NONE && (records.sets[id] !== this.#set || records.othersOf(id).length > 0)) {
      others = othersBeside(this.#partsOf(id), this.#set, now)
      if (!records.isOfSize(id, this.#size)) {
        records.delete(this.#key)
        id = NONE
      }
    }
    const isNew = id === NONE
    if (isNew) id = records.add(this.#key, this.#size, now)
    this.#store(id, now, others)
    if (!isNew) records.use(id, now)
  }

  /** Its record: another part of the request may have taken the place of this subject, for want of room. */
  #current(): number {
    const records = this.#records
    if (this.#id === NONE || records.removals === this.#removals) return this.#id
    return records.keyOf(this.#id) === this.#key ? this.#id : NONE
  }

  #store(id: number, now: number, others: readonly OtherPart[] | undefined): void {
    const records = this.#records
    const page = records.page(id)
    const at = records.at(id)
    const more = this.#storeStates(id, page, at + STATES)
    let expires = now + this.#ttlUs + this.#keptUs
    if (records.sets[id] !== this.#set) records.sets[id] = this.#set
    page[at + LAST] = now
    page[at + MORE] = more
    page[at + EXPIRES] = expires
    if (others === undefined) return
    records.others.delete(id)
    if (others.length === 0) return
    records.others.set(id, others)
    for (const { ends } of others) expires = Math.max(expires, ends)
    page[at + MORE] = more | MORE_LIMITS
    page[at + EXPIRES] = expires
  }

  /** Stores each state: as numbers, or as an object if they cannot hold it. */
  #storeStates(id: number, page: Float64Array, at: number): number {
    const limits = this.#limits
    let kept: (object | undefined)[] | undefined
    for (let i = 0; i < limits.length; i += 1) {
      const limit = limits[i] as PreparedLimit
      const { packing, state } = limit
      if (packing?.pack(state, page, at + limit.first)) continue
      kept ??= limits.map(() => undefined)
      kept[i] = state
      if (state === limit.spare) limit.spare = limit.algorithm.create()
    }
    const { states } = this.#records
    if (states[id] !== kept) states[id] = kept
    return kept ? MORE_STATES : 0
  }

  #loadNew(now: number): void {
    this.isKnown = false
    this.last = 0
    for (const limit of this.#limits) this.#begin(limit, undefined, now, now)
  }

  #loadSame(id: number, now: number): void {
    const records = this.#records
    const page = records.page(id)
    const at = records.at(id)
    const last = page[at + LAST] as number
    const kept = page[at + MORE] === 0 ? undefined : records.states[id]
    const limits = this.#limits
    this.isKnown = true
    this.last = last
    for (let i = 0; i < limits.length; i += 1) {
      const limit = limits[i] as PreparedLimit
      const state = kept?.[i] ?? limit.spare
      if (state === limit.spare) limit.packing?.unpack(state, page, at + STATES + limit.first)
      limit.state = state
      limit.params = limit.paramsAt(now / 1000)
      limit.algorithm.load(state, last, now, limit.params)
    }
  }

  #loadOther(id: number, now: number): void {
    const found = findParts(this.#partsOf(id), this.#set)
    const before = this.#records.page(id)[this.#records.at(id) + LAST] as number
    this.isKnown = false
    this.last = 0
    for (const [i, limit] of this.#limits.entries()) {
      const part = found[i]
      if (part) {
        this.isKnown = true
        this.last = Math.max(this.last, part.last)
      }
      this.#begin(limit, part?.state, part?.last ?? before, now)
    }
  }

  /** @param state undefined: the subject has used nothing */
  #begin(limit: PreparedLimit, state: object | undefined, last: number, now: number): void {
    if (!state) limit.packing?.unpack(limit.spare, ZEROS, 0)
    limit.state = state ?? (limit.packing ? limit.spare : limit.algorithm.create())
    limit.params = limit.paramsAt(now / 1000)
    limit.algorithm.load(limit.state, last, now, limit.params)
  }

  #enter(set: LimitSet): void {
    const { limits, size, ttlUs } = this.#preparedOf(set)
    this.#set = set
    this.#limits = limits
    this.#size = size
    this.#ttlUs = ttlUs
  }

  #preparedOf(set: LimitSet): PreparedSet {
    const known = this.#prepared.get(set)
    if (known) return known
    const prepared = prepareSet(set)
    this.#prepared.set(set, prepared)
    return prepared
  }

  #partsOf(id: number): ReturnType<typeof partsOf> {
    return partsOf(this.#records, id, this.#preparedOf(this.#records.sets[id] as LimitSet), this.#keptUs)
  }
}
