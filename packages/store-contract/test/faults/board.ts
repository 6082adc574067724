import type { Board, Note, NotesSince, NoteTerms } from '@tollgate/core/store'
import type { Broken, Fault } from './fault.js'

/** Changes what the board is given, and what it reads. */
function noted(
  put: (notes: readonly Note[], terms: NoteTerms) => readonly [readonly Note[], NoteTerms],
  read: (notes: readonly Note[], since: NotesSince) => readonly Note[] = (notes) => notes,
  asked: (since: NotesSince) => NotesSince = (since) => since,
): Broken {
  return (inner) => {
    const board = inner.board as Board
    return {
      board: {
        put: (topic, notes, terms) => board.put(topic, ...put(notes, terms)),
        read: (topic, since) => read(board.read(topic, asked(since)) as readonly Note[], since),
      },
    }
  }
}

let notes = 0

export const faultsOfBoard: readonly Fault[] = [
  [
    'the oldest notes come first',
    noted(
      (...given) => given,
      (all) => all.toReversed(),
    ),
    [/newest notes/],
  ],
  [
    'all notes are read',
    noted(
      (...given) => given,
      undefined,
      (since) => ({ ...since, most: 9 }),
    ),
    [/newest notes/],
  ],
  [
    'a known id is another note',
    noted((all, terms) => [all.map(({ text }) => ({ id: `n${(notes += 1)}`, text })), terms]),
    [/replaces that/, /newest notes/],
  ],
  [
    'one note too many is kept',
    noted((all, terms) => [all, { ...terms, most: terms.most + 1 }]),
    [/too many/],
  ],
  [
    'texts end at a zero',
    noted((all, terms) => [all.map(({ id, text }) => ({ id, text: text.split('\0')[0] as string })), terms]),
    [/any text/],
  ],
  [
    'nothing is forgotten',
    noted(
      (all, terms) => [all, { ...terms, keptMs: 1e9 }],
      undefined,
      (since) => ({ ...since, keptMs: 1e9 }),
    ),
    [/is kept as long/],
  ],
]
