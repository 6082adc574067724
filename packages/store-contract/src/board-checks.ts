import type { Board, Note, NoteTerms } from '@tollgate/core/store'
import type { Bench, Check } from './bench.js'
import { same } from './same.js'

const TERMS: NoteTerms = { keptMs: 60_000, most: 5 }

/** The board of a store under test, with a topic of its own for each check. */
class Topic {
  readonly #board: Board
  readonly #topic: string

  constructor(bench: Bench) {
    this.#board = bench.store.board as Board
    this.#topic = bench.key('board')
  }

  put(notes: readonly Note[], terms: NoteTerms = TERMS): Promise<number> {
    return Promise.resolve(this.#board.put(this.#topic, notes, terms))
  }

  /** The texts, the newest first. */
  async texts(terms: Partial<NoteTerms & { sinceMs: number }> = {}): Promise<string[]> {
    const notes = await this.#board.read(this.#topic, { ...TERMS, sinceMs: 0, ...terms })
    return notes.map(({ id, text }) => `${id} ${text}`)
  }
}

function check(name: string, run: (topic: Topic, bench: Bench) => Promise<void>): Check {
  return { name: `board: ${name}`, run: (bench) => run(new Topic(bench), bench) }
}

const note = (id: string, text = 'text'): Note => ({ id, text })

/** Notes for those who look. */
export const boardChecks: readonly Check[] = [
  check('the newest notes are read first', async (topic) => {
    same(await topic.texts(), [], 'notes of a new topic')
    same(await topic.put([note('b'), note('a')]), 2, 'how many there are')
    same(await topic.put([note('c')]), 3, 'how many there are')
    same(await topic.texts(), ['c text', 'a text', 'b text'], 'notes')
    same(await topic.texts({ most: 2 }), ['c text', 'a text'], 'the newest two')
  }),
  check('a note with a known id replaces that, and becomes the newest', async (topic) => {
    await topic.put([note('a', 'old'), note('b')])
    same(await topic.put([note('a', 'new')]), 2, 'how many there are')
    same(await topic.texts(), ['a new', 'b text'], 'notes')
  }),
  check('the oldest go when there are too many', async (topic) => {
    await topic.put(['a', 'b', 'c', 'd'].map((id) => note(id)))
    same(await topic.put([note('e'), note('f')]), TERMS.most, 'how many there are')
    same(await topic.texts(), ['f text', 'e text', 'd text', 'c text', 'b text'], 'notes')
  }),
  check('any text comes back as it was', async (topic) => {
    const texts = ['', '"\u0000\u202e\n', 'ü€😀', 'x'.repeat(32_768)]
    await topic.put(texts.map((text, i) => note(String(i), text)))
    same(
      (await topic.texts()).toReversed(),
      texts.map((text, i) => `${i} ${text}`),
      'notes',
    )
  }),
]

/** The board as time passes. */
export const boardTimeChecks: readonly Check[] = [
  check('a note is kept as long as its terms say, and since then', async (topic, bench) => {
    await topic.put([note('a')])
    bench.pass(TERMS.keptMs / 2)
    await topic.put([note('b')])
    same(await topic.texts(), ['b text', 'a text'], 'notes')
    same(await topic.texts({ keptMs: TERMS.keptMs / 4 }), ['b text'], 'notes that are kept for less long')
    bench.pass(TERMS.keptMs / 2)
    same(await topic.texts(), ['b text'], 'notes')
    same(await topic.put([note('c')]), 2, 'how many there are')
  }),
]
