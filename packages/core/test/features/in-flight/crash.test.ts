// A process that tells nothing more loses its slots; one that comes back says what it runs, over the limit if need be.
import { memoryStore } from '../../../src/index.js'
import { createLimitSet, SLOTS_KEPT_MS, type Outcome, type SlotHolder } from '../../../src/store.js'

const set = createLimitSet('2 concurrent')
let nowMs = 1_800_000_000_000
const store = memoryStore({ now: () => nowMs })

/** Asks for a slot. Returns whether there was one. */
function begin(holder: SlotHolder): boolean {
  const parts = [{ key: 'acme', set, cost: 1, slots: { ...holder } }]
  const [outcome] = store.consume([{ shard: 0, grant: 'all', parts }]) as Outcome[]
  return outcome?.limits[0]?.wait === 0
}

function tell(holder: SlotHolder): void {
  void store.consume([{ shard: 0, grant: 'declare', parts: [{ key: 'acme', set, cost: 1, slots: holder }] }])
}

const holderOf = (id: string): ((held: number, known: number) => SlotHolder) => {
  return (held, known) => ({ id, held, known })
}

test('slots are free when a process has told nothing for so long, and never before', () => {
  const [one, other] = [holderOf('one000'), holderOf('other0')]
  expect([begin(one(0, 0)), begin(one(1, 1)), begin(other(0, 0))]).toEqual([true, true, false])
  nowMs += SLOTS_KEPT_MS - 1
  expect(begin(other(0, 0))).toBe(false)
  // A message is enough to keep them.
  tell(one(2, 2))
  nowMs += SLOTS_KEPT_MS - 1
  expect(begin(other(0, 0))).toBe(false)
  nowMs += 1
  expect([begin(other(0, 0)), begin(other(1, 1))]).toEqual([true, true])
  // The first one was frozen, not dead: four run now, and nobody is let in until fewer than two do.
  tell(one(2, 2))
  expect([begin(one(2, 2)), begin(other(2, 2)), begin(one(0, 2)), begin(other(1, 2))]).toEqual([
    false,
    false,
    false,
    true,
  ])
})
