import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { refundOf, type LeaseReport, type Outcome } from '@tollgate/core/store'
import { all, grantedOf, isTaken, remainingOf, type Check } from './bench.js'
import { order, report, standing, wish } from './lease-orders.js'

const SHORT_US = 60_000
const ASKED_EVERY_MS = 10

export const leaseChecks: readonly Check[] = [
  {
    name: 'lease: nobody else gets units on lease, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(10, algorithm)
        const outcome = await order(bench, algorithm, set, { wish: wish(1, 4) })
        assert.deepEqual([grantedOf(outcome), remainingOf(outcome)], [[4], [6]], algorithm)
        assert.ok((outcome.lease?.endsInUs ?? 0) > 0, `${algorithm}: a lease ends later`)
        assert.deepEqual(await standing(bench, algorithm, set), [6, 4], algorithm)
        const [denied, taken] = await bench.consume(
          all(bench.part(algorithm, 7, set)),
          all(bench.part(algorithm, 6, set)),
        )
        assert.ok(!isTaken(denied as Outcome), `${algorithm}: 7 of 6 units`)
        assert.ok(isTaken(taken as Outcome), `${algorithm}: 6 of 6 units`)
      }
    },
  },
  {
    name: 'lease: as many units as all limits have, of that a share, and none rather than too few',
    async run(bench) {
      const set = bench.pair(12, 8)
      const shared = await order(bench, 'a', set, { wish: wish(1, 100, { share: 0.25 }) })
      assert.deepEqual(
        [grantedOf(shared), remainingOf(shared)],
        [
          [2, 2],
          [10, 6],
        ],
      )
      const few = await order(bench, 'a', set, { wish: wish(2, 100, { share: 0.5, least: 4 }) })
      assert.deepEqual([grantedOf(few), remainingOf(few), few.lease?.endsInUs], [[0, 0], [10, 6], 0])
      const rest = await order(bench, 'a', set, { wish: wish(3, 100) })
      assert.deepEqual(
        [grantedOf(rest), remainingOf(rest)],
        [
          [6, 6],
          [4, 0],
        ],
      )
    },
  },
  {
    name: 'lease: a wish that comes again gets the same lease',
    async run(bench) {
      const set = bench.set(10)
      const first = await order(bench, 'a', set, { wish: wish(1, 4) })
      const again = await order(bench, 'a', set, { wish: wish(1, 4) })
      const ends = [first, again].map(({ at, lease }) => at + (lease?.endsInUs ?? 0))
      assert.deepEqual([grantedOf(again), ends[0]], [[4], ends[1]])
      assert.deepEqual(await standing(bench, 'a', set), [6, 4])
    },
  },
  {
    name: 'lease: what is reported as used counts once, however often, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(10, algorithm)
        await order(bench, algorithm, set, { wish: wish(1, 6) })
        const reports = [report(1, 3, 3), report(1, 1, 5), report(1, 3, 3)]
        await order(bench, algorithm, set, { reports })
        await order(bench, algorithm, set, { reports })
        assert.deepEqual(await standing(bench, algorithm, set), [4, 3], algorithm)
        await order(bench, algorithm, set, { reports: [report(1, 9, 0)] })
        assert.deepEqual(
          await standing(bench, algorithm, set),
          [4, undefined],
          `${algorithm}: more than it got`,
        )
      }
    },
  },
  {
    name: 'lease: what is given back is there for all',
    async run(bench) {
      const set = bench.set(10)
      await order(bench, 'a', set, { wish: wish(1, 6) })
      await order(bench, 'a', set, { reports: [report(1, 1, 2)] })
      assert.deepEqual(await standing(bench, 'a', set), [7, 2])
      const outcome = await order(bench, 'a', set, { reports: [report(1, 1, 0)], wish: wish(2, 10) })
      assert.deepEqual([grantedOf(outcome), remainingOf(outcome)], [[9], [0]])
    },
  },
  {
    name: 'lease: says whether it knows the leases that are reported with units left',
    async run(bench) {
      const set = bench.set(10)
      await order(bench, 'a', set, { wish: wish(1, 6) })
      const known = async (...reports: LeaseReport[]): Promise<boolean | undefined> =>
        (await order(bench, 'a', set, { reports })).lease?.isKnown
      assert.equal(await known(report(1, 0, 6), report(2, 0, 0)), true)
      assert.equal(await known(report(1, 0, 6), report(2, 0, 1)), false)
      await bench.reset([bench.key('a')], set)
      assert.equal(await known(report(1, 0, 6)), false)
      assert.deepEqual(await standing(bench, 'a', set), [10, undefined])
    },
  },
  {
    name: 'lease: units that are out count as used when it ends, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(10, algorithm)
        const { at, lease } = await order(bench, algorithm, set, { wish: wish(1, 4, { lengthUs: SHORT_US }) })
        const end = at + (lease?.endsInUs ?? 0)
        for (;;) {
          const [outcome] = (await bench.peek(all(bench.part(algorithm, 1, set)))) as [Outcome]
          assert.deepEqual(remainingOf(outcome), [6], algorithm)
          assert.equal(outcome.limits[0]?.leased, outcome.at < end ? 4 : undefined, algorithm)
          if (outcome.at >= end) break
          await sleep(ASKED_EVERY_MS)
        }
        const late = await order(bench, algorithm, set, { reports: [report(1, 0, 4)] })
        assert.equal(late.lease?.isKnown, false, `${algorithm}: it has ended`)
      }
    },
  },
  {
    name: 'lease: refunds and charges go on beside it, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(10, algorithm)
        await order(bench, algorithm, set, { wish: wish(1, 4) })
        const request = all(bench.part(algorithm, 3, set))
        const [outcome] = (await bench.consume(request)) as [Outcome]
        await bench.refund(refundOf(request, outcome, 2))
        assert.deepEqual(await standing(bench, algorithm, set), [5, 4], algorithm)
        const used = bench.used(algorithm, set, [[8, 0]])
        await bench.consume({ shard: 0, grant: 'force', parts: [used] })
        assert.deepEqual(await standing(bench, algorithm, set), [0, 4], algorithm)
      }
    },
  },
]
