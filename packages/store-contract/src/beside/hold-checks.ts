import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Check } from '../bench.js'
import { isTaken, remainingOf } from '../requests.js'
import { ask, holdId, reservation } from './hold-requests.js'
import { order, standing } from './lease-orders.js'
import { same } from '../same.js'

const SHORT_US = 60_000
const ASKED_EVERY_MS = 10

/** Reservations. Places have checks of their own. */
export const holdChecks: readonly Check[] = [
  {
    name: 'hold: no other request gets what is reserved, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(10, algorithm)
        const request = reservation(1, [bench.part(algorithm, 4, set)])
        const outcome = await ask(bench, request)
        same([isTaken(outcome), remainingOf(outcome)], [true, [6]], `${algorithm}: allowed, and units left`)
        const { delayUs, endsInUs = 0 } = outcome.hold ?? {}
        same(delayUs, 0, `${algorithm}: a reservation is there at once`)
        assert.ok(endsInUs >= request.hold.lengthUs, `${algorithm}: it lasts as long as asked for`)
        same(
          await standing(bench, algorithm, set),
          [6, 4],
          `${algorithm}: units left, and units that are held`,
        )
        const { limits } = await ask(bench, {
          ...request,
          hold: undefined,
          parts: [bench.part(algorithm, 7, set)],
        })
        assert.ok((limits[0]?.wait ?? 0) > 0, `${algorithm}: 7 of 6 units`)
      }
    },
  },
  {
    name: 'hold: a reservation that does not fit all limits is denied, and reserves nothing',
    async run(bench) {
      const set = bench.pair(10, 3)
      const outcome = await ask(bench, reservation(1, [bench.part('a', 4, set)]))
      same([isTaken(outcome), outcome.hold], [false, undefined], 'allowed, and its hold')
      const [left] = await bench.peek({ shard: 0, grant: 'all', parts: [bench.part('a', 1, set)] })
      same(
        left && [remainingOf(left), left.limits.map(({ leased }) => leased)],
        [
          [10, 3],
          [undefined, undefined],
        ],
        'units left, and on hold, after a reservation that was denied',
      )
    },
  },
  {
    name: 'hold: what is committed counts once, and the rest comes back, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(10, algorithm)
        await ask(bench, reservation(1, [bench.part(algorithm, 6, set)]))
        const reports = [{ id: holdId(1), used: 2, left: 0 }]
        await order(bench, algorithm, set, { reports })
        await order(bench, algorithm, set, { reports })
        same(
          await standing(bench, algorithm, set),
          [8, undefined],
          `${algorithm}: units left, and units that are held`,
        )
      }
    },
  },
  {
    name: 'hold: a cancelled reservation comes back',
    async run(bench) {
      const set = bench.set(10)
      await ask(bench, reservation(1, [bench.part('a', 6, set)]))
      await order(bench, 'a', set, { reports: [{ id: holdId(1), used: 0, left: 0 }] })
      same(await standing(bench, 'a', set), [10, undefined], 'units left, and units that are held')
    },
  },
  {
    name: 'hold: a reservation comes back at its end and never counts, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(10, algorithm)
        const { at, hold } = await ask(bench, reservation(1, [bench.part(algorithm, 4, set)], SHORT_US))
        const end = at + (hold?.endsInUs ?? 0)
        for (;;) {
          const [outcome] = await bench.peek({
            shard: 0,
            grant: 'all',
            parts: [bench.part(algorithm, 1, set)],
          })
          assert.ok(outcome)
          const hasEnded = outcome.at >= end
          same(remainingOf(outcome), [hasEnded ? 10 : 6], `${algorithm}: units left of each limit`)
          if (hasEnded) break
          await sleep(ASKED_EVERY_MS)
        }
      }
    },
  },
  {
    name: 'hold: a request whose id comes again gets the same hold',
    async run(bench) {
      const set = bench.set(10)
      const request = reservation(1, [bench.part('a', 4, set)])
      const ends = [await ask(bench, request), await ask(bench, request)].map(
        ({ at, hold }) => at + (hold?.endsInUs ?? 0),
      )
      same(ends[0], ends[1], 'the time at which the reservation ends, when its id comes again')
      same(await standing(bench, 'a', set), [6, 4], 'units left, and units that are held')
    },
  },
]
