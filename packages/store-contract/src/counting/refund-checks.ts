import { refundByKey, refundOf, type Outcome, type StoreRequest } from '@tollgate/core/store'
import type { Bench, Check } from '../bench.js'
import { all, remainingOf } from '../requests.js'
import { same } from '../same.js'

async function take(bench: Bench, request: StoreRequest): Promise<Outcome> {
  const [outcome] = await bench.consume(request)
  return outcome as Outcome
}

export const refundChecks: readonly Check[] = [
  {
    name: 'refund: gives units back, never more than were used, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(5, algorithm)
        const request = all(bench.part(algorithm, 3, set))
        const outcome = await take(bench, request)
        const gave = await bench.refund(refundOf(request, outcome, 2))
        same(gave, [true], `${algorithm}: a refund of 2 of 3 used units gave any back`)
        same(
          await bench.left(algorithm, set),
          [4],
          `${algorithm}: left of 5 after 3 were used and 2 came back`,
        )
        await bench.refund(refundOf(request, outcome, 9))
        same(
          await bench.left(algorithm, set),
          [5],
          `${algorithm}: left of 5 after a refund of more than were used`,
        )
        const more = await bench.refund(refundOf(request, outcome, 1))
        same(more, [false], `${algorithm}: a refund gave any back when nothing was used any more`)
      }
    },
  },
  {
    name: 'refund: by a key alone gives back what counts, never more, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(5, algorithm)
        const request = all(bench.part(algorithm, 3, set))
        const gave = async (units: number, name?: string): Promise<boolean[]> => {
          const refund = refundByKey(request, units, name && bench.id(`${algorithm}-${name}`))
          return name === undefined ? bench.refund(refund) : bench.refund(refund, refund)
        }
        same(await gave(1), [false], `${algorithm}: a refund by key gave any back, where nothing is used`)
        await take(bench, request)
        same(await gave(2, 'a'), [true, true], `${algorithm}: a refund of 2 of 3 by key gave any back, twice`)
        same(await bench.left(algorithm, set), [4], `${algorithm}: left of 5, after cost 3 and a refund of 2`)
        same(await gave(9, 'b'), [true, true], `${algorithm}: a refund of more than is used gave any back`)
        same(await bench.left(algorithm, set), [5], `${algorithm}: left of 5, after a refund of all`)
        same(await gave(1), [false], `${algorithm}: a refund by key gave any back, after all was given`)
      }
    },
  },
  {
    name: 'refund: gives each limit its own units',
    async run(bench) {
      const set = bench.pair(9, 6)
      const request = all(bench.part('a', 4, set))
      const outcome = await take(bench, request)
      same(
        await bench.refund(refundOf(request, outcome, [1, 3])),
        [true],
        'a refund of 1 and 3 units gave any back',
      )
      same(await bench.left('a', set), [6, 5], 'left of 9 and 6, after cost 4 and a refund of 1 and 3')
      same(
        await bench.refund(refundOf(request, outcome, [2, 0])),
        [true],
        'a refund of 2 and 0 units gave any back',
      )
      same(await bench.left('a', set), [8, 5], 'left of 9 and 6, after cost 4 and refunds of 3 and 3')
    },
  },
  {
    name: 'refund: does not revive a forgotten key, and answers a batch in its order',
    async run(bench) {
      const [a, b] = [all(bench.part('a', 2)), all(bench.part('b', 2))]
      const [ofA, ofB] = (await bench.consume(a, b)) as [Outcome, Outcome]
      await bench.reset([bench.key('a')])
      const gave = await bench.refund(refundOf(a, ofA, 1), refundOf(b, ofB, 1))
      same(gave, [false, true], 'refunds gave any back: of a, which was reset, and of b')
      same([await bench.left('a'), await bench.left('b')], [[5], [4]], 'left of 5, of a and of b')
    },
  },
  {
    name: 'refund: gives several keys their own units back, even if one of them is forgotten',
    needs: ['atomic'],
    async run(bench) {
      const set = bench.pair(5, 9)
      const request = all(bench.part('a', 3), bench.part('b', 3, set))
      const outcome = await take(bench, request)
      const both = async (): Promise<unknown> => [await bench.left('a'), await bench.left('b', set)]
      same(
        await bench.refund(refundOf(request, outcome, [1, 2, 3])),
        [true],
        'a refund of two keys gave any back',
      )
      same(
        await both(),
        [[3], [4, 9]],
        'left of 5 of a, and of 5 and 9 of b, after cost 3 and a refund of 1, 2, 3',
      )
      await bench.reset([bench.key('a')])
      const gave = await bench.refund(refundOf(request, outcome, [2, 1, 0]))
      same(gave, [true], 'a refund gave any back, to b, when a was reset')
      same(await both(), [[5], [5, 9]], 'left of both keys after a was reset and b got its last unit back')
    },
  },
  {
    name: 'refund: an id counts once, and a repetition gets the answer of the first time',
    async run(bench) {
      const request = all(bench.part('a', 4))
      const outcome = await take(bench, request)
      const once = refundOf(request, outcome, 1, bench.id('x'))
      same(
        await bench.refund(once, once),
        [true, true],
        'a refund, and its repetition in one batch, gave any back',
      )
      const again = await Promise.all([bench.refund(once), bench.refund(once)])
      same(again, [[true], [true]], 'the answers to repetitions of a refund that gave units back')
      same(await bench.left('a'), [2], 'left of 5, after cost 4 and a refund of 1 that came four times')
      const other = await bench.refund(refundOf(request, outcome, 1, bench.id('y')))
      same(other, [true], 'a refund with another id gave any back')
      same(await bench.left('a'), [3], 'left of 5, after cost 4 and refunds of 1 with two ids')
    },
  },
  {
    name: 'reset: forgets the given keys and no others, and says whether anything was there',
    async run(bench) {
      await bench.consume(...['a', 'b', 'c'].map((name) => all(bench.part(name, 2))))
      const [a, c] = [bench.key('a'), bench.key('c')]
      const told = [await bench.reset([a, c, bench.key('never seen')]), await bench.reset([a, c])]
      same(told, [true, false], 'reset says whether anything was there: at first, and the second time')
      const outcomes = await bench.consume(...['a', 'b', 'c'].map((name) => all(bench.part(name))))
      same(outcomes.map(remainingOf), [[4], [2], [4]], 'left of 5, of a, b and c, after a and c were reset')
    },
  },
]
