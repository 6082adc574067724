import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { refundOf, type LeaseReport, type Outcome } from '@tollgate/core/store'
import type { Check } from '../bench.js'
import { all, grantedOf, isTaken, remainingOf } from '../requests.js'
import { order, report, standing, wish } from './lease-orders.js'
import { same } from '../same.js'

const SHORT_US = 60_000
const ASKED_EVERY_MS = 10

export const leaseChecks: readonly Check[] = [
  {
    name: 'lease: no other request gets units on lease, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(10, algorithm)
        const outcome = await order(bench, algorithm, set, { wish: wish(1, 4) })
        same([grantedOf(outcome), remainingOf(outcome)], [[4], [6]], `${algorithm}: granted and remaining`)
        assert.ok((outcome.lease?.endsInUs ?? 0) > 0, `${algorithm}: a lease ends later`)
        same(
          await standing(bench, algorithm, set),
          [6, 4],
          `${algorithm}: units left, and units that are held`,
        )
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
      same(
        [grantedOf(shared), remainingOf(shared)],
        [
          [2, 2],
          [10, 6],
        ],
        'granted and remaining',
      )
      const few = await order(bench, 'a', set, { wish: wish(2, 100, { share: 0.5, least: 4 }) })
      same(
        [grantedOf(few), remainingOf(few), few.lease?.endsInUs],
        [[0, 0], [10, 6], 0],
        'granted, remaining, and the end of the lease',
      )
      const rest = await order(bench, 'a', set, { wish: wish(3, 100) })
      same(
        [grantedOf(rest), remainingOf(rest)],
        [
          [6, 6],
          [4, 0],
        ],
        'granted and remaining',
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
      same(
        [grantedOf(again), ends[0]],
        [[4], ends[1]],
        'granted, and the end of the lease, when a wish comes again',
      )
      same(await standing(bench, 'a', set), [6, 4], 'units left, and units that are held')
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
        same(
          await standing(bench, algorithm, set),
          [4, 3],
          `${algorithm}: units left, and units that are held`,
        )
        await order(bench, algorithm, set, { reports: [report(1, 9, 0)] })
        same(await standing(bench, algorithm, set), [4, undefined], `${algorithm}: more than it got`)
      }
    },
  },
  {
    name: 'lease: what is given back is there for all',
    async run(bench) {
      const set = bench.set(10)
      await order(bench, 'a', set, { wish: wish(1, 6) })
      await order(bench, 'a', set, { reports: [report(1, 1, 2)] })
      same(await standing(bench, 'a', set), [7, 2], 'units left, and units that are held')
      const outcome = await order(bench, 'a', set, { reports: [report(1, 1, 0)], wish: wish(2, 10) })
      same([grantedOf(outcome), remainingOf(outcome)], [[9], [0]], 'granted and remaining')
    },
  },
  {
    name: 'lease: says whether it knows the leases that are reported with units left',
    async run(bench) {
      const set = bench.set(10)
      await order(bench, 'a', set, { wish: wish(1, 6) })
      const known = async (...reports: LeaseReport[]): Promise<boolean | undefined> =>
        (await order(bench, 'a', set, { reports })).lease?.isKnown
      same(
        await known(report(1, 0, 6), report(2, 0, 0)),
        true,
        'isKnown, when an unknown lease without units left is reported',
      )
      same(
        await known(report(1, 0, 6), report(2, 0, 1)),
        false,
        'isKnown, when an unknown lease with units left is reported',
      )
      await bench.reset([bench.key('a')], set)
      same(await known(report(1, 0, 6)), false, 'isKnown of a lease after a reset')
      same(await standing(bench, 'a', set), [10, undefined], 'units left, and units that are held')
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
          same(remainingOf(outcome), [6], `${algorithm}: units left of each limit`)
          same(
            outcome.limits[0]?.leased,
            outcome.at < end ? 4 : undefined,
            `${algorithm}: units on lease, until it ends`,
          )
          if (outcome.at >= end) break
          await sleep(ASKED_EVERY_MS)
        }
        const late = await order(bench, algorithm, set, { reports: [report(1, 0, 4)] })
        same(late.lease?.isKnown, false, `${algorithm}: it has ended`)
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
        same(
          await standing(bench, algorithm, set),
          [5, 4],
          `${algorithm}: units left, and units that are held`,
        )
        const used = bench.used(algorithm, set, [[8, 0]])
        await bench.consume({ shard: 0, grant: 'force', parts: [used] })
        same(
          await standing(bench, algorithm, set),
          [0, 4],
          `${algorithm}: units left, and units that are held`,
        )
      }
    },
  },
]
