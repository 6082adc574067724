import {
  createLimitSet,
  type DenialTally,
  type LimitOutcome,
  type LimitSet,
  type Outcome,
  type StoreRequest,
  type SubRequest,
} from '@tollgate/core/store'
import type { Bench, Check } from './bench.js'
import { all, hasAnyWindow, isTaken, remainingOf, upTo } from './requests.js'
import { same } from './same.js'

const HOUR_US = 3_600_000_000
const DENIALS = 3

/** Limits whose denials block for as long as a check takes, and far longer. */
function blocking(bench: Bench, quota = 2, denials = DENIALS): LimitSet {
  const blockAfter = { denials, withinUs: HOUR_US, forUs: [HOUR_US, 2 * HOUR_US] }
  return { ...bench.set(quota), blockAfter }
}

/** What each answer says of a block. */
function blocksIn(outcomes: readonly Outcome[]): unknown[] {
  return outcomes.map(({ limits }) => {
    const { block } = limits[0] ?? {}
    return block ? `${block.isNew ? 'new' : 'known'} ${block.level}` : 'none'
  })
}

async function ask(bench: Bench, part: SubRequest, times: number): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for (let i = 0; i < times; i += 1) outcomes.push(...(await bench.consume(all(part))))
  return outcomes
}

/** Uses up the quota and is denied until the key is blocked. */
async function block(bench: Bench, part: SubRequest): Promise<void> {
  same(blocksIn(await ask(bench, part, 5)).at(-1), 'new 1', 'the third denial begins a block')
}

function unblock(part: SubRequest): StoreRequest {
  return { shard: 0, grant: 'unblock', parts: [{ ...part, cost: 1 }] }
}

const tallyOf = (number: number, total: number, ageUs = 1000): DenialTally => {
  return { by: 'proc-A', number, total, ageUs }
}

/** Denials that block keys, without what time does to them. */
export const blockChecks: readonly Check[] = [
  {
    name: 'blocks: so many denials begin a block, and one answer says so',
    async run(bench) {
      const outcomes = await ask(bench, bench.part('a', 1, blocking(bench)), 7)
      same(
        outcomes.map(isTaken),
        [true, true, false, false, false, false, false],
        'allowed: of 7 requests, with 2 units',
      )
      same(blocksIn(outcomes), ['none', 'none', 'none', 'none', 'new 1', 'known 1', 'known 1'], 'the blocks')
      for (const { limits } of outcomes.slice(4)) {
        const { wait, remaining, reset, block: own } = limits[0] as LimitOutcome
        const endsInUs = own?.endsInUs ?? 0
        same([remaining, wait >= endsInUs, reset >= endsInUs], [0, true, true], 'nothing is left in a block')
        same(endsInUs > HOUR_US / 2 && endsInUs <= HOUR_US, true, 'it lasts as long as the first of forUs')
      }
    },
  },
  {
    name: 'blocks: denials of one batch count one by one',
    async run(bench) {
      const request = all(bench.part('a', 1, blocking(bench)))
      const outcomes = await bench.consume(...Array.from({ length: 7 }, () => request))
      same(blocksIn(outcomes), ['none', 'none', 'none', 'none', 'new 1', 'known 1', 'known 1'], 'the blocks')
    },
  },
  {
    name: 'blocks: a look counts nothing, and shows a block',
    async run(bench) {
      const request = all(bench.part('a', 1, blocking(bench)))
      await bench.consume(request, request, request)
      for (let i = 0; i < 2 * DENIALS; i += 1) same(blocksIn(await bench.peek(request)), ['none'], 'a look')
      await bench.consume(request)
      same(blocksIn(await bench.consume(request)), ['new 1'], 'the third denial')
      same(blocksIn(await bench.peek(request)), ['known 1'], 'a look')
    },
  },
  {
    name: 'blocks: denials of a key that has nothing do not count',
    async run(bench) {
      const set = blocking(bench)
      same(
        blocksIn(await ask(bench, bench.part('a', 9, set), 2 * DENIALS)),
        Array(2 * DENIALS).fill('none'),
        'the blocks',
      )
      same(
        (await ask(bench, bench.part('a', 1, set), 2)).map(isTaken),
        [true, true],
        'allowed: two requests, with 2 units',
      )
    },
  },
  {
    name: 'blocks: they hold for every cost, and not for other sets of the key',
    async run(bench) {
      const [set, other] = [blocking(bench), bench.set(9)]
      await block(bench, bench.part('a', 1, set))
      same(blocksIn(await ask(bench, bench.part('a', 2, set), 1)), ['known 1'], 'another cost')
      const [outcome] = await bench.consume(all(bench.part('a', 1, other)))
      same(
        [isTaken(outcome as Outcome), blocksIn([outcome as Outcome])],
        [true, ['none']],
        'a set without blockAfter',
      )
      same(blocksIn(await ask(bench, bench.part('a', 1, set), 1)), ['known 1'], 'the first set again')
    },
  },
  {
    name: 'blocks: only requests for the whole cost are denied by one',
    async run(bench) {
      const part = bench.part('a', 1, blocking(bench, 5, 1))
      await ask(bench, part, 2)
      await ask(bench, { ...part, cost: 4 }, 1)
      same(blocksIn(await ask(bench, part, 1)), ['known 1'], 'a request')
      const [outcome] = await bench.consume(upTo({ ...part, cost: 2 }))
      same(
        [outcome?.limits[0]?.granted, remainingOf(outcome as Outcome)],
        [2, [1]],
        'granted up to 2, of 3 that are left',
      )
    },
  },
  {
    name: 'blocks: with several keys, each counts the denials by its own limits',
    needs: ['atomic'],
    async run(bench) {
      const [full, free] = [bench.part('a', 1, blocking(bench)), bench.part('b', 1, blocking(bench, 9))]
      await bench.consume(all(free))
      await ask(bench, full, 2)
      for (let i = 0; i < DENIALS; i += 1) await bench.consume(all(full, free))
      same(blocksIn(await bench.peek(all(full))), ['known 1'], 'the key whose limit had no room')
      same(remainingOf((await bench.peek(all(free)))[0] as Outcome), [8], 'the other key')
    },
  },
  {
    name: 'blocks: a tally counts once, however often it is reported',
    async run(bench) {
      const part = bench.part('a', 1, blocking(bench, 2, 9))
      await ask(bench, part, 2)
      const told = async (tally: DenialTally): Promise<unknown> =>
        blocksIn(await ask(bench, { ...part, tally }, 1))[0]
      // Each of these requests is denied, too: 3, 4, 6, 7 and 8 denials so far.
      for (const tally of [tallyOf(2, 2), tallyOf(2, 2), tallyOf(2, 3), tallyOf(1, 5), tallyOf(2, 1)]) {
        same(await told(tally), 'none', `the answer to a tally of ${tally.total}, number ${tally.number}`)
      }
      same(await told(tallyOf(3, 1, 2 * HOUR_US)), 'new 1', 'the answer to the ninth denial')
    },
  },
  {
    name: 'blocks: a tally alone can begin one, and then denies the request that told it',
    async run(bench) {
      const part = bench.part('a', 1, blocking(bench, 9))
      await ask(bench, part, 1)
      const [outcome] = await bench.consume(all({ ...part, tally: tallyOf(1, DENIALS) }))
      same(
        [isTaken(outcome as Outcome), blocksIn([outcome as Outcome])],
        [false, ['new 1']],
        'a request that would fit',
      )
    },
  },
  {
    name: 'blocks: unblock ends one and forgets all denials, but no units',
    async run(bench) {
      const part = bench.part('a', 1, blocking(bench))
      await block(bench, part)
      const [first, second] = await bench.consume(unblock(part), unblock(part))
      same([first?.wasBlocked, second?.wasBlocked], [true, false], 'wasBlocked, of two')
      const outcomes = await ask(bench, part, DENIALS)
      same(blocksIn(outcomes), ['none', 'none', 'new 1'], 'the blocks of the denials after that')
      await bench.consume(unblock({ ...part, set: bench.set(2) }))
      const [third] = await ask(bench, { ...part, set: blocking(bench, 3) }, 1)
      same(isTaken(third as Outcome), true, 'a third unit, after another set unblocked the key')
    },
  },
]

/** When blocks end. Only for stores whose clock the test can set. */
export const blockTimeChecks: readonly Check[] = [
  {
    name: 'blocks: each is longer than the one before, until there was none for long',
    async run(bench) {
      const algorithm = bench.algorithms.find(hasAnyWindow)
      if (!algorithm) return
      const limit = createLimitSet(bench.limit(2, algorithm, '1 min'))
      const lengths = [2 * 60_000, 10 * 60_000]
      const blockAfter = { denials: 1, withinUs: 60_000_000, forUs: lengths.map((ms) => ms * 1000) }
      const part = bench.part('a', 1, { ...limit, blockAfter })
      const next = async (): Promise<unknown> => {
        const outcomes = await ask(bench, part, 3)
        return [isTaken(outcomes[0] as Outcome), blocksIn(outcomes).at(-1)]
      }
      for (const [i, passMs] of [lengths[0], lengths[1], 2 * (lengths[1] as number), 0].entries()) {
        same(await next(), [true, `new ${[1, 2, 3, 1][i]}`], `block ${i + 1}`)
        if (i === 2) bench.pass(lengths[1] as number)
        bench.pass(passMs as number)
      }
    },
  },
]
