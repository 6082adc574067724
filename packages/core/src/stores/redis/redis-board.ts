import { StoreError } from '../../base/errors.js'
import type { Board, Note, NotesSince, NoteTerms } from '../board.js'
import type { RedisPort, ScriptArg } from './clients/index.js'
import type { Layout } from './layout.js'
import { Script } from './script.js'
import { boardScript } from './scripts/scripts.generated.js'

/** The keys of a topic: no subject can have one of these. All are in one shard. */
const KEYS = ['!board.', '!board.times.']
const SHARD = 0
const NOTES_A_PART = 500

/** The board in Redis, which all stores with this client and prefix share. */
export class RedisBoard implements Board {
  readonly #port: RedisPort
  readonly #script: Script
  readonly #layout: Layout
  readonly #now: () => ScriptArg
  readonly #keptMs: number

  /**
   * @param now    in µs; empty for Redis's own time
   * @param keptMs how many ms longer than necessary keys are kept, under a test's clock
   */
  constructor(port: RedisPort, layout: Layout, now: () => ScriptArg, keptMs: number) {
    this.#port = port
    this.#script = new Script(port, boardScript)
    this.#layout = layout
    this.#now = now
    this.#keptMs = keptMs
  }

  put(topic: string, notes: readonly Note[], terms: NoteTerms): Promise<number> {
    const args = notes.flatMap(({ id, text }) => [id, text])
    return this.#run(topic, terms, [this.#keptMs, ...args], Number)
  }

  /** In parts, between which Redis answers others: a full log has some MB. */
  read(topic: string, { sinceMs, ...terms }: NotesSince): Promise<readonly Note[]> {
    return this.#readSince(topic, Math.round(sinceMs * 1000), terms)
  }

  async #readSince(topic: string, since: number, terms: NoteTerms): Promise<readonly Note[]> {
    const first = await this.#readPart(topic, terms, [since, ''])
    const notes = [...first.notes]
    for (let { next } = first; next !== '' && notes.length < terms.most;) {
      const part = await this.#readPart(topic, terms, [since, next])
      notes.push(...part.notes)
      next = part.next
    }
    // A note that was put again meanwhile has left its place, and is among the newest now.
    const later = first.next === '' ? [] : await this.#readSince(topic, first.newest + 1, terms)
    const again = new Set(later.map(({ id }) => id))
    return [...later, ...notes.filter(({ id }) => !again.has(id))].slice(0, terms.most)
  }

  #readPart(topic: string, { keptMs }: NoteTerms, range: readonly ScriptArg[]): Promise<NotesPart> {
    return this.#run(topic, { keptMs, most: NOTES_A_PART }, ['', ...range], readNotes)
  }

  async #run<T>(
    topic: string,
    { keptMs, most }: NoteTerms,
    rest: readonly ScriptArg[],
    read: (reply: unknown) => T,
  ): Promise<T> {
    await this.#port.ready()
    const keys = KEYS.map((key) => this.#layout.nameOf(key + topic, SHARD))
    return this.#script.run({ keys, args: [this.#now(), keptMs * 1000, most, ...rest], shard: SHARD }, read)
  }
}

/** Some notes, the newest first. */
interface NotesPart {
  readonly notes: readonly Note[]
  /** When the newest of them was put, in µs. */
  readonly newest: number
  /** Where the next part begins; empty if there is none. */
  readonly next: string
}

function readNotes(reply: unknown): NotesPart {
  if (!Array.isArray(reply)) {
    throw new StoreError('Redis did not answer the script for notes with a list', { reason: 'protocol' })
  }
  const [newest, next, ...rest] = reply.map(String)
  const notes = Array.from({ length: rest.length / 2 }, (_, i) => ({
    id: rest[2 * i] as string,
    text: rest[2 * i + 1] as string,
  }))
  return { notes, newest: Number(newest), next: next ?? '' }
}
