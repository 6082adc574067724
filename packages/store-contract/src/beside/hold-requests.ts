import type { Hold, LimitSet, Outcome, StoreRequest, SubRequest } from '@tollgate/core/store'
import type { Bench } from '../bench.js'
import { all } from '../requests.js'

/** Longer than any window of the checks. */
const LENGTH_US = 100 * 24 * 3_600_000_000
const SLACK_US = 50_000

/** The id of the nth hold of a check. */
export function holdId(n: number): string {
  return `hold-${String(n).padStart(7, '0')}`
}

/** A request to reserve the cost of its parts. */
export function reservation(
  n: number,
  parts: readonly SubRequest[],
  lengthUs = 60_000_000,
): StoreRequest & { readonly hold: Hold } {
  const hold = { kind: 'reservation', id: holdId(n), lengthUs, slackUs: 0, most: 100 } as const
  return { ...all(...parts), hold }
}

/** A request that waits in line for the cost of its parts. */
export function place(
  n: number,
  parts: readonly SubRequest[],
  change: Partial<Hold> = {},
): StoreRequest & { readonly hold: Hold } {
  const hold = { kind: 'place', id: holdId(n), lengthUs: LENGTH_US, slackUs: SLACK_US, most: 100 } as const
  return { ...all(...parts), hold: { ...hold, ...change } }
}

/** The same limits, of a plan whose requests wait in line. */
export function waiting(set: LimitSet): LimitSet {
  return { ...set, wait: { delayUs: LENGTH_US, slackUs: SLACK_US, most: 100 } }
}

/** When the time of a place comes; undefined if there is none. */
export function timeOf({ at, hold }: Outcome): number | undefined {
  return hold && at + hold.delayUs
}

/** Sends one request. */
export async function ask(bench: Bench, request: StoreRequest): Promise<Outcome> {
  const [outcome] = await bench.consume(request)
  return outcome as Outcome
}

/** When 1, 2, ... units of the only limit fit if no other request consumes. */
export async function timesOf(bench: Bench, key: string, set: LimitSet, most: number): Promise<number[]> {
  const requests = Array.from({ length: most }, (_, i) => all(bench.part(key, i + 1, set)))
  const outcomes = await bench.peek(...requests)
  return outcomes.map(({ at, limits }) => at + (limits[0]?.wait ?? 0))
}
