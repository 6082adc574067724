import { CLOCK_WENT_BACK_US } from '../../algorithms/implementation.js'
import { unbilledSet } from '../../plans/billed-set.js'
import type { LimitSet } from '../../plans/limit/limit-set.js'
import type { Hold, SlotHolder, SubRequest } from '../contract.js'
import { endOfAccount, livingEntries, NO_ACCOUNT } from './beside/account.js'
import { endOfRecord, livingRecord } from './beside/denial-record.js'
import { endedOf, endOf, groupsAt, NO_LEASES, withoutEntered } from './beside/lease-book.js'
import { BookedLimits } from './booked-limits.js'
import { findStates, othersBeside, partsOf } from './other-limits.js'
import type { PreparedLimit } from './prepared-limit.js'
import type { PreparedSet, PreparedSets } from './prepared-sets.js'
import {
  EXPIRES,
  LAST,
  MORE,
  MORE_ACCOUNT,
  MORE_DENIALS,
  MORE_LEASES,
  MORE_LIMITS,
  MORE_STATES,
  NO_OTHERS,
  NONE,
  STATES,
  type Records,
} from './records.js'

const NOTHING: PreparedSet = { set: { limits: [], ttlMs: 0 }, limits: [], size: 0, ttlUs: 0 }

/**
 * A subject's state as of now, for the limits of one set. The object is reused for every request, since garbage
 * collection of an object per request is expensive.
 */
export class LoadedSubject extends BookedLimits {
  /** Whether any of the limits has a stored state, and when the latest of those was written, in µs. */
  isKnown = false
  last = 0
  readonly #records: Records
  /** How much longer subjects are kept under a test's clock, in µs. */
  readonly #keptUs: number
  readonly #sets: PreparedSets
  #key = ''
  #prepared = NOTHING
  /** The subject's record; NONE when nothing of it counts. */
  #id = NONE
  #removals = 0

  constructor(records: Records, keptUs: number, sets: PreparedSets) {
    super()
    this.#sets = sets
    this.#records = records
    this.#keptUs = keptUs
  }

  load(key: string, asked: LimitSet, now: number): void {
    const records = this.#records
    const id = records.find(key)
    const set = asked.isBillable && id !== NONE ? this.#billed(id, asked, now) : asked
    if (set !== this.#prepared.set) this.#enter(set)
    this.#key = key
    this.#removals = records.removals
    this.leases = NO_LEASES
    this.account = NO_ACCOUNT
    this.hasDeclared = false
    if (id !== NONE) {
      const page = records.page(id)
      const at = records.at(id)
      if ((page[at + EXPIRES] as number) > now) {
        this.#id = id
        if (records.sets[id]?.set === set) this.#loadSame(id, page, at, now)
        else this.#loadOther(id, now)
        const more = page[at + MORE] as number
        if (more & MORE_ACCOUNT) this.attach(livingEntries(records.accounts.get(id) ?? NO_ACCOUNT, now), now)
        if (more & MORE_LEASES) this.#loadLeases(id, page[at + LAST] as number, now)
        this.exists = true
        this.loadDenials(more & MORE_DENIALS ? livingRecord(records.denials.get(id), now) : undefined)
        this.readClosed(now)
        return
      }
    }
    this.#id = NONE
    this.exists = false
    this.loadDenials(undefined)
    this.#loadNew(now)
    this.readClosed(now)
  }

  /** What the limits count in if the subject had a billing day. */
  #billed(id: number, set: LimitSet, now: number): LimitSet {
    if (this.#records.sets[id]?.set === set) return set
    const { own, others } = this.#partsOf(id)
    const parts = [...own, ...others.parts]
    return unbilledSet(set, ({ otherId, paramsAt }) => {
      const part = parts.find((one) => one.id === otherId)
      return part?.algorithm.stillSays?.(part.state, now, paramsAt(now / 1000)) ?? false
    })
  }

  /** Whether the clock went back so far since the last write that even a denial is written. */
  isAhead(now: number): boolean {
    return this.last > now + CLOCK_WENT_BACK_US
  }

  /** Sets the stored row of a process to what it reports. Returns false if that must be declared instead. */
  release(holder: SlotHolder | undefined, now: number): boolean {
    if (!holder || !this.isKnown || this.last > now) return false
    return this.limits.some(({ algorithm, state }) => algorithm.release?.(state, holder))
  }

  /** Makes the subject the most recently used. */
  use(now: number): void {
    const id = this.#current()
    if (id !== NONE) this.#records.use(id, now)
  }

  /** Writes the states. States of other limits are kept as long as they count. */
  write(now: number): void {
    const records = this.#records
    const id = this.#current()
    if (id === NONE || records.sets[id]?.set !== this.#prepared.set) return this.#writeAnew(id, now)
    const page = records.page(id)
    const at = records.at(id)
    const account = this.accountToKeep(this.#prepared.ttlUs)
    const more = page[at + MORE] as number
    const isPlain =
      (more & ~MORE_ACCOUNT) < MORE_LIMITS &&
      this.leases.length === 0 &&
      !this.denials &&
      (account.length === 0 ? more < MORE_ACCOUNT : account === records.accounts.get(id))
    if (!isPlain) return this.#writeAnew(id, now)
    this.#store(id, page, at, now)
    if (account.length > 0) this.#keepAccount(id, page, at)
    records.use(id, now)
  }

  /** Writes only the denials: a denial changes nothing else. */
  writeDenials(now: number): void {
    const records = this.#records
    const id = this.#current()
    if (id === NONE) return
    const page = records.page(id)
    const at = records.at(id)
    this.#keepDenials(id, page, at)
    records.use(id, now)
  }

  #keepDenials(id: number, page: Float64Array, at: number): void {
    const { denials } = this
    if (!denials) return
    this.#records.denials.set(id, denials)
    page[at + MORE] = (page[at + MORE] as number) | MORE_DENIALS
    page[at + EXPIRES] = Math.max(page[at + EXPIRES] as number, endOfRecord(denials) + this.#keptUs)
  }

  /** Puts a cost beside the limits, and writes that. */
  hold(part: SubRequest, hold: Hold, delayUs: number, now: number): void {
    this.putBeside(part, hold, { delayUs, ttlUs: this.#prepared.ttlUs }, now)
    this.write(now)
  }

  /** Writes a record that is new, or in which there are other limits. */
  #writeAnew(known: number, now: number): void {
    const records = this.#records
    const { parts, merged, leases } =
      known === NONE
        ? { ...NO_OTHERS, leases: this.leases }
        : othersBeside(this.#partsOf(known), this.#prepared.set, this.leases, now)
    this.leases = leases
    let id = known
    if (id !== NONE && !records.isOfSize(id, this.#prepared.size)) {
      records.delete(this.#key)
      id = NONE
    }
    if (id === NONE) id = records.add(this.#key, this.#prepared.size, now)
    else records.use(id, now)
    records.sets[id] = this.#prepared
    const page = records.page(id)
    const at = records.at(id)
    this.#store(id, page, at, now)
    records.others.delete(id)
    records.leases.delete(id)
    records.denials.delete(id)
    records.accounts.delete(id)
    if (parts.length > 0 || merged) {
      records.others.set(id, { parts, merged })
      page[at + MORE] = (page[at + MORE] as number) | MORE_LIMITS
    }
    if (this.leases.length > 0) {
      records.leases.set(id, this.leases)
      page[at + MORE] = (page[at + MORE] as number) | MORE_LEASES
    }
    const ends = [...parts.map((part) => part.ends), merged?.ends ?? 0, endOf(this.leases) + this.#keptUs]
    page[at + EXPIRES] = Math.max(page[at + EXPIRES] as number, ...ends)
    this.#keepDenials(id, page, at)
    this.#keepAccount(id, page, at)
  }

  /** Keeps what was booked, with what the limits have used of it. */
  #keepAccount(id: number, page: Float64Array, at: number): void {
    const account = this.accountToKeep(this.#prepared.ttlUs)
    if (account.length === 0) return
    this.#records.accounts.set(id, account)
    page[at + MORE] = (page[at + MORE] as number) | MORE_ACCOUNT
    page[at + EXPIRES] = Math.max(page[at + EXPIRES] as number, endOfAccount(account) + this.#keptUs)
  }

  /** Its record; NONE if this subject had to make room for another part of the request. */
  #current(): number {
    const records = this.#records
    if (this.#id === NONE || records.removals === this.#removals) return this.#id
    return records.keyOf(this.#id) === this.#key ? this.#id : NONE
  }

  #store(id: number, page: Float64Array, at: number, now: number): void {
    let lifetimeUs = 0
    for (const limit of this.limits) lifetimeUs = Math.max(lifetimeUs, limit.lifetimeUs())
    page[at + LAST] = now
    page[at + EXPIRES] = now + lifetimeUs + this.#keptUs
    page[at + MORE] = this.#storeStates(id, page, at + STATES)
  }

  /** Stores each state: as numbers, or as an object if they cannot hold it. */
  #storeStates(id: number, page: Float64Array, at: number): number {
    const limits = this.limits
    const { states } = this.#records
    const known = states[id]
    let kept: (object | undefined)[] | undefined
    for (let i = 0; i < limits.length; i += 1) {
      const limit = limits[i] as PreparedLimit
      if (limit.packing?.pack(limit.state, page, at + limit.first)) {
        if (known) known[i] = undefined
        continue
      }
      // Most often it is kept already.
      kept ??= known?.length === limits.length ? known : limits.map(() => undefined)
      if (kept[i] !== limit.state) kept[i] = limit.giveState()
    }
    if (known !== kept) states[id] = kept
    return kept ? MORE_STATES : 0
  }

  #loadNew(now: number): void {
    this.isKnown = false
    this.last = 0
    for (const limit of this.limits) limit.load(limit.unused(), now, now)
  }

  #loadSame(id: number, page: Float64Array, at: number, now: number): void {
    const last = page[at + LAST] as number
    const kept = page[at + MORE] === 0 ? undefined : this.#records.states[id]
    const limits = this.limits
    this.isKnown = true
    this.last = last
    for (let i = 0; i < limits.length; i += 1) {
      const limit = limits[i] as PreparedLimit
      const state = kept?.[i]
      if (!state) limit.packing?.unpack(limit.spare, page, at + STATES + limit.first)
      limit.load(state ?? limit.spare, last, now)
    }
  }

  #loadOther(id: number, now: number): void {
    const account = this.#records.accounts.get(id) ?? NO_ACCOUNT
    const found = findStates(this.#partsOf(id), this.#prepared, account, now)
    this.isKnown = false
    this.last = 0
    for (const [i, limit] of this.limits.entries()) {
      const { state, last = now, isOwn = false } = found[i] ?? {}
      if (isOwn) this.isKnown = true
      if (state) this.last = Math.max(this.last, last)
      limit.load(state ?? limit.unused(), last, now)
    }
  }

  #loadLeases(id: number, last: number, now: number): void {
    const book = groupsAt(this.#records.leases.get(id) ?? NO_LEASES, last, now)
    const ended = endedOf(book, now)
    for (const limit of this.limits) limit.enterEnded(ended, now)
    const ids = this.limits.flatMap((limit) => limit.ids)
    this.leases = withoutEntered(book, ids, now)
    this.countLeased(now)
  }

  #enter(set: LimitSet): void {
    this.#prepared = this.#sets.of(set)
    this.limits = this.#prepared.limits
  }

  #partsOf(id: number): ReturnType<typeof partsOf> {
    return partsOf(this.#records, id, this.#records.sets[id] as PreparedSet, this.#keptUs)
  }
}
