import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { isTaken, remainingOf, type Check } from './bench.js'
import { ask, holdId, reservation } from './hold-requests.js'
import { order, standing } from './lease-orders.js'

const SHORT_US = 60_000
const ASKED_EVERY_MS = 10

/** Reservations. Places have checks of their own. */
export const holdChecks: readonly Check[] = [
  {
    name: 'hold: nobody else gets what is reserved, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(10, algorithm)
        const request = reservation(1, [bench.part(algorithm, 4, set)])
        const outcome = await ask(bench, request)
        assert.deepEqual([isTaken(outcome), remainingOf(outcome)], [true, [6]], algorithm)
        const { delayUs, endsInUs = 0 } = outcome.hold ?? {}
        assert.equal(delayUs, 0, `${algorithm}: a reservation is there at once`)
        assert.ok(endsInUs >= request.hold.lengthUs, `${algorithm}: it lasts as long as asked for`)
        assert.deepEqual(await standing(bench, algorithm, set), [6, 4], algorithm)
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
      assert.deepEqual([isTaken(outcome), outcome.hold], [false, undefined])
      const [left] = await bench.peek({ shard: 0, grant: 'all', parts: [bench.part('a', 1, set)] })
      assert.deepEqual(left && [remainingOf(left), left.limits.map(({ leased }) => leased)], [
        [10, 3],
        [undefined, undefined],
      ])
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
        assert.deepEqual(await standing(bench, algorithm, set), [8, undefined], algorithm)
      }
    },
  },
  {
    name: 'hold: a cancelled reservation comes back',
    async run(bench) {
      const set = bench.set(10)
      await ask(bench, reservation(1, [bench.part('a', 6, set)]))
      await order(bench, 'a', set, { reports: [{ id: holdId(1), used: 0, left: 0 }] })
      assert.deepEqual(await standing(bench, 'a', set), [10, undefined])
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
          assert.deepEqual(remainingOf(outcome), [hasEnded ? 10 : 6], algorithm)
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
      assert.equal(ends[0], ends[1])
      assert.deepEqual(await standing(bench, 'a', set), [6, 4])
    },
  },
]
