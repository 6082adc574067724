import {
  INSTANCE_KEPT_MS,
  type Instance,
  MOST_ENTRIES_A_REPLY,
  MOST_RULES,
  VERSIONS_KNOWN,
  type ChangeResult,
  type ListVersion,
  type RuleChange,
  type RuleEntry,
  type RuleList,
  type RulesCall,
  type RulesReply,
} from '../rule-list.js'

/** An entry, and the version that its last change made. */
interface Kept extends RuleEntry, ListVersion {}

/** The list of rules in this process's memory. The twin of rules.lua: change both. */
export class MemoryRules implements RuleList {
  readonly now: () => number
  readonly #entries = new Map<string, Kept>()
  /** Keys in the order of their changes. Only the last one of each key counts. */
  #order: { readonly version: number; readonly key: string }[] = []
  /** The latest versions by the ids of their changes. */
  readonly #versions = new Map<string, number>()
  /** Until when each instance is counted. */
  readonly #instances = new Map<string, Map<string, number>>()
  #known: ListVersion = EMPTY
  /** No entry is forgotten before. */
  #nextEnd = Infinity

  /** @param now the store's time, in µs */
  constructor(now: () => number) {
    this.now = now
  }

  sync({ instances = [], known, changes, restored }: RulesCall): RulesReply {
    const at = this.now()
    const open = instances.map((instance) => this.#count(instance, at))
    if (changes.length + restored.length > 0 && this.#nextEnd <= at) this.#forgetEnded(at)
    const results = changes.map((change) => this.#change(change, at))
    for (const entry of restored) this.#restore(entry, at)
    this.#forgetOldVersions()
    if (this.#entries.size === 0) this.#begin()
    const isKnown = this.#isKnown(known)
    const newer = this.#after(isKnown ? known.version : 0)
    const sent = newer.slice(0, MOST_ENTRIES_A_REPLY)
    const hasMore = newer.length > sent.length
    const { version, id } = hasMore ? (sent.at(-1) as Kept) : this.#known
    return {
      at,
      instances: open,
      results,
      isWhole: !isKnown,
      entries: sent.map(toEntry),
      known: { version, id },
      hasMore,
    }
  }

  #count({ of, id, isOpen }: Instance, at: number): number {
    const open = this.#instances.get(of) ?? new Map<string, number>()
    this.#instances.set(of, open)
    for (const [other, until] of open) if (until <= at) open.delete(other)
    if (isOpen) open.set(id, at + INSTANCE_KEPT_MS * 1000)
    else open.delete(id)
    return open.size
  }

  /** Entries that were changed after this version, the oldest version first. At most one more than a reply has. */
  #after(version: number): Kept[] {
    const newer: Kept[] = []
    for (let i = this.#indexAfter(version); i < this.#order.length; i += 1) {
      const { key, version: made } = this.#order[i] as { version: number; key: string }
      const entry = this.#entries.get(key)
      if (entry?.version === made) newer.push(entry)
      if (newer.length > MOST_ENTRIES_A_REPLY) break
    }
    return newer
  }

  #indexAfter(version: number): number {
    let [low, high] = [0, this.#order.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#order[middle]?.version ?? 0) <= version) low = middle + 1
      else high = middle
    }
    return low
  }

  #change({ id, key, text, end, knownAt, keptUntil }: RuleChange, at: number): ChangeResult {
    if (this.#versions.has(id)) return 'written'
    const before = this.#entries.get(key)
    const changedAt = Math.max(at, knownAt + 1, (before?.changedAt ?? 0) + 1)
    const until = 'at' in end ? end.at : at + end.inUs
    const isLift = text === ''
    const ends = isLift && before && before.changedAt >= knownAt ? ruleEnd(before) : until
    if (ends <= at) return isLift ? 'absent' : 'past'
    if (!before && this.#entries.size >= MOST_RULES) return 'full'
    this.#write(
      { key, changedAt, until: ends, keptUntil: Math.max(ends, keptUntil, before?.keptUntil ?? 0), text },
      id,
    )
    return 'written'
  }

  #restore({ id, ...entry }: RuleEntry & { readonly id: string }, at: number): void {
    const before = this.#entries.get(entry.key)
    if (entry.keptUntil <= at || (before && before.changedAt >= entry.changedAt)) return
    if (!before && this.#entries.size >= MOST_RULES) return
    this.#write({ ...entry, keptUntil: Math.max(entry.keptUntil, before?.keptUntil ?? 0) }, id)
  }

  #write(entry: RuleEntry, id: string): void {
    const version = this.#known.version + 1
    this.#known = { version, id }
    this.#entries.set(entry.key, { ...entry, version, id })
    this.#versions.set(id, version)
    this.#nextEnd = Math.min(this.#nextEnd, entry.keptUntil)
    this.#order.push({ version, key: entry.key })
    if (this.#order.length > 2 * this.#entries.size + VERSIONS_KNOWN) {
      this.#order = this.#order.filter((one) => this.#entries.get(one.key)?.version === one.version)
    }
  }

  /** As many as Redis forgets at once: those that ended first. */
  #forgetEnded(at: number): void {
    const all = [...this.#entries.values()].sort(byEnd)
    const ended = all.slice(0, MOST_ENTRIES_A_REPLY).filter(({ keptUntil }) => keptUntil <= at)
    for (const { key } of ended) this.#entries.delete(key)
    this.#nextEnd = all[ended.length]?.keptUntil ?? Infinity
  }

  #forgetOldVersions(): void {
    for (const id of this.#versions.keys()) {
      if (this.#versions.size <= VERSIONS_KNOWN) return
      this.#versions.delete(id)
    }
  }

  /** As in Redis, whose keys go with the last entry. */
  #begin(): void {
    this.#known = EMPTY
    this.#versions.clear()
    this.#order = []
  }

  #isKnown({ version, id }: ListVersion): boolean {
    if (version === 0) return this.#known.version === 0
    if (this.#versions.get(id) === version) return true
    const { key = '' } = this.#order[this.#indexAfter(version) - 1] ?? {}
    const entry = this.#entries.get(key)
    return entry?.version === version && entry.id === id
  }
}

const EMPTY: ListVersion = { version: 0, id: '' }

function toEntry({ key, changedAt, until, keptUntil, text }: Kept): RuleEntry {
  return { key, changedAt, until, keptUntil, text }
}

/** When an entry's rule ends; 0 if it was lifted. */
function ruleEnd({ text, until }: RuleEntry): number {
  return text === '' ? 0 : until
}

function byEnd(a: RuleEntry, b: RuleEntry): number {
  return a.keptUntil - b.keptUntil || (a.key < b.key ? -1 : 1)
}
