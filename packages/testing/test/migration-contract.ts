// What holds of each page on migrating: both programs of a pair, asked the same over HTTP, answer the same.
import { isDeepStrictEqual } from 'node:util'
import { pairsOf, type Block } from './page-programs.ts'

/** Requests to an application, one after another. */
export interface Asker {
  ask(path?: string, init?: RequestInit): Promise<Response>
  statuses(count: number, path?: string, init?: RequestInit): Promise<number[]>
}

export function askerAt(url: string): Asker {
  const ask: Asker['ask'] = async (path = '', init = {}) => {
    try {
      return await fetch(new URL(path, url), init)
    } catch (error) {
      // If a machine stalls for some seconds, the server closes an idle connection just as it is used again.
      const { code = '' } = ((error as Error).cause ?? {}) as { code?: string }
      if (!['ECONNRESET', 'UND_ERR_SOCKET'].includes(code)) throw error
      return fetch(new URL(path, url), init)
    }
  }
  return {
    ask,
    statuses: async (count, path, init) => {
      const all = []
      for (let i = 0; i < count; i += 1) {
        const answer = await ask(path, init)
        await answer.arrayBuffer()
        all.push(answer.status)
      }
      return all
    },
  }
}

/** A play that takes longer than this, in ms, is slow, and a window may have ended in it. */
const SLOW_MS = 1000
const MOST_PLAYS = 6

/** What a play saw. If a slow one saw something unexpected, it is played again, since a window may have ended in it. */
export async function playInWindows<T>(play: () => Promise<T>, expected: unknown): Promise<T> {
  for (let plays = 1; ; plays += 1) {
    const begunMs = performance.now()
    const seen = await play()
    const isSlow = performance.now() - begunMs > SLOW_MS
    if (!isSlow || plays === MOST_PLAYS || isDeepStrictEqual(seen, expected)) return seen
  }
}

/** This many answers with this status. */
export const times = (count: number, status: number): number[] => new Array<number>(count).fill(status)

/** Requests for both programs of a pair. `ask` must return `expected` for each of them. */
export interface Scenario<Running> {
  readonly ask: (running: Running) => Promise<unknown>
  readonly expected: unknown
}

/**
 * Sends a hundred requests in a window, and one more.
 *
 * @param left    reads the remaining units from the headers of an answer
 * @param windowS the length of the window in s
 */
export function hundredThenDenied(left: (answer: Response) => number, windowS: number): Scenario<Asker> {
  return {
    ask: async ({ ask, statuses }) => {
      const first = [left(await ask()), left(await ask())]
      const others = await statuses(98)
      const denied = await ask()
      const wait = Number(denied.headers.get('retry-after'))
      return { first, others, denied: [denied.status, left(denied)], waits: wait >= 1 && wait <= windowS }
    },
    expected: { first: [99, 98], others: times(98, 200), denied: [429, 0], waits: true },
  }
}

/**
 * Runs each pair of a page, and checks that every pair has a scenario.
 *
 * @param serve     starts an application with a program of the page
 * @param scenarios the requests for each pair, by heading
 */
export function migrationContract<Running>(
  page: string,
  serve: (program: Block) => Promise<Running>,
  scenarios: Readonly<Record<string, Scenario<Running>>>,
): void {
  const pairs = pairsOf(page)

  test('every pair of the page has a scenario', () => {
    expect(pairs.map(({ heading }) => heading)).toEqual(Object.keys(scenarios))
  })

  describe.each(pairs)('$heading', ({ heading, before, after }) => {
    test.each([
      ['before', before],
      ['after', after],
    ])('%s', async (_, program) => {
      const { ask, expected } = scenarios[heading] as Scenario<Running>
      expect(await playInWindows(async () => ask(await serve(program)), expected)).toEqual(expected)
    })
  })
}
