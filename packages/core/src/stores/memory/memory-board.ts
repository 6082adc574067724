import type { Board, Note, NotesSince, NoteTerms } from '../board.js'

interface Kept extends Note {
  /** When it was put, in µs. */
  readonly at: number
}

/** The board in this process's memory. The twin of board.lua: change both. */
export class MemoryBoard implements Board {
  /** Notes by topic and id, in the order in which they were put. */
  readonly #topics = new Map<string, Map<string, Kept>>()
  readonly #now: () => number

  /** @param now the store's time, in µs */
  constructor(now: () => number) {
    this.#now = now
  }

  put(topic: string, notes: readonly Note[], { keptMs, most }: NoteTerms): number {
    const now = this.#now()
    const kept = this.#topics.get(topic) ?? new Map<string, Kept>()
    this.#topics.set(topic, kept)
    // Later than all others, also within one µs and after the clock has gone back.
    const newest = [...kept.values()].at(-1)
    const first = Math.max(now, (newest?.at ?? 0) + 1)
    for (const [i, { id, text }] of notes.entries()) {
      kept.delete(id)
      kept.set(id, { id, text, at: first + i })
    }
    for (const [id, { at }] of kept) {
      if (kept.size <= most && at > now - keptMs * 1000) break
      kept.delete(id)
    }
    return kept.size
  }

  read(topic: string, { sinceMs, keptMs, most }: NotesSince): readonly Note[] {
    const keptSince = this.#now() - keptMs * 1000
    const all = [...(this.#topics.get(topic)?.values() ?? [])]
    const asked = all.filter(({ at }) => at >= sinceMs * 1000 && at > keptSince)
    return asked
      .slice(-most)
      .toReversed()
      .map(({ id, text }) => ({ id, text }))
  }
}
