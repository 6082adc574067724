import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLimitSet, type AlgorithmName, type LimitSet } from '@tollgate/core/store'
import type { Bench, Check } from '../bench.js'
import { all, hasAnyWindow, isTaken, remainingOf } from '../requests.js'
import { ask, holdId, place, timeOf, timesOf, waiting } from './hold-requests.js'
import { order, standing } from './lease-orders.js'
import { same } from '../same.js'

const [WINDOW_MS, ASKED_EVERY_MS, APART_MS] = [300, 10, 3]
const ROUNDING_US = 2

/** Uses all units of a limit, one after another. Returns when 1, 2, ... of them fit again. */
async function useUp(bench: Bench, key: string, set: LimitSet, quota: number): Promise<number[]> {
  for (let i = 0; i < quota; i += 1) {
    await bench.consume(all(bench.part(key, 1, set)))
    await sleep(APART_MS)
  }
  return timesOf(bench, key, set, quota)
}

/** A bucket rounds its level at every write. */
function sameTimes(
  actual: readonly (number | undefined)[],
  expected: readonly (number | undefined)[],
  what: string,
): void {
  const isNear = (time: number | undefined, i: number): boolean =>
    Math.abs((time ?? NaN) - (expected[i] ?? NaN)) <= ROUNDING_US
  assert.ok(actual.every(isNear), `${what}: at ${actual.join()}, not ${expected.join()}`)
}

/** Books a place, and asks until it has ended: from then on its units are used. */
async function entersAtItsEnd(bench: Bench, algorithm: AlgorithmName): Promise<void> {
  const set = waiting(createLimitSet(bench.limit(10, algorithm, `${WINDOW_MS} ms`)))
  await bench.consume(all(bench.part(algorithm, 10, set)))
  const { at, hold } = await ask(bench, place(1, [bench.part(algorithm, 6, set)]))
  const end = at + (hold?.endsInUs ?? 0)
  for (;;) {
    const [outcome] = await bench.peek(all(bench.part(algorithm, 1, set)))
    assert.ok(outcome)
    const hasEnded = outcome.at >= end
    // Long after the end, they have come back.
    const isSoon = outcome.at < end + (WINDOW_MS / 2) * 1000
    if (isSoon)
      same(
        outcome.limits[0]?.leased,
        hasEnded ? undefined : 6,
        `${algorithm}: units held, until the place ends`,
      )
    if (isSoon) assert.ok((remainingOf(outcome)[0] ?? 0) < 10, `${algorithm}: 6 units were used`)
    if (hasEnded) return
    await sleep(ASKED_EVERY_MS)
  }
}

export const placeChecks: readonly Check[] = [
  {
    name: 'place: a cost that fits now is taken, and nothing is held',
    async run(bench) {
      const set = waiting(bench.set(10))
      const outcome = await ask(bench, place(1, [bench.part('a', 4, set)]))
      same(outcome.hold, { delayUs: 0, endsInUs: 0 }, 'the hold of a cost that fits now')
      same(await standing(bench, 'a', set), [6, undefined], 'units left, and units that are held')
    },
  },
  {
    name: 'place: it is booked for the time at which the cost fits, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = waiting(bench.set(3, algorithm))
        const times = await useUp(bench, algorithm, set, 3)
        const request = place(1, [bench.part(algorithm, 2, set)])
        const outcome = await ask(bench, request)
        assert.ok(isTaken(outcome), algorithm)
        sameTimes([timeOf(outcome)], [times[1]], algorithm)
        const { delayUs, endsInUs } = outcome.hold ?? { delayUs: 0, endsInUs: 0 }
        same(endsInUs, delayUs + request.hold.slackUs, `${algorithm}: it ends later by the slack`)
        same(
          await standing(bench, algorithm, set),
          [0, 2],
          `${algorithm}: units left, and units that are held`,
        )
      }
    },
  },
  {
    name: 'place: each is booked after those before, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = waiting(bench.set(3, algorithm))
        const times = await useUp(bench, algorithm, set, 3)
        const booked: (number | undefined)[] = []
        for (const n of [1, 2, 3])
          booked.push(timeOf(await ask(bench, place(n, [bench.part(algorithm, 1, set)]))))
        sameTimes(booked, times, algorithm)
      }
    },
  },
  {
    name: 'place: one that was given back goes to the next, and the times of the others stay',
    async run(bench) {
      const set = waiting(bench.set(3))
      const part = bench.part('a', 1, set)
      const times = await useUp(bench, 'a', set, 3)
      const told: (number | undefined)[] = []
      for (const n of [1, 2, 3]) told.push(timeOf(await ask(bench, place(n, [part]))))
      await order(bench, 'a', set, { reports: [{ id: holdId(2), used: 0, left: 0 }] })
      same(await standing(bench, 'a', set), [0, 2], 'units left, and units that are held')
      const booked: (number | undefined)[] = []
      for (const n of [4, 1, 3]) booked.push(timeOf(await ask(bench, place(n, [part]))))
      const [given, ...others] = booked
      sameTimes([given], [times[1]], 'the given place')
      same(others, [told[0], told[2]], 'the times of the places that were booked before')
    },
  },
  {
    name: 'place: at most so many of a key are to come',
    async run(bench) {
      const set = waiting(bench.set(3))
      await useUp(bench, 'a', set, 3)
      const asked = [1, 2, 3].map((n) => place(n, [bench.part('a', 1, set)], { most: 2 }))
      const outcomes = await bench.consume(...asked)
      same(outcomes.map(isTaken), [true, true, false], 'allowed, with two places of a key to come')
      same(await standing(bench, 'a', set), [0, 2], 'units left, and units that are held')
    },
  },
  {
    name: 'place: none that is later than asked for, and none for a cost that never fits',
    async run(bench) {
      const set = waiting(bench.set(3))
      await useUp(bench, 'a', set, 3)
      const late = await ask(bench, place(1, [bench.part('a', 1, set)], { lengthUs: 1000 }))
      same([isTaken(late), late.hold], [false, undefined], 'allowed, and its hold')
      const never = await ask(bench, place(2, [bench.part('a', 4, set)]))
      same([never.limits[0]?.wait, never.hold], [-1, undefined], 'wait and hold of a cost that never fits')
      same(await standing(bench, 'a', set), [0, undefined], 'units left, and units that are held')
    },
  },
  {
    name: 'place: its units count as used when it ends, for every algorithm',
    async run(bench) {
      const algorithms = bench.algorithms.filter(hasAnyWindow)
      await Promise.all(algorithms.map((algorithm) => entersAtItsEnd(bench, algorithm)))
    },
  },
  {
    name: 'place: a key whose plan does not wait must have room now, and is taken from at once',
    needs: ['atomic'],
    async run(bench) {
      const [line, plain] = [waiting(bench.set(3)), bench.set(4)]
      const times = await useUp(bench, 'a', line, 3)
      const of = (n: number, cost: number) =>
        place(n, [bench.part('a', cost, line), bench.part('b', cost, plain)])
      sameTimes([timeOf(await ask(bench, of(1, 2)))], [times[1]], 'two units')
      same(
        [await standing(bench, 'a', line), await standing(bench, 'b', plain)],
        [
          [0, 2],
          [2, undefined],
        ],
        'units left of each key, and units that are held',
      )
      await bench.consume(all(bench.part('b', 2, plain)))
      assert.ok(!isTaken(await ask(bench, of(2, 1))))
      same(await standing(bench, 'a', line), [0, 2], 'units left, and units that are held')
    },
  },
]
