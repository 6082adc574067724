// When requests that wait in line get their places, in figures. (Random schedules are in test/laws.)
import type { LimitInput } from '../../../src/index.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { Hold, Outcome } from '../../../src/stores/contract.js'
import { waiting } from '../../support/store-requests.js'
import { ask, one, part, setOf, storeAt } from './support.js'

/** A subject on limits whose requests wait; times are in ms from the start. */
class Line {
  readonly #bench = storeAt(0)
  readonly #set: LimitSet
  #made = 0

  constructor(...limits: readonly LimitInput[]) {
    this.#set = waiting(setOf(...limits))
  }

  at(ms: number): this {
    this.#bench.clock.now = ms
    return this
  }

  take(cost: number): this {
    one(this.#bench.store, ask(part('k', cost, this.#set)))
    return this
  }

  /** When each of these costs has its place; undefined where it is denied. */
  book(costs: readonly number[], change: Partial<Hold> = {}): (number | undefined)[] {
    return costs.map((cost) => {
      this.#made += 1
      const hold = {
        kind: 'place',
        id: idOf(this.#made),
        lengthUs: 10_000_000,
        slackUs: 20_000,
        most: 100,
      } as const
      const { at, hold: told } = one(this.#bench.store, {
        ...ask(part('k', cost, this.#set)),
        hold: { ...hold, ...change },
      }) as Outcome
      return told && (at + told.delayUs) / 1000
    })
  }

  /** Gives back what was booked as the nth. */
  leave(n: number): this {
    const order = { reports: [{ id: idOf(n), used: 0, left: 0 }] }
    one(this.#bench.store, { shard: 0, grant: 'lease', order, parts: [part('k', 1, this.#set)] })
    return this
  }
}

function idOf(n: number): string {
  return `hold-${String(n).padStart(7, '0')}`
}

test('a bucket has a place whenever units have drained, however long the line', () => {
  expect(new Line('10/s burst 1').take(1).book([1, 1, 1, 1])).toEqual([100, 200, 300, 400])
  expect(new Line('10/s burst 2').take(2).book([1, 2, 2, 1])).toEqual([100, 300, 500, 600])
})

test('a line is as fast as the limit, though places are used late', () => {
  const line = new Line('10/s burst 1').take(1)
  const times = [50, 150, 250, 350].flatMap((ms) => line.at(ms).book([1]))
  expect(times).toEqual([100, 200, 300, 400])
})

test('the other algorithms have places for as many units as the quota', () => {
  expect(new Line('2/s').take(1).at(300).take(1).book([1, 1, 1])).toEqual([1000, 1300, undefined])
  const fixed = { quota: 2, window: 's', algorithm: 'fixed-window' } as const
  expect(new Line(fixed).take(2).book([1, 1, 1])).toEqual([1000, 1000, undefined])
})

test('a place that was given back goes to the next that fits it', () => {
  const line = new Line('10/s burst 1').take(1)
  line.book([1, 1, 1])
  expect(line.leave(2).book([1, 1])).toEqual([200, 400])
})

test('nothing goes before a place that would be late by it', () => {
  const line = new Line('10/s burst 2').take(2)
  expect(line.book([1, 1, 2])).toEqual([100, 200, 400])
  // Two units in the place of one would make the last late.
  expect(line.leave(2).book([2, 1])).toEqual([600, 200])
})

test('what a bucket could drain while it is dry is lost to those behind', () => {
  const line = new Line('2/s burst 2').take(2)
  expect(line.book([1, 1, 2])).toEqual([500, 1000, 2000])
  // The second goes, and is not followed. So the bucket is dry before the third comes.
  expect(line.at(1600).leave(2).book([2])).toEqual([3000])
})

test('a place waits for all limits, and leaves none of them late', () => {
  const line = new Line('10/s burst 1', '3/s').take(1)
  expect(line.book([1, 1, 1, 1])).toEqual([100, 200, 1000, undefined])
})

test('no more than the most are to come; a place whose time has come is not among them', () => {
  const line = new Line('10/s burst 1').take(1)
  expect(line.book([1, 1, 1], { most: 2 })).toEqual([100, 200, undefined])
  expect(line.at(110).book([1, 1], { most: 2 })).toEqual([310, undefined])
})
