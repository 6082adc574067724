import { ConfigError, StoreError, toStoreError } from '../../base/errors.js'
import { isPromise, type MaybePromise } from '../../base/promises.js'
import { elapsedMs, pause, within } from '../../base/timers.js'
import type { Board, Note } from '../../stores/board.js'
import type { Store } from '../../stores/contract.js'

/** How long a reader waits for the store. */
const SILENT_MS = 2000

/** Then other work of the process gets its turn. */
const LONGEST_WORK_MS = 5

/** The name of a topic. Limiters of each name have topics of their own. */
export function topicOf(what: 'traffic' | 'denials' | 'rules' | 'plans' | 'answers', name: string): string {
  return `${what}.${name}`
}

/** @throws {ConfigError} for a store that has none */
export function needBoard({ board }: Store): Board {
  if (board) return board
  const remedy = 'use redisStore, or for a single process memoryStore'
  throw new ConfigError('store', `this store keeps no figures about traffic and no logs: ${remedy}`)
}

/** @throws {StoreError} when the store fails, or does not answer in time */
export async function answered<T>(given: MaybePromise<T>): Promise<T> {
  if (!isPromise(given)) return given
  try {
    return await within(
      given,
      SILENT_MS,
      () => new StoreError('the store did not answer', { code: 'ERR_TOLLGATE_STORE_TIMEOUT' }),
    )
  } catch (error) {
    throw toStoreError(error)
  }
}

/** Calls `read` for each note. Of many notes, only some at a time: requests have to be decided meanwhile. */
export async function forEachNote(notes: readonly Note[], read: (note: Note) => void): Promise<void> {
  let sinceMs = elapsedMs()
  for (const note of notes) {
    read(note)
    if (elapsedMs() < sinceMs + LONGEST_WORK_MS) continue
    await pause(0)
    sinceMs = elapsedMs()
  }
}
