import type { Entry } from './entry.js'

/** How many entries are looked at, to see whether they can go, for each one that is used again or is new. */
const LOOKS_AT_USED = 2
/** More than one each, so that a round of looks ends: over n entries while n / 3 more come, so no more are held in vain. */
const LOOKS_AT_NEW = 4

/**
 * Subjects in the order of last use, so many at most. Nothing runs in the background: whenever one is used, some others
 * are looked at, and leave when they cannot count any more.
 */
export class SubjectList {
  readonly #most: number
  readonly #onEvicted: (entry: Entry, now: number) => void
  readonly #entries = new Map<string, Entry>()
  #oldest: Entry | undefined
  #newest: Entry | undefined
  /** Where the next look goes; undefined: to the oldest. */
  #next: Entry | undefined

  /** @param onEvicted is told of an entry that had to leave for want of room */
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

  /** Makes it the one used last, and adds it if it is not there. */
  use(entry: Entry, now: number): void {
    if (entry.isListed) {
      this.#unlink(entry)
      this.#link(entry)
      this.#sweep(LOOKS_AT_USED, now)
      return
    }
    // One of the same key that has expired.
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
    // Where all live as long, those to leave are the oldest.
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
