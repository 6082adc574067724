// Law 9 with requests in flight: whatever the store does, requests are answered, and their ends wait for nothing.
import { createLimiter, memoryStore, type Store } from '../../../src/index.js'
import { asyncStore } from '../../support/stores.js'

const never = (): Promise<never> => new Promise(() => {})
const DEADLINE_MS = 30

/** What a broken store can answer to a request, in place of its slot. */
const answers: readonly [what: string, consume: Store['consume']][] = [
  ['never answers', never],
  ['rejects', () => Promise.reject(new Error('broken'))],
  [
    'throws',
    () => {
      throw new Error('broken')
    },
  ],
  [
    'gives slots that are no numbers',
    async (batch) => batch.map(({ parts }) => told(parts.length, Number.NaN)),
  ],
  ['gives slots before the first', async (batch) => batch.map(({ parts }) => told(parts.length, -1))],
]

function told(
  count: number,
  slot: number,
): { at: number; limits: { wait: 0; remaining: 1; reset: 0; slot: number }[] } {
  return { at: 1, limits: Array.from({ length: count }, () => ({ wait: 0, remaining: 1, reset: 0, slot })) }
}

describe.each(answers)('a store that %s', (_, consume) => {
  test.each(['open', 'closed', 'local'] as const)(
    '%s decides, and what it lets run ends',
    async (onStoreFailure) => {
      const limiter = createLimiter({
        limit: '2 concurrent',
        store: asyncStore({ slots: true, consume }),
        deadlineMs: DEADLINE_MS,
        onStoreFailure,
        local: { instances: 1 },
        warnings: false,
      })
      const decisions = await Promise.all(Array.from({ length: 4 }, () => limiter.consume('acme')))
      const allowed = { open: 4, closed: 0, local: 2 }[onStoreFailure]
      expect(decisions.map(({ source }) => source)).toEqual(decisions.map(() => onStoreFailure))
      expect(decisions.filter((decision) => decision.allowed)).toHaveLength(allowed)
      expect(limiter.stats().inFlight).toBe(allowed)
      expect(decisions.map((decision) => decision.release())).toEqual(decisions.map((one) => one.allowed))
      expect(limiter.stats().inFlight).toBe(0)
      // Slots that came back are there for the next ones.
      const next = await Promise.all([limiter.consume('acme'), limiter.consume('acme')])
      expect(next.filter((decision) => decision.allowed)).toHaveLength(Math.min(allowed, 2))
      await limiter.close()
    },
  )
})

test('requests that end after the limiter was closed are no error', async () => {
  const limiter = createLimiter({ limit: '2 concurrent', store: memoryStore() })
  const held = await limiter.consume('acme')
  await limiter.close()
  expect([held.release(), held.release()]).toEqual([true, false])
  expect(limiter.stats().inFlight).toBe(0)
})
