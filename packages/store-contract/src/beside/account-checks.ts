import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLimitSet, refundOf, type AlgorithmName, type Outcome } from '@tollgate/core/store'
import type { Bench, Check } from '../bench.js'
import { all, hasAnyWindow, remainingOf, taken } from '../requests.js'
import { same } from '../same.js'
import {
  account,
  book,
  bookedOf,
  entryOf,
  leftWithTopUps,
  lookAtTopUps,
  passed,
  toppable,
  twoOf,
} from './account-entries.js'

const WINDOW_MS = 300
/** How long after a request something is booked, so that what was written with another time is found out. */
const WRITTEN_LATER_MS = 40
const DAY_MS = 86_400_000
const MOST_ENTRIES = 64

/** An id that is repeated once no algorithm counts its units any more. */
async function outlivesWindow(bench: Bench, algorithm: AlgorithmName): Promise<void> {
  const set = createLimitSet(bench.limit(5, algorithm, `${WINDOW_MS}ms`))
  const part = bench.part(algorithm, 1, set)
  const penalty = entryOf('penalty', 'p', { units: 2 })
  const [first] = (await bench.consume(account(part, penalty))) as [Outcome]
  same(first.booked, 'booked', `${algorithm}: a penalty`)
  await passed(bench, part, first.at, 2 * WINDOW_MS)
  same(await book(bench, part, penalty), ['repeated'], `${algorithm}: the same after its window has ended`)
  same(await bench.left(algorithm, set), [5], `${algorithm}: units left after that, of a quota of 5`)
}

/** Checks that a unit of the first limit comes back at the same time in all these outcomes. */
function agesNoOther(bench: Bench, algorithm: AlgorithmName, outcomes: readonly Outcome[]): void {
  const [first = 0, ...others] = outcomes.map(({ at, limits }) => at + (limits[0]?.reset ?? 0))
  for (const time of others) {
    assert.ok(
      Math.abs(time - first) < (WRITTEN_LATER_MS / 2 + bench.clockErrorMs) * 1000,
      `${algorithm}: a penalty does not age other limits; a unit of one came back ${time - first} µs later`,
    )
  }
}

async function countsOverQuota(bench: Bench, algorithm: AlgorithmName): Promise<void> {
  const set = twoOf(bench, algorithm, 5, 9)
  const request = all(bench.part(algorithm, 3, set))
  const [outcome] = (await bench.consume(request)) as [Outcome]
  await sleep(WRITTEN_LATER_MS + 2 * bench.clockErrorMs)
  const penalty = entryOf('penalty', 'p', { limit: 1, units: 7 })
  const [penalized] = (await bench.consume(account(bench.part(algorithm, 1, set), penalty))) as [Outcome]
  const waits = penalized.limits.map(({ wait }) => wait)
  same(
    [penalized.booked, remainingOf(penalized), waits],
    ['booked', [2, 0], [0, 0]],
    `${algorithm}: a penalty of 7 on the second limit, after a cost of 3: booked, remaining, wait`,
  )
  const one = all(bench.part(algorithm, 1, set))
  agesNoOther(bench, algorithm, [outcome, penalized, ...(await bench.peek(one))])
  same(taken(await bench.consume(one)), [false], `${algorithm}: allowed after that: a request for 1 unit`)
  same(await bench.refund(refundOf(request, outcome, 2)), [true], `${algorithm}: the refund gave units back`)
  same(
    await bench.left(algorithm, set),
    [4, 1],
    `${algorithm}: units left after a refund of 2: 1 and 8 are used`,
  )
}

async function beginsAfresh(bench: Bench, algorithm: AlgorithmName): Promise<void> {
  const set = twoOf(bench, algorithm, 5, 9)
  const [before, after] = [3, 2].map((cost) => all(bench.part(algorithm, cost, set)))
  if (!before || !after) return
  const [first] = (await bench.consume(before)) as [Outcome]
  // Units taken in the µs of a renewal count as taken after it.
  await sleep(WRITTEN_LATER_MS + 2 * bench.clockErrorMs)
  const [renewed] = (await bench.consume(
    account(bench.part(algorithm, 1, set), entryOf('renewal', 'r')),
  )) as [Outcome]
  same(
    [renewed.booked, remainingOf(renewed)],
    ['booked', [5, 6]],
    `${algorithm}: a renewal of the first limit, after a cost of 3: booked, remaining`,
  )
  const [second] = (await bench.consume(after)) as [Outcome]
  await bench.refund(refundOf(before, first, 2))
  const left = await bench.left(algorithm, set)
  same(left, [3, 6], `${algorithm}: units left after a cost of 2 more and a refund of 2 of the first 3`)
  await bench.refund(refundOf(after, second, 1))
  same(
    await bench.left(algorithm, set),
    [4, 7],
    `${algorithm}: units left after a refund of 1 unit taken since`,
  )
}

/** What is booked on limits of every algorithm. */
export const accountChecks: readonly Check[] = [
  {
    name: 'accounts: an id counts once for its key, even after the window, and never with another `says`',
    async run(bench) {
      const [part, set] = [bench.part('a', 1, bench.set(9)), bench.set(9)]
      const penalty = entryOf('penalty', 'p', { units: 2 })
      const batch = await bench.consume(account(part, penalty), account(part, penalty))
      same(
        [bookedOf(batch), batch.map(remainingOf)],
        [
          ['booked', 'repeated'],
          [[7], [7]],
        ],
        'a penalty of 2 of 9 units, twice in a batch: booked, remaining',
      )
      const other = { ...penalty, says: 'says_2', units: 5 }
      same(await book(bench, part, penalty, other), ['repeated', 'other'], 'the same, and one that says 5')
      same(await bench.left('a', set), [7], 'units left after that')
      const elsewhere = bench.part('a', 1, bench.pair(30, 20))
      same(await book(bench, elsewhere, penalty), ['repeated'], 'the same for other limits of the key')
      same(await book(bench, bench.part('b', 1, set), penalty), ['booked'], 'the same for another key')
      const names = bench.algorithms.filter(hasAnyWindow)
      await Promise.all(names.map((name) => outlivesWindow(bench, name)))
    },
  },
  {
    name: 'accounts: a penalty counts over the quota of its limit, and ages no other, for every algorithm',
    async run(bench) {
      await Promise.all(bench.algorithms.map((name) => countsOverQuota(bench, name)))
    },
  },
  {
    name: 'accounts: a renewal begins one limit afresh, and units taken before do not come back, for every algorithm',
    async run(bench) {
      await Promise.all(bench.algorithms.map((name) => beginsAfresh(bench, name)))
    },
  },
  {
    name: 'accounts: a key has at most 64 entries, and still knows each of them',
    async run(bench) {
      const set = bench.set(100)
      const part = bench.part('a', 1, set)
      const entries = Array.from({ length: MOST_ENTRIES }, (_, i) => entryOf('penalty', `p-${i}`))
      same(
        bookedOf(await bench.consume(...entries.map((entry) => account(part, entry)))),
        entries.map(() => 'booked'),
        'a batch of 64 penalties',
      )
      const more = [entryOf('penalty', 'p-64'), entryOf('renewal', 'r')]
      same(await book(bench, part, ...more), ['full', 'full'], 'a 65th entry')
      const [first = entryOf('penalty', 'p-0')] = entries
      same(
        await book(bench, part, first, { ...first, says: 'says_2' }),
        ['repeated', 'other'],
        'the first again, and with another `says`',
      )
      same(await bench.left('a', set), [36], 'units left of 100')
    },
  },
]

/** How long accounts last. Only for stores whose clock the test can set. */
export const accountTimeChecks: readonly Check[] = [
  {
    name: 'accounts: an id is known for seven days, and with a top-up until that ends',
    async run(bench) {
      const part = bench.part('a')
      const penalty = entryOf('penalty', 'p')
      same(await book(bench, part, penalty), ['booked'], 'a penalty')
      const set = toppable(bench, 1)
      const topped = bench.part('b', 2, set)
      const topUp = entryOf('topUp', 't', { units: 4, end: { inUs: 20 * DAY_MS * 1000 } })
      if (set) {
        same(await book(bench, topped, topUp), ['booked'], 'a top-up for 20 days')
        same(taken(await bench.consume(all(topped))), [true], 'allowed: 2 units of a quota of 1 and 4 more')
      }
      bench.pass(7 * DAY_MS - 60_000)
      same(await book(bench, part, penalty), ['repeated'], 'the penalty again, almost 7 days later')
      if (!set) return
      bench.pass(13 * DAY_MS)
      const [again] = await bench.consume(account(topped, topUp))
      same(
        [again?.booked, leftWithTopUps(again)[1]],
        ['repeated', 3],
        'the top-up again, almost 20 days later: booked, toppedUp',
      )
      bench.pass(120_000)
      const [, left] = await lookAtTopUps(bench, topped)
      same(left, 0, 'toppedUp after 20 days')
    },
  },
]
