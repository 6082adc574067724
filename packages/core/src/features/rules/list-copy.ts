import type { ListVersion, RuleEntry, RulesReply } from '../../stores/rule-list.js'

/** This process's copy of a store's list of rules. */
export class ListCopy {
  /** The version that it is a copy of. */
  known: ListVersion = { version: 0, id: '' }
  /** Whether it was read as a whole. */
  isRead = false
  readonly #entries = new Map<string, RuleEntry>()
  /** The entries read so far, while the whole list is read again. */
  #fresh: Map<string, RuleEntry> | undefined
  /** The keys of entries that the list has lost. */
  #lost: string[] = []

  get(key: string): RuleEntry | undefined {
    return this.#entries.get(key)
  }

  entries(): IterableIterator<[string, RuleEntry]> {
    return this.#entries.entries()
  }

  /** Entries that go back into the list, at most so many. */
  lost(most: number): readonly RuleEntry[] {
    return this.#lost.slice(0, most).map((key) => this.#entries.get(key) as RuleEntry)
  }

  get hasLost(): boolean {
    return this.#lost.length > 0
  }

  /**
   * Takes over an answer.
   *
   * @param sent how many lost entries were sent with the call
   * @param now  the store's time, in µs
   * @returns the entries that are later than those that were known
   */
  read(reply: RulesReply, sent: number, now: number): RuleEntry[] {
    this.#lost = this.#lost.slice(sent)
    // Also if the list was lost while it was read for the first time.
    if (reply.isWhole && this.#entries.size > 0) this.#fresh = new Map()
    const later = reply.entries.filter((entry) => this.#take(entry, now))
    this.known = reply.known
    if (!reply.hasMore) this.#complete(now)
    return later
  }

  #take(entry: RuleEntry, now: number): boolean {
    this.#fresh?.set(entry.key, entry)
    const before = this.#entries.get(entry.key)
    // The list has forgotten a later one that is over: another process, which did not know it, sent an earlier one back.
    if (before && before.changedAt > entry.changedAt && before.keptUntil > now) return false
    this.#entries.set(entry.key, entry)
    // After a rollback, two changes can have the same time: then the one in the list holds.
    return (
      !before ||
      before.changedAt !== entry.changedAt ||
      before.text !== entry.text ||
      before.until !== entry.until
    )
  }

  /** The whole list was read. What it lacks of what this process knows goes back into it. */
  #complete(now: number): void {
    const fresh = this.#fresh
    this.#fresh = undefined
    this.isRead = true
    if (!fresh) return
    for (const [key, entry] of this.#entries) {
      const given = fresh.get(key)
      if (entry.keptUntil > now && (!given || given.changedAt < entry.changedAt)) this.#lost.push(key)
    }
  }

  /** Forgets entries that the list has forgotten. Returns their keys. */
  forgetEnded(now: number): string[] {
    const ended = [...this.#entries.values()]
      .filter(({ keptUntil }) => keptUntil <= now)
      .map(({ key }) => key)
    for (const key of ended) this.#entries.delete(key)
    if (ended.length > 0) this.#lost = this.#lost.filter((key) => this.#entries.has(key))
    return ended
  }
}
