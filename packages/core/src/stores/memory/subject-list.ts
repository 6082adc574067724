import type { Entry } from './entry.js'

/** How many entries are checked for expiry whenever a known entry is used. */
const LOOKS_AT_USED = 2
/** The same for a new entry. More than one, so that the checks pass through the list faster than it grows. */
const LOOKS_AT_NEW = 4

/**
 * Subjects in the order of last use, up to a maximum. Nothing runs in the background: each use of a subject checks a
 * few others and removes those that have expired.
 */
export class SubjectList {
  readonly #most: number
  readonly #onEvicted: (entry: Entry, now: number) => void
  readonly #entries = new Map<string, Entry>()
  #oldest: Entry | undefined
  #newest: Entry | undefined
  /** The entry to check next; undefined: the oldest. */
  #next: Entry | undefined

  /** @param onEvicted is called for an entry that was removed for want of room */
  constructor(most: number, onEvicted: (entry: Entry, now: number) => void) {
    this.#most = most
    this.#onEvicted = onEvicted
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key)
  }

  /** Adds the entry, or makes it the most recently used. */
  use(entry: Entry, now: number): void {
    if (entry.isListed) {
      this.#unlink(entry)
      this.#link(entry)
      this.#sweep(LOOKS_AT_USED, now)
      return
    }
    // Removes an expired entry of the same key.
    this.delete(entry.key)
    this.#sweep(LOOKS_AT_NEW, now)
    if (this.#entries.size >= this.#most && this.#oldest) this.#evict(this.#oldest, now)
    this.#entries.set(entry.key, entry)
    this.#link(entry)
  }

  delete(key: string): void {
    const entry = this.#entries.get(key)
    if (entry) this.#remove(entry)
  }

  #sweep(looks: number, now: number): void {
    let left = looks
    // If all entries live equally long, the expired ones are the oldest.
    while (left > 0 && this.#oldest && this.#oldest.expires <= now) {
      this.#remove(this.#oldest)
      left -= 1
    }
    let entry = this.#next ?? this.#oldest
    for (; left > 0 && entry; left -= 1) {
      const next: Entry | undefined = entry.newer
      if (entry.expires <= now) this.#remove(entry)
      entry = next
    }
    this.#next = entry
  }

  #evict(entry: Entry, now: number): void {
    this.#remove(entry)
    this.#onEvicted(entry, now)
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry.key)
    this.#unlink(entry)
  }

  #link(entry: Entry): void {
    entry.isListed = true
    entry.older = this.#newest
    if (this.#newest) this.#newest.newer = entry
    else this.#oldest = entry
    this.#newest = entry
  }

  #unlink(entry: Entry): void {
    const { older, newer } = entry
    if (this.#next === entry) this.#next = newer
    if (older) older.newer = newer
    else this.#oldest = newer
    if (newer) newer.older = older
    else this.#newest = older
    entry.older = entry.newer = undefined
    entry.isListed = false
  }
}
