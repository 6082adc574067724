import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createLimitSet,
  type AccountEntry,
  type AccountRequest,
  type AlgorithmName,
  type Booked,
  type LimitSet,
  type Outcome,
  type SubRequest,
} from '@tollgate/core/store'
import type { Bench } from '../bench.js'
import { all, hasAnyWindow } from '../requests.js'

const ASKED_EVERY_MS = 15
/** A clock may begin to run late. */
const MOST_LOOKS = 100

/** A slow machine can let a window or a top-up end too early for a check. */
const MOST_TRIES = 5

/** Tries with one key after another. `attempt` returns false if something ended too early. */
export async function tryKeys(what: string, attempt: (key: string) => Promise<boolean>): Promise<void> {
  for (let i = 0; i < MOST_TRIES; i += 1) if (await attempt(`${what}-${i}`)) return
  assert.fail(`${what}: ended before the check could look, ${MOST_TRIES} times`)
}

/** An entry whose id begins with a name. Names have at most 12 letters, digits or `-`. */
export function entryOf(
  kind: AccountEntry['kind'],
  name: string,
  terms: Partial<AccountEntry> = {},
): AccountEntry {
  const units = kind === 'renewal' ? 0 : 1
  return { kind, id: name.padEnd(12, '_'), says: 'says_1', limit: 0, units, end: { inUs: 0 }, ...terms }
}

export function account(part: SubRequest, entry: AccountEntry): AccountRequest {
  return { shard: 0, parts: [{ ...part, cost: 1 }], grant: 'account', entry }
}

/** Books entries one after another. Returns what became of each. */
export async function book(
  bench: Bench,
  part: SubRequest,
  ...entries: readonly AccountEntry[]
): Promise<(Booked | undefined)[]> {
  const outcomes: Outcome[] = []
  for (const entry of entries) outcomes.push(...(await bench.consume(account(part, entry))))
  return bookedOf(outcomes)
}

export function bookedOf(outcomes: readonly Outcome[]): (Booked | undefined)[] {
  return outcomes.map(({ booked }) => booked)
}

/** What is left of the first limit, and how much of that is left of top-ups. */
export function leftWithTopUps(outcome: Outcome | undefined): (number | undefined)[] {
  const { remaining, toppedUp = 0 } = outcome?.limits[0] ?? {}
  return [remaining, toppedUp]
}

/** The same by a look. */
export async function lookAtTopUps(bench: Bench, part: SubRequest): Promise<(number | undefined)[]> {
  const [look] = await bench.peek(all({ ...part, cost: 1 }))
  return leftWithTopUps(look)
}

/** Waits until so many ms have passed by the store's clock, even if that is wrong. */
export async function passed(bench: Bench, part: SubRequest, sinceUs: number, ms: number): Promise<void> {
  const dueUs = sinceUs + (ms + bench.clockErrorMs) * 1000
  const most = MOST_LOOKS + (ms + 2 * bench.clockErrorMs) / ASKED_EVERY_MS
  for (let i = 0; i < most; i += 1) {
    const [look] = (await bench.peek(all(part))) as [Outcome]
    if (look.at > dueUs) return
    await sleep(ASKED_EVERY_MS)
  }
  assert.fail(`the clock runs: after more than ${ms} ms, \`at\` was not later than ${dueUs}`)
}

/** Two limits of an algorithm, with windows so long that no unit comes back during a check. */
export function twoOf(bench: Bench, algorithm: AlgorithmName, first: number, second: number): LimitSet {
  const other = hasAnyWindow(algorithm)
    ? bench.limit(second, algorithm, '20 h')
    : { quota: second, window: 'week', timeZone: 'UTC' }
  return createLimitSet(bench.limit(first, algorithm), other)
}

/** A limit that can have top-ups, with such a window; undefined if the store has no algorithm for it. */
export function toppable(bench: Bench, quota: number): LimitSet | undefined {
  const algorithm = (['fixed-window', 'calendar-window'] as const).find((name) =>
    bench.algorithms.includes(name),
  )
  return algorithm && bench.set(quota, algorithm)
}
