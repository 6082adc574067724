import type { AnyImplementation } from '../../algorithms/registry.js'
import type { Account } from './beside/account.js'
import type { DenialRecord } from './beside/denial-record.js'
import type { LeaseBook } from './beside/lease-book.js'
import type { PreparedSet } from './prepared-sets.js'

/** No record. */
export const NONE = -1

/** Places in a record: when it was written, and when nothing of it counts any more, in µs. */
export const LAST = 0
export const EXPIRES = 1
/** Set when more is kept of the subject than these numbers: MORE_STATES, MORE_LIMITS, MORE_LEASES, MORE_DENIALS and MORE_ACCOUNT, added up. */
export const MORE = 2
/** The first number of the states of the set's limits, in order. */
export const STATES = 3

/** A state does not fit into numbers, and is kept as an object. */
export const MORE_STATES = 1
/** There are states of limits that the set of the last write does not have: the subject was on another plan then. */
export const MORE_LIMITS = 2
/** Units are on lease. */
export const MORE_LEASES = 4
/** Denials are counted, or the subject is blocked. */
export const MORE_DENIALS = 8
/** Something was booked on the limits. */
export const MORE_ACCOUNT = 16

/** How many records are checked for expiry after as many uses of known subjects. At once, since they lie beside each other in memory. */
const LOOKS_AT_USED = 8
/** The same for each new subject. More than one, so that the checks pass through all records faster than they grow. */
const LOOKS_AT_NEW = 4

const PAGE_BITS = 8
const PAGE_SIZE = 1 << PAGE_BITS
const IN_PAGE = PAGE_SIZE - 1

/** The state of a limit. */
export interface Part {
  /** What it is kept under: most often the state id. */
  readonly id: number
  readonly algorithm: AnyImplementation
  readonly state: object
  /** When it was written, and when it stops counting, in µs. */
  readonly last: number
  readonly ends: number
}

/** Limits that are counted together, as one that has used the most of any of them. Times as of a part. */
export interface MergedPart {
  readonly units: number
  readonly last: number
  readonly ends: number
}

/** The states of limits that the set of the last write does not have, the latest first, and what came before. */
export interface OtherParts {
  readonly parts: readonly Part[]
  readonly merged: MergedPart | undefined
}

export const NO_OTHERS: OtherParts = { parts: [], merged: undefined }

/**
 * What is kept of each subject, up to a maximum: a few numbers beside each other, in pages of records of one length.
 * With an object for each, most of a decision's time would go by waiting for memory. A record has a number; another
 * subject may get it later. Nothing runs in the background: each use of a subject checks a few others and removes those
 * that have expired.
 */
export class Records {
  /** The limits of the last write, by the record's number. */
  readonly sets: (PreparedSet | undefined)[] = []
  /** The states that numbers cannot hold, in the order of the set's limits. */
  readonly states: ((object | undefined)[] | undefined)[] = []
  readonly others = new Map<number, OtherParts>()
  readonly leases = new Map<number, LeaseBook>()
  readonly denials = new Map<number, DenialRecord>()
  readonly accounts = new Map<number, Account>()
  /** How many records have been removed: as long as it stays, so do the numbers of all subjects. */
  removals = 0
  readonly #most: number
  readonly #onEvicted: (expires: number, now: number) => void
  readonly #ids = new Map<string, number>()
  readonly #keys: string[] = []
  readonly #pages: Float64Array[] = []
  readonly #lengths: number[] = []
  /** Numbers without a subject, by the length of their records. */
  readonly #free = new Map<number, number[]>()
  readonly #order = new IdleOrder()
  /** The record to check next. */
  #next = 0
  #uses = 0

  /** @param onEvicted is called for a record that was removed to make room */
  constructor(most: number, onEvicted: (expires: number, now: number) => void) {
    this.#most = most
    this.#onEvicted = onEvicted
  }

  get size(): number {
    return this.#ids.size
  }

  /** The number of a subject's record, or NONE. */
  find(key: string): number {
    return this.#ids.get(key) ?? NONE
  }

  keyOf(id: number): string | undefined {
    return this.#keys[id]
  }

  /** The numbers among which a record is, and where it begins. */
  page(id: number): Float64Array {
    return this.#pages[id >> PAGE_BITS] as Float64Array
  }

  at(id: number): number {
    return (id & IN_PAGE) * (this.#lengths[id >> PAGE_BITS] as number)
  }

  expires(id: number): number {
    return this.page(id)[this.at(id) + EXPIRES] as number
  }

  /** The states of limits that the set of the last write does not have. */
  othersOf(id: number): OtherParts {
    const hasOthers = (this.page(id)[this.at(id) + MORE] as number) & MORE_LIMITS
    return hasOthers ? (this.others.get(id) ?? NO_OTHERS) : NO_OTHERS
  }

  /** Makes a subject the most recently used. */
  use(id: number, now: number): void {
    this.#order.use(id)
    this.#uses += 1
    if (this.#uses % LOOKS_AT_USED === 0) this.#sweep(LOOKS_AT_USED, now)
  }

  /** Makes a record of this many numbers beside the first ones, which are all 0. */
  add(key: string, size: number, now: number): number {
    // Removes an expired record of the same key.
    this.delete(key)
    this.#sweep(LOOKS_AT_NEW, now)
    const { oldest } = this.#order
    if (this.#ids.size >= this.#most && oldest !== NONE) {
      const expires = this.expires(oldest)
      this.#remove(oldest)
      this.#onEvicted(expires, now)
    }
    const id = this.#take(STATES + size)
    this.#ids.set(key, id)
    this.#keys[id] = key
    this.#order.add(id)
    return id
  }

  /** Whether a record has room for just this many numbers beside the first ones. */
  isOfSize(id: number, size: number): boolean {
    return this.#lengths[id >> PAGE_BITS] === STATES + size
  }

  /** Returns when the subject would have expired; undefined if there was none. */
  delete(key: string): number | undefined {
    const id = this.#ids.get(key)
    if (id === undefined) return undefined
    const expires = this.expires(id)
    this.#remove(id)
    return expires
  }

  #sweep(looks: number, now: number): void {
    let left = looks
    // If all records live equally long, the expired ones are the oldest.
    while (left > 0 && this.#order.oldest !== NONE && this.expires(this.#order.oldest) <= now) {
      this.#remove(this.#order.oldest)
      left -= 1
    }
    const count = this.#keys.length
    for (; left > 0 && count > 0; left -= 1) {
      if (this.#next >= count) this.#next = 0
      if (this.expires(this.#next) <= now) this.#remove(this.#next)
      this.#next += 1
    }
  }

  #remove(id: number): void {
    const at = this.at(id)
    this.page(id).fill(0, at, at + (this.#lengths[id >> PAGE_BITS] as number))
    this.page(id)[at + EXPIRES] = Infinity
    this.#ids.delete(this.#keys[id] as string)
    this.#keys[id] = ''
    this.sets[id] = this.states[id] = undefined
    this.others.delete(id)
    this.leases.delete(id)
    this.denials.delete(id)
    this.accounts.delete(id)
    this.#order.remove(id)
    this.#free.get(this.#lengths[id >> PAGE_BITS] as number)?.push(id)
    this.removals += 1
  }

  #take(length: number): number {
    const free = this.#free.get(length)
    const id = free?.pop()
    if (id !== undefined) return id
    this.#addPage(length, free ?? [])
    return this.#take(length)
  }

  #addPage(length: number, free: number[]): void {
    const page = new Float64Array(PAGE_SIZE * length)
    const first = this.#pages.push(page) * PAGE_SIZE - PAGE_SIZE
    this.#lengths.push(length)
    this.#free.set(length, free)
    for (let i = 0; i < PAGE_SIZE; i += 1) {
      this.#keys.push('')
      this.sets.push(undefined)
      this.states.push(undefined)
      // A record without a subject never expires.
      page[i * length + EXPIRES] = Infinity
      free.push(first + PAGE_SIZE - 1 - i)
    }
    this.#order.grow(PAGE_SIZE)
  }
}

/** Numbers from 0 in the order of last use: a list linked by numbers, so that to move one touches few places in memory. */
class IdleOrder {
  /** The one that is idle longest; -1 if there is none. */
  oldest = NONE
  #newest = NONE
  /** For each number its neighbours: the next older, then the next newer. */
  #links = new Int32Array(0)
  #size = 0

  /** Makes room for more numbers. */
  grow(by: number): void {
    this.#size += by
    if (2 * this.#size <= this.#links.length) return
    const links = new Int32Array(4 * this.#size)
    links.set(this.#links)
    this.#links = links
  }

  add(id: number): void {
    const links = this.#links
    links[2 * id] = this.#newest
    links[2 * id + 1] = NONE
    if (this.#newest === NONE) this.oldest = id
    else links[2 * this.#newest + 1] = id
    this.#newest = id
  }

  remove(id: number): void {
    const links = this.#links
    const older = links[2 * id] as number
    const newer = links[2 * id + 1] as number
    if (older === NONE) this.oldest = newer
    else links[2 * older + 1] = newer
    if (newer === NONE) this.#newest = older
    else links[2 * newer] = older
  }

  /** Makes a number the newest. */
  use(id: number): void {
    if (id === this.#newest) return
    this.remove(id)
    this.add(id)
  }
}
