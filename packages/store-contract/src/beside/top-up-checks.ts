import {
  createLimitSet,
  refundOf,
  type LimitSet,
  type Outcome,
  type StoreRequest,
} from '@tollgate/core/store'
import type { Bench, Check } from '../bench.js'
import { all, grantedOf, taken, upTo } from '../requests.js'
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
  tryKeys,
} from './account-entries.js'

const WINDOW_MS = 400
const HOUR_US = 3_600_000_000
/** Longer than any window of these checks. */
const LONG_US = 100 * 24 * HOUR_US

/** Requests of one batch, and whether a window ended between them. */
async function inOneWindow(
  bench: Bench,
  requests: readonly StoreRequest[],
): Promise<readonly [Outcome[], isWhole: boolean]> {
  const outcomes = await bench.consume(...requests)
  const [first, last] = [outcomes[0], outcomes.at(-1)] as [Outcome, Outcome]
  return [outcomes, last.at < first.at + (first.limits[0]?.reset ?? 0)]
}

/** Uses a part of a top-up in one window, and what is left in the next one. */
async function goesOn(bench: Bench, key: string): Promise<boolean> {
  const set = createLimitSet({ quota: 2, window: `${WINDOW_MS}ms`, algorithm: 'fixed-window' })
  const part = bench.part(key, 1, set)
  const topUp = entryOf('topUp', 't', { units: 3, end: { inUs: HOUR_US } })
  same(await book(bench, part, topUp), ['booked'], 'a top-up of 3 units')
  const requests = [1, 2, 3, 4].map(() => all(part))
  const [before, isOne] = await inOneWindow(bench, requests)
  if (!isOne) return false
  same(taken(before), [true, true, true, true], 'allowed: 4 requests, with a quota of 2 and 3 units more')
  await passed(bench, part, (before.at(-1) as Outcome).at, WINDOW_MS)
  same(await book(bench, part, topUp), ['repeated'], 'the same top-up after the window has ended')
  const [after, isNext] = await inOneWindow(bench, requests)
  if (!isNext) return false
  same(taken(after), [true, true, true, false], 'allowed in the next window: 2 and the 1 that was left')
  return true
}

/** Two top-ups: the one that was booked last ends first. */
async function endsFirst(bench: Bench, key: string, set: LimitSet): Promise<boolean> {
  const part = bench.part(key, 3, set)
  const [{ at }] = (await bench.peek(all(part))) as [Outcome]
  const lastsMs = WINDOW_MS + 2 * bench.clockErrorMs
  const endUs = at + lastsMs * 1000
  const long = entryOf('topUp', 'long', { units: 2, end: { inUs: HOUR_US } })
  const short = entryOf('topUp', 'short', { units: 3, end: { at: endUs } })
  const outcomes = await bench.consume(account(part, long), account(part, short), all(part))
  const [denied] = (await bench.peek(all({ ...part, cost: 4 }))) as [Outcome]
  if (denied.at >= endUs) return false
  same(bookedOf(outcomes.slice(0, 2)), ['booked', 'booked'], 'two top-ups')
  const left = leftWithTopUps(outcomes[2])
  same(left, [3, 3], 'left and toppedUp after a cost of 3 of a quota of 1 and top-ups of 2 and 3')
  same(denied.limits[0]?.wait, -1, 'the wait of a cost of 4: no top-up lasts until the next window')
  await passed(bench, part, at, lastsMs)
  const after = await lookAtTopUps(bench, part)
  same(after, [2, 2], 'left and toppedUp once the top-up of 3 has ended, of which 2 were used')
  const two = all({ ...part, cost: 2 })
  same(taken(await bench.consume(two, two)), [true, false], 'allowed after that: two requests for 2 units')
  return true
}

async function isLate(bench: Bench, set: LimitSet): Promise<void> {
  const part = bench.part('late', 1, set)
  const [{ at }] = (await bench.peek(all(part))) as [Outcome]
  const late = entryOf('topUp', 't', { units: 3, end: { at: at - HOUR_US } })
  same(await book(bench, part, late), ['late'], 'a top-up that ended an hour ago')
  same(await lookAtTopUps(bench, part), [1, 0], 'left and toppedUp after that, of a quota of 1')
  const inTime = { ...late, says: 'says_2', end: { inUs: HOUR_US } }
  same(await book(bench, part, inTime), ['booked'], 'the same id with another end')
}

/** Units of one request come back in two parts. */
async function isFilledFirst(bench: Bench, set: LimitSet): Promise<void> {
  const part = bench.part('b', 5, set)
  await book(bench, part, entryOf('topUp', 't', { units: 4, end: { inUs: LONG_US } }))
  const [outcome] = (await bench.consume(all(part))) as [Outcome]
  same(leftWithTopUps(outcome), [2, 2], 'left and toppedUp after a cost of 5 of a quota of 3 and 4 more')
  for (const [units, left] of [
    [1, [3, 3]],
    [2, [5, 4]],
  ] as const) {
    await bench.refund(refundOf(all(part), outcome, units))
    same(await lookAtTopUps(bench, part), left, `left and toppedUp after a refund of ${units} of these`)
  }
}

/** What is booked on limits whose windows begin and end. */
export const topUpChecks: readonly Check[] = [
  {
    name: 'accounts: a top-up is used after the quota, and filled first by units that come back',
    async run(bench) {
      const set = toppable(bench, 3)
      if (!set) return
      const part = bench.part('a', 2, set)
      const topUp = account(part, entryOf('topUp', 't', { units: 4, end: { inUs: LONG_US } }))
      const booked = await bench.consume(topUp, topUp)
      same(
        [bookedOf(booked), booked.map(leftWithTopUps)],
        [
          ['booked', 'repeated'],
          [
            [7, 4],
            [7, 4],
          ],
        ],
        'a top-up of 4 beside a quota of 3, twice in a batch: booked, left and toppedUp',
      )
      const [one, two] = await bench.consume(all(part), all(part))
      same(
        [one, two].map(leftWithTopUps),
        [
          [5, 4],
          [3, 3],
        ],
        'left and toppedUp after costs of 2 and 2',
      )
      const [more, never] = await bench.peek(all({ ...part, cost: 6 }), all({ ...part, cost: 7 }))
      const waits = [more, never].map((outcome) => Math.sign(outcome?.limits[0]?.wait ?? 0))
      same(waits, [1, -1], 'the signs of the waits for 6 and 7 units, of which the next window has 6')
      const [last] = (await bench.consume(upTo({ ...part, cost: 9 }))) as [Outcome]
      same([grantedOf(last), leftWithTopUps(last)], [[3], [0, 0]], 'granted, and left, up to 9 units')
      same(taken(await bench.consume(all({ ...part, cost: 1 }))), [false], 'allowed: a request after that')
      await isFilledFirst(bench, set)
    },
  },
  {
    name: 'accounts: what is left of a top-up goes on in the next window, and what was used does not come again',
    async run(bench) {
      if (bench.algorithms.includes('fixed-window')) await tryKeys('window', (key) => goesOn(bench, key))
    },
  },
  {
    name: 'accounts: the top-up that ends first is used first, none lasts longer, and one that has ended is late',
    async run(bench) {
      const set = toppable(bench, 1)
      if (!set) return
      await tryKeys('end', (key) => endsFirst(bench, key, set))
      await isLate(bench, set)
    },
  },
]
