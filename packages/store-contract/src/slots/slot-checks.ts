import assert from 'node:assert/strict'
import { refundOf, type Outcome } from '@tollgate/core/store'
import type { Check } from '../bench.js'
import { all, force, isTaken, upTo } from '../requests.js'
import { free, Holder, slotsIn, slotsOf } from './slot-holders.js'
import { same } from '../same.js'

/** Requests in flight, without what time does to them. */
export const slotChecks: readonly Check[] = [
  {
    name: 'slots: as many requests run at a time as the limit says, over all holders',
    async run(bench) {
      const set = slotsOf(3)
      const [one, two] = [new Holder(bench, 1), new Holder(bench, 2)]
      const allowed = []
      for (const by of [one, two, one, two, one]) allowed.push(await by.begin('a', set))
      same(allowed, [true, true, true, false, false], 'allowed: 1, 2, 1, 2, 1 of two holders, with 3 slots')
      same(await free(bench, 'a', set), 0, 'slots left')
      one.held -= 1
      assert.ok(await one.begin('a', set), 'a request has ended, so another one runs')
      two.held -= 1
      same(await two.tell('release', 'a', set), 1, 'slots left, as the answer says')
      same(await free(bench, 'a', set), 1, 'slots left')
    },
  },
  {
    name: 'slots: requests of one batch take one slot after another, with numbers that go up',
    async run(bench) {
      const set = slotsOf(3)
      const request = all(new Holder(bench, 1, 0, 7).asking('a', set))
      const outcomes = await bench.consume(request, request, request, request)
      // Those that the holder has not heard of yet are held, too.
      same(
        outcomes.map(isTaken),
        [true, true, true, false],
        'allowed: four requests of a batch, with 3 slots',
      )
      same(
        outcomes.slice(0, 3).map((outcome) => slotsIn(outcome, set).slot),
        [8, 9, 10],
        'the numbers of the slots, after 7, which the holder knows',
      )
      same(
        outcomes.map((outcome) => slotsIn(outcome, set).remaining),
        [2, 1, 0, 0],
        'slots left after each request of a batch',
      )
    },
  },
  {
    name: 'slots: a slot whose answer was lost is held until the holder has heard of it',
    async run(bench) {
      const set = slotsOf(3)
      const by = new Holder(bench, 1)
      await bench.consume(all(by.asking('a', set)))
      same(await by.tell('release', 'a', set), 2, 'slots left, as the answer says')
      same(by.known, 1, 'the answer says which slot the holder had last')
      same(await by.tell('release', 'a', set), 3, 'slots left, as the answer says')
      assert.ok(await by.begin('a', set))
      same(by.known, 2, 'the next slot has the next number')
    },
  },
  {
    name: 'slots: a late message from before changes only what it can know',
    async run(bench) {
      const set = slotsOf(5)
      const by = new Holder(bench, 1)
      await by.begin('a', set)
      const late = new Holder(bench, 1, by.held, by.known)
      await by.begin('a', set)
      same(await late.tell('declare', 'a', set), 3, 'it holds two, the second it had not heard of')
      by.held = 0
      same(await by.tell('declare', 'a', set), 5, 'slots left, as the answer says')
    },
  },
  {
    name: 'slots: what is declared counts, also when the store has forgotten it',
    async run(bench) {
      const set = slotsOf(4, bench.limit(9))
      const by = new Holder(bench, 1)
      await by.begin('a', set)
      await by.begin('a', set)
      await bench.reset([bench.key('a')], set)
      same(await bench.left('a', set), [9, 4], 'units left of each limit')
      const [outcome] = (await bench.consume({
        shard: 0,
        grant: 'declare',
        parts: [by.asking('a', set)],
      })) as [Outcome]
      same(
        [outcome.limits[0]?.remaining, slotsIn(outcome, set).remaining],
        [0, 2],
        'remaining of both limits in the answer to a declaration: 0 of the other one',
      )
      same(await bench.left('a', set), [9, 2], 'it takes no slot, and no unit')
      assert.ok(await by.begin('a', set))
      same(by.known, 3, 'numbers go on from what the holder knows')
    },
  },
  {
    name: 'slots: a release of a holder that is not known declares what it has',
    async run(bench) {
      const set = slotsOf(4)
      const by = new Holder(bench, 1, 2, 5)
      same(await by.tell('release', 'a', set), 2, 'slots left, as the answer says')
      same(await free(bench, 'a', set), 2, 'slots left')
    },
  },
  {
    name: 'slots: a denied request takes no slot and no unit',
    async run(bench) {
      const set = slotsOf(2, bench.limit(3))
      const [one, two] = [new Holder(bench, 1), new Holder(bench, 2)]
      for (const by of [one, one, two]) await by.begin('a', set)
      same(await bench.left('a', set), [1, 0], 'units left of each limit')
      one.held -= 1
      assert.ok(!(await two.begin('a', set, 2)), 'a free slot, and too few units')
      same(await one.tell('release', 'a', set), 1, 'slots left, as the answer says')
      same(await bench.left('a', set), [1, 1], 'units left of each limit')
    },
  },
  {
    name: 'slots: a request takes one, whatever it costs; without slots in it, none',
    async run(bench) {
      const set = slotsOf(3, bench.limit(9))
      assert.ok(await new Holder(bench, 1).begin('a', set, 5))
      same(await bench.left('a', set), [4, 2], 'units left of each limit')
      const [outcome] = (await bench.consume(all(bench.part('a', 1, set)))) as [Outcome]
      assert.ok(isTaken(outcome))
      same(await bench.left('a', set), [3, 2], 'units left of each limit')
    },
  },
  {
    name: 'slots: other grants and refunds take none and give none back',
    async run(bench) {
      // Not a bucket, if there is another: it drains meanwhile, and gives back a part less where that is rounded.
      const set = slotsOf(2, bench.limit(20, bench.algorithms.at(-1)))
      const request = all(new Holder(bench, 1).asking('a', set, 4))
      const [outcome] = (await bench.consume(request)) as [Outcome]
      const [more] = (await bench.consume(upTo(bench.part('a', 7, set)))) as [Outcome]
      same(more.limits[0]?.granted, 7, 'slots do not count in the units that are given')
      same(await bench.left('a', set), [9, 1], 'units left of each limit')
      await bench.consume(force([bench.used('a', set, [[2, 0]], [[2, 0]])]))
      same(await bench.left('a', set), [7, 1], 'units left of each limit')
      same(await bench.refund(refundOf(request, outcome, 4)), [true], 'a refund of 4 units gave any back')
      same(await bench.left('a', set), [11, 1], 'units left of each limit')
    },
  },
  {
    name: 'slots: they still count when the plan has another number of them',
    async run(bench) {
      const [wide, narrow] = [slotsOf(5), slotsOf(2, bench.limit(9))]
      const by = new Holder(bench, 1)
      for (let i = 0; i < 3; i += 1) await by.begin('a', wide)
      same(await bench.left('a', narrow), [9, 0], 'units left of each limit')
      assert.ok(!(await new Holder(bench, 2).begin('a', narrow)))
      assert.ok(await by.begin('a', wide))
    },
  },
  {
    name: 'slots: of several keys, all give one or none',
    needs: ['atomic'],
    async run(bench) {
      const [two, one] = [slotsOf(2), slotsOf(1)]
      const request = all(new Holder(bench, 1).asking('a', two), new Holder(bench, 1).asking('b', one))
      const [first, second] = (await bench.consume(request, request)) as [Outcome, Outcome]
      same(
        [isTaken(first), isTaken(second)],
        [true, false],
        'allowed: two requests for a slot of two keys, one of which has one slot',
      )
      same([await free(bench, 'a', two), await free(bench, 'b', one)], [1, 0], 'slots left of each key')
    },
  },
]
