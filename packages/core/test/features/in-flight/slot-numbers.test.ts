// Which numbers of slots a process has accounted for: those that it heard of, in any order, and those that nobody can hear of any more.
import { SlotNumbers } from '../../../src/features/in-flight/slot-numbers.js'

/** Requests that begin one after another, and end in any order. */
class Requests {
  readonly numbers: SlotNumbers
  #now = 0
  #given: number

  constructor(from = 0) {
    this.numbers = new SlotNumbers(from)
    this.#given = from
  }

  /** Begins one, to which the store gives the next slot. Returns what ends it: true, its answer is heard. */
  begin(): (isHeard: boolean) => boolean {
    this.numbers.begin()
    const began = (this.#now += 1)
    const number = (this.#given += 1)
    return (isHeard) => {
      if (isHeard) this.numbers.hear(number, this.#now)
      return this.numbers.end(began, this.#now)
    }
  }
}

test('a number is accounted for when it is heard of, and no other with it', () => {
  const requests = new Requests(40)
  const ends = [1, 2, 3, 4].map(() => requests.begin())
  const known: number[] = []
  for (const i of [3, 0, 2, 1]) {
    expect(ends[i]?.(true)).toBe(false)
    known.push(requests.numbers.known)
  }
  expect(known).toEqual([41, 42, 43, 44])
})

test('a number whose answer is lost is given up when all are over that were under way when it was missed', () => {
  const requests = new Requests()
  const [lost, older, heard] = [requests.begin(), requests.begin(), requests.begin()]
  expect(lost(false)).toBe(false)
  expect(heard(true)).toBe(false)
  expect(requests.numbers.known).toBe(1)
  // Later ones say nothing of it.
  const later = requests.begin()
  expect([older(false), requests.numbers.known]).toEqual([true, 3])
  expect([later(true), requests.numbers.known]).toEqual([false, 4])
})

test('under load without a pause, a lost answer costs a slot no longer than the requests of then last', () => {
  const requests = new Requests()
  const underWay = Array.from({ length: 8 }, () => requests.begin())
  const missing: number[] = []
  for (let i = 0; i < 1000; i += 1) {
    // Eight are always under way; one of ten is lost.
    underWay.push(requests.begin())
    underWay.splice((i * 5) % 8, 1)[0]?.(i % 10 > 0)
    missing.push(i + 9 - underWay.length - requests.numbers.known)
  }
  // Not yet given up, at any time: those of two times eight requests at most.
  expect(Math.max(...missing)).toBeGreaterThan(0)
  expect(Math.max(...missing)).toBeLessThanOrEqual(16)
  for (const end of underWay) end(true)
  expect(requests.numbers.known).toBe(1008)
})

test('an answer that tells of a later number shows that one is missing', () => {
  const requests = new Requests()
  requests.begin()(false)
  expect(requests.numbers.known).toBe(0)
  requests.numbers.notice(1, 1)
  expect([requests.numbers.giveUp(1), requests.numbers.known]).toEqual([true, 1])
  expect([requests.numbers.giveUp(1), requests.numbers.known]).toEqual([false, 1])
})

test('a number that is given twice, after the store has lost data, counts once', () => {
  const numbers = new SlotNumbers(0)
  for (const number of [1, 2, 2, 1, 4, 4]) {
    numbers.begin()
    numbers.hear(number, 0)
  }
  expect(numbers.known).toBe(3)
})
