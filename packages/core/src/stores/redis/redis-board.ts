import { StoreError } from '../../base/errors.js'
import type { Board, Note, NotesSince, NoteTerms } from '../board.js'
import type { RedisPort, ScriptArg } from './clients/index.js'
import type { Layout } from './layout.js'
import { Script } from './script.js'
import { boardScript } from './scripts/scripts.generated.js'

/** The keys of a topic: no subject can have one of these. All are in one shard. */
const KEYS = ['!board.', '!board.times.']
const SHARD = 0

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

  read(topic: string, { sinceMs, ...terms }: NotesSince): Promise<readonly Note[]> {
    return this.#run(topic, terms, ['', Math.round(sinceMs * 1000)], readNotes)
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

function readNotes(reply: unknown): readonly Note[] {
  if (!Array.isArray(reply)) {
    throw new StoreError('Redis did not answer the script for notes with a list', { reason: 'protocol' })
  }
  return Array.from({ length: reply.length / 2 }, (_, i) => ({
    id: String(reply[2 * i]),
    text: String(reply[2 * i + 1]),
  }))
}
