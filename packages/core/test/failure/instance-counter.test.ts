import { setImmediate as turn } from 'node:timers/promises'
import { InstanceCounter } from '../../src/failure/instance-counter.js'
import { memoryStore } from '../../src/index.js'
import type { Answer } from '../../src/stores/contract.js'
import { START_MS } from '../support/benches.js'

const EVERY_MS = 10_001

afterEach(() => jest.restoreAllMocks())

/** Some that share a store that takes a while, and what each of them last counted. */
function town(size: number): {
  readonly counts: number[]
  readonly counters: readonly InstanceCounter[]
  tick(nowMs: number, some?: readonly InstanceCounter[]): Promise<void>
} {
  // All at once, which is the worst.
  jest.spyOn(Math, 'random').mockReturnValue(0)
  const clock = { now: START_MS }
  const store = memoryStore({ now: () => clock.now })
  const counts = Array.from({ length: size }, () => 0)
  const counters = counts.map(
    (_, i) =>
      new InstanceCounter({
        begin: '',
        consume: async (batch) => {
          await turn()
          return (await store.consume(batch)) as readonly Answer[]
        },
        giveBack: async (request) => {
          await turn()
          const [answer] = await store.refund([request])
          return answer === true
        },
        onCount: (instances) => (counts[i] = instances),
      }),
  )
  return {
    counts,
    counters,
    async tick(nowMs, some = counters) {
      clock.now = nowMs
      for (const counter of some) counter.tick(nowMs)
      // Timers of one length fire in the order in which they were set. Then the store answers after a turn each time.
      await new Promise((resolve) => setTimeout(resolve, 1))
      for (let i = 0; i < 20; i += 1) await turn()
    },
  }
}

test('those that are counted at the same time are never missed', async () => {
  const { counts, tick } = town(4)
  await tick(START_MS)
  expect(counts).toEqual([1, 2, 3, 4])
  for (let round = 1; round <= 6; round += 1) {
    await tick(START_MS + round * EVERY_MS)
    for (const count of counts) expect(count).toBeGreaterThanOrEqual(4)
  }
})

test('those that are counted one after another count each other exactly', async () => {
  const { counts, counters, tick } = town(3)
  await tick(START_MS)
  for (const one of counters) await tick(START_MS + EVERY_MS, [one])
  expect(counts).toEqual([3, 3, 3])
  await counters[0]?.leave()
  for (const one of counters) await tick(START_MS + 2 * EVERY_MS, [one])
  expect(counts.slice(1)).toEqual([2, 2])
})

test('one that leaves while it is being counted is gone', async () => {
  const { counts, counters, tick } = town(2)
  const [leaver, stayer] = counters
  leaver?.tick(START_MS)
  await leaver?.leave()
  await tick(START_MS, stayer ? [stayer] : [])
  expect(counts[1]).toBe(1)
})
