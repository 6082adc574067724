import type { Board, Note, NotesSince, NoteTerms } from '../board.js'

interface Kept extends Note {
  /** When it was put, in µs. */
  readonly at: number
}

/** Notes by id, in the order in which they were put, and when the last one was. */
interface Topic {
  readonly notes: Map<string, Kept>
  newestAt: number
}

/** The board in this process's memory. The twin of board.lua: change both. */
export class MemoryBoard implements Board {
  readonly #topics = new Map<string, Topic>()
  readonly #now: () => number

  /** @param now the store's time, in µs */
  constructor(now: () => number) {
    this.#now = now
  }

  put(topic: string, notes: readonly Note[], { keptMs, most }: NoteTerms): number {
    const now = this.#now()
    const known = this.#topics.get(topic) ?? { notes: new Map<string, Kept>(), newestAt: 0 }
    this.#topics.set(topic, known)
    const { notes: kept } = known
    for (const { id, text } of notes) {
      // Later than all others, also within one µs and after the clock has gone back.
      known.newestAt = Math.max(now, known.newestAt + 1)
      kept.delete(id)
      kept.set(id, { id, text, at: known.newestAt })
    }
    for (const [id, { at }] of kept) {
      if (kept.size <= most && at > now - keptMs * 1000) break
      kept.delete(id)
    }
    return kept.size
  }

  read(topic: string, { sinceMs, keptMs, most }: NotesSince): readonly Note[] {
    const keptSince = this.#now() - keptMs * 1000
    const all = [...(this.#topics.get(topic)?.notes.values() ?? [])]
    const asked = all.filter(({ at }) => at >= sinceMs * 1000 && at > keptSince)
    return asked
      .slice(-most)
      .toReversed()
      .map(({ id, text }) => ({ id, text }))
  }
}
