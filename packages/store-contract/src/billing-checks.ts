import { billedSet, createLimitSet, type Outcome, type SubRequest } from '@tollgate/core/store'
import type { Bench, Check } from './bench.js'
import { all, isTaken, remainingOf } from './requests.js'
import { same } from './same.js'

const DAY_MS = 86_400_000
const SET = createLimitSet('31/month')

/** One key without a billing day, and with months that begin so many days from now. */
async function partsOf(bench: Bench, ...days: readonly number[]): Promise<SubRequest[]> {
  const plain = bench.part('a', 1, SET)
  const [{ at }] = (await bench.peek(all(plain))) as [Outcome]
  const billed = days.map((day) => billedSet(SET, { anchor: new Date(at / 1000 + day * DAY_MS) }))
  return [plain, ...billed.map((set) => ({ ...plain, set }))]
}

/** Asks for units. Returns whether they were allowed, what is left, and the quota of a short window. */
async function take(bench: Bench, part: SubRequest | undefined, cost: number): Promise<unknown[]> {
  const [outcome] = (await bench.consume(all({ ...(part as SubRequest), cost }))) as [Outcome]
  return [isTaken(outcome), ...remainingOf(outcome), outcome.limits[0]?.shortQuota]
}

/** Billing days of subjects. */
export const billingChecks: readonly Check[] = [
  {
    name: 'billing days: a moved day takes effect at the old end, and a short window with its share follows',
    async run(bench) {
      const [, before, moved] = await partsOf(bench, 5, 15)
      same(await take(bench, before, 31), [true, 0, undefined], '31 units before the day was moved')
      same(await take(bench, moved, 1), [false, 0, undefined], 'one more, right after that')
      bench.pass(6 * DAY_MS)
      const [, , short = 0] = (await take(bench, moved, 1)) as number[]
      // Ten days of a month.
      same(short >= 10 && short <= 12, true, `a \`shortQuota\` (${short}) from 10 to 12`)
      same(await take(bench, moved, short - 1), [true, 0, short], 'the rest of the short window')
      same(await take(bench, moved, 1), [false, 0, short], 'one unit more than that')
      bench.pass(10 * DAY_MS)
      same(await take(bench, moved, 1), [true, 30, undefined], 'one unit in the whole window after it')
    },
  },
  {
    name: 'billing days: units still count when a subject gets its first day, and when it has none any more',
    async run(bench) {
      const [plain, billed] = await partsOf(bench, 15)
      same(await take(bench, plain, 5), [true, 26, undefined], '5 units without a day')
      same(await take(bench, billed, 3), [true, 23, undefined], '3 units with a day')
      same(await take(bench, plain, 2), [true, 21, undefined], '2 units without a day again')
    },
  },
]
