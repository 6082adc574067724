import { LocalLimiter } from '../../src/failure/local/local-limiter.js'
import { createLimitSet, type LimitOutcome, type SlotHolder, type StoreRequest } from '../../src/store.js'
import type { LimitInput } from '../../src/index.js'

/** One of several processes, whose store cannot answer. Its time stands still. */
class Process {
  readonly local = new LocalLimiter(100, {
    nowMs: () => this.nowMs,
    behindMs: () => 0,
    elapsedUs: () => this.nowMs * 1000,
  })
  /** The numbers that the store gave are not those of this process's own counts. */
  readonly slots = { id: 'abcdef', held: 0, known: 40 } satisfies SlotHolder
  nowMs = 1_800_000_000_000
  readonly #limits: readonly LimitInput[]
  readonly request: StoreRequest

  constructor(share: number, ...limits: readonly LimitInput[]) {
    this.local.share = share
    this.#limits = limits
    this.request = this.#requestOf(1)
  }

  /** How many of these requests pass. None of them ends. */
  begin(requests: number, cost = 1): number {
    let passed = 0
    for (let i = 0; i < requests; i += 1) {
      const request = this.#requestOf(cost)
      const { limits } = this.local.consume({ ...request, shard: 0 }, request.parts)
      if (limits.some(({ wait }) => wait !== 0)) continue
      passed += 1
      this.slots.held += 1
    }
    return passed
  }

  /** So many requests end. */
  end(requests: number): void {
    this.slots.held -= requests
  }

  /** The store's last answer on the subject. */
  heard(limits: readonly LimitOutcome[]): void {
    this.local.note(this.request, { at: this.nowMs * 1000, limits }, this.nowMs)
  }

  owed(): unknown[] {
    return this.local.takeOwed(() => true, 10).map(({ used }) => used.entries.map((limit) => limit.length))
  }

  #requestOf(cost: number): StoreRequest {
    const set = (this.request as StoreRequest | undefined)?.parts[0]?.set ?? createLimitSet(...this.#limits)
    return { shard: 0, grant: 'all', parts: [{ key: 'acme', set, cost, slots: this.slots }] }
  }
}

test.each([
  [20, 1 / 4, 5],
  [20, 1 / 3, 6],
  [2, 1 / 4, 1],
  [20, 1, 20],
])('of %d at a time a process with a share of %p lets %d run', (quota, share, expected) => {
  const one = new Process(share, `${quota} concurrent`)
  expect(one.begin(30)).toBe(expected)
  one.end(1)
  expect([one.begin(3), one.slots.held]).toEqual([1, expected])
})

test('the time that passes frees no slot', () => {
  const one = new Process(1 / 2, '4 concurrent')
  expect(one.begin(3)).toBe(2)
  one.nowMs += 3_600_000
  expect(one.begin(3)).toBe(0)
})

test('requests that began before the outage count in the share', () => {
  const one = new Process(1 / 2, '10 concurrent')
  one.slots.held = 4
  expect(one.begin(9)).toBe(1)
})

test("what other processes held at the store's last answer does not count in it", () => {
  const one = new Process(1 / 2, '100/min', '10 concurrent')
  one.heard([
    { wait: 0, remaining: 80, reset: 1000 },
    { wait: 1_000_000, remaining: 0, reset: 0, slot: 0 },
  ])
  expect(one.begin(9)).toBe(5)
})

test('a request of which another step is undecided holds its slot', () => {
  const one = new Process(1 / 2, '4 concurrent')
  const deadline = {}
  const steps = [1, 2, 3].map(() => ({ ...one.request, deadline }))
  const waits = steps.map((step) => one.local.consume(step, step.parts).limits[0]?.wait)
  expect(waits).toEqual([0, 0, 1_000_000])
  // One of them was denied elsewhere, the other was let in.
  for (const step of steps.slice(0, 2)) one.local.release(step)
  one.slots.held += 1
  expect(one.begin(3)).toBe(1)
})

test('a request takes one slot, whatever it costs', () => {
  expect(new Process(1 / 2, '10 concurrent').begin(9, 40)).toBe(5)
})

test('units in time are charged afterwards, and slots are not', () => {
  const mixed = new Process(1 / 2, '100/min', '10 concurrent')
  expect(mixed.begin(3)).toBe(3)
  expect(mixed.owed()).toEqual([[1, 0]])
  const alone = new Process(1 / 2, '10 concurrent')
  expect(alone.begin(3)).toBe(3)
  expect(alone.owed()).toEqual([])
})
