import { setImmediate as turn } from 'node:timers/promises'
import { InstanceCounter } from '../../src/failure/local/instance-counter.js'
import { memoryStore } from '../../src/index.js'
import type { Answer } from '../../src/stores/contract.js'
import { START_MS } from '../support/benches.js'

const EVERY_MS = 10_001

afterEach(() => jest.restoreAllMocks())

/** Instances that share a store with slow answers, and the last count of each. */
function fleet(size: number): {
  readonly counts: number[]
  readonly counters: readonly InstanceCounter[]
  tick(nowMs: number, some?: readonly InstanceCounter[]): Promise<void>
} {
  // No random delay, so that all count at the same moment: the worst case.
  jest.spyOn(Math, 'random').mockReturnValue(0)
  const clock = { now: START_MS }
  const store = memoryStore({ now: () => clock.now })
  const counts = Array.from({ length: size }, () => 0)
  const counters = counts.map(
    (_, i) =>
      new InstanceCounter({
        begin: '',
        charge: async (batch) => {
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
      // Timers of the same length fire in the order they were set. Then each answer of the store takes a turn.
      await new Promise((resolve) => setTimeout(resolve, 1))
      for (let i = 0; i < 20; i += 1) await turn()
    },
  }
}

test('instances that count at the same time never miss each other', async () => {
  const { counts, tick } = fleet(4)
  await tick(START_MS)
  expect(counts).toEqual([1, 2, 3, 4])
  for (let round = 1; round <= 6; round += 1) {
    await tick(START_MS + round * EVERY_MS)
    for (const count of counts) expect(count).toBeGreaterThanOrEqual(4)
  }
})

test('instances that count one after another get the exact number', async () => {
  const { counts, counters, tick } = fleet(3)
  await tick(START_MS)
  for (const one of counters) await tick(START_MS + EVERY_MS, [one])
  expect(counts).toEqual([3, 3, 3])
  await counters[0]?.leave()
  for (const one of counters) await tick(START_MS + 2 * EVERY_MS, [one])
  expect(counts.slice(1)).toEqual([2, 2])
})

test('an instance that leaves while it is counting is gone', async () => {
  const { counts, counters, tick } = fleet(2)
  const [leaver, stayer] = counters
  leaver?.tick(START_MS)
  await leaver?.leave()
  await tick(START_MS, stayer ? [stayer] : [])
  expect(counts[1]).toBe(1)
})
