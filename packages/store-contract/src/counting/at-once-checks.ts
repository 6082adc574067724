import assert from 'node:assert/strict'
import { createLimitSet } from '@tollgate/core/store'
import type { Check } from '../bench.js'
import { all, force, grantedOf, isTaken, taken, upTo } from '../requests.js'
import { same } from '../same.js'

/** What callers get that ask at the same time. */
export const atOnceChecks: readonly Check[] = [
  {
    name: 'admits exactly the quota of many calls at once',
    async run(bench) {
      const set = createLimitSet(bench.limit(20))
      const calls = Array.from({ length: 25 }, () =>
        bench.consume(all(bench.part('a', 1, set)), all(bench.part('a', 1, set))),
      )
      const admitted = (await Promise.all(calls)).flat().filter(isTaken).length
      bench.admitted(admitted, 20, '25 calls at once, each with two requests for one unit of a quota of 20')
      same(await bench.left('a', set), [20 - admitted], `units left of 20 after ${admitted} were admitted`)
    },
  },
  {
    name: 'takes from all limits or from none, with many calls at once',
    async run(bench) {
      const set = bench.pair(30, 20)
      const costs = Array.from({ length: 30 }, (_, i) => 1 + ((i * 7) % 5))
      const calls = costs.map((cost) => bench.consume(all(bench.part('a', cost, set))))
      const isAdmitted = taken((await Promise.all(calls)).flat())
      const units = costs.reduce((sum, cost, i) => sum + (isAdmitted[i] ? cost : 0), 0)
      assert.ok(units <= 20, `calls at once never get more than the quota: they got ${units} of 20 units`)
      same(
        await bench.left('a', set),
        [30 - units, 20 - units],
        `units left of 30 and 20 after ${units} were taken`,
      )
      const denied = costs.filter((_, i) => !isAdmitted[i])
      if (!bench.falseDenials) {
        const fitting = denied.filter((cost) => cost <= 20 - units)
        same(
          fitting,
          [],
          `costs that were denied beside others, though ${20 - units} units are left for them`,
        )
      }
      if (units < 20) {
        const rest = await bench.consume(all(bench.part('a', 20 - units, set)))
        same(taken(rest), [true], `the ${20 - units} units that are left go to a request that comes alone`)
      }
    },
  },
  {
    name: 'takes from all keys of each request, or from none, with many calls at once',
    needs: ['atomic'],
    async run(bench) {
      const [wide, narrow] = [bench.set(30), bench.set(10)]
      const calls = Array.from({ length: 30 }, (_, i) => {
        const parts = [bench.part('a', 1, wide), bench.part('b', 1, narrow)]
        return bench.consume(all(...(i % 2 === 0 ? parts : parts.toReversed())))
      })
      const admitted = (await Promise.all(calls)).flat().filter(isTaken).length
      bench.admitted(admitted, 10, '30 calls at once, each for a unit of two keys, one with a quota of 10')
      const left = [await bench.left('a', wide), await bench.left('b', narrow)]
      same(
        left,
        [[30 - admitted], [10 - admitted]],
        `units left of 30 and 10 after ${admitted} were admitted`,
      )
    },
  },
  {
    name: 'upTo: many calls at once get exactly the quota together',
    async run(bench) {
      const set = bench.set(50)
      const calls = Array.from({ length: 12 }, () => bench.consume(upTo(bench.part('a', 7, set))))
      const granted = (await Promise.all(calls)).flat().map((outcome) => outcome.limits[0]?.granted ?? 0)
      const units = granted.reduce((sum, own) => sum + own)
      bench.admitted(units, 50, '12 calls at once for upTo 7 of a quota of 50')
      same(await bench.left('a', set), [50 - units], `units left of 50 after ${units} were granted`)
    },
  },
  {
    name: 'force: an id that comes many times at once counts once',
    async run(bench) {
      const set = bench.set(50)
      const charge = force([bench.used('a', set, [[3, 0]])], bench.id('x'))
      const calls = Array.from({ length: 10 }, () => bench.consume(charge))
      const granted = (await Promise.all(calls)).flat().map((outcome) => grantedOf(outcome)[0])
      const all = Array.from({ length: 10 }, () => 3)
      same(granted, all, 'granted to ten calls at once of a charge of 3 with one id')
      same(await bench.left('a', set), [47], 'left of 50 after a charge of 3 that came ten times')
    },
  },
]
