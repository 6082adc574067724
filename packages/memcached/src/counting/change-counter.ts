import { StoreError } from '@tollgate/core/store'
import type { Run } from '../batch.js'
import { encodeCell, type CellValue } from './cell-value.js'
import type { Looked, Reply } from '../clients/port.js'
import { valueOf, type Place } from '../load.js'

/** How often others may write a counter between a read and the change. */
const MOST_TRIES = 64

/**
 * Reads a counter and changes it. If others wrote it in between, tries again. Units that go back must not be subtracted without
 * a read: two processes at once could bring a counter below 0, and let in more than the quota.
 *
 * @param change what it is to hold; undefined: it stays as it is
 * @throws {StoreError} when the server failed, or others never stopped writing
 */
export async function changeCounter(
  run: Run,
  { key, ttl }: Place,
  change: (value: CellValue | undefined) => CellValue | undefined,
): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const [looked] = await run([{ kind: 'look', key }])
    const value = valueOf(looked)
    if (value instanceof Error) throw value
    const next = change(value)
    if (!next) return
    const text = String(encodeCell(next))
    const { token } = (looked ?? {}) as Partial<Looked>
    const [isDone] = await run([
      token === undefined ? { kind: 'add', key, text, ttl } : { kind: 'swap', key, text, ttl, token },
    ])
    needNoError([isDone])
    if (isDone === true) return
  }
  throw new StoreError('the counter of this request is written without pause: it is tried again later', {
    reason: 'busy',
    isOfRequest: true,
  })
}

/** @throws {StoreError} the first error among replies */
export function needNoError(replies: readonly Reply[]): void {
  const error = replies.find((reply) => reply instanceof Error)
  if (error) throw error as Error
}
