import assert from 'node:assert/strict'
import { createLimitSet, type LimitUsage, type Outcome, type SubRequest } from '@tollgate/core/store'
import type { Bench, Check } from '../bench.js'
import { all } from '../requests.js'
import { same } from '../same.js'
import { account, entryOf, passed, tryKeys } from './account-entries.js'

const WINDOW_MS = 800

async function usageOf(bench: Bench, part: SubRequest): Promise<readonly [Outcome, LimitUsage]> {
  const [outcome] = (await bench.consume(account(part, entryOf('usage', '', { units: 0 })))) as [Outcome]
  assert.ok(outcome.usage, 'the answer has `usage`')
  same(outcome.booked, 'repeated', '`booked`, for `usage`')
  return [outcome, outcome.usage]
}

/** Units and units over the quota of both windows. */
function unitsOf({ running, closed }: LimitUsage): readonly (readonly number[])[] {
  return [running, closed].map((window) => (window ? [window.units, window.over] : []))
}

/** Uses a limit in one window, asks what it has counted there, and asks again in the next window. Returns false if it ended too early. */
async function asksTwice(bench: Bench, key: string): Promise<boolean> {
  const limit = { quota: 2, window: `${WINDOW_MS}ms`, algorithm: 'fixed-window' } as const
  const part = bench.part(key, 5, createLimitSet({ ...limit, overage: true }))
  const [{ at, limits }] = (await bench.consume(all(part))) as [Outcome]
  const endUs = at + (limits[0]?.reset ?? 0)
  const [first, running] = await usageOf(bench, part)
  if (first.at >= endUs) return false
  same(unitsOf(running), [[5, 3], []], 'units of the window of now, and before')
  same(running.running?.endUs, endUs, 'the end of the window (`endUs`)')
  await passed(bench, part, at, WINDOW_MS)
  const [second, closed] = await usageOf(bench, part)
  if (second.at >= endUs + WINDOW_MS * 1000) return false
  same(unitsOf(closed), [[], [5, 3]], 'the same once the window is over')
  // The subject has changed its plan, and asks for the window on the plan before.
  const [next] = (await bench.consume(all({ ...part, cost: 1, set: createLimitSet(limit) }))) as [Outcome]
  // A window that is over is kept for one more.
  if (next.at >= endUs + WINDOW_MS * 1000) return false
  const [third, later] = await usageOf(bench, part)
  if (third.at >= next.at + WINDOW_MS * 1000) return false
  same(
    unitsOf(later),
    [
      [1, 0],
      [5, 3],
    ],
    'the same in the next window, on a plan without overage',
  )
  return true
}

/** What limits with overage have counted. Only for stores with accounts and overage. */
export const usageChecks: readonly Check[] = [
  {
    name: 'accounts: the usage of a limit with overage is told, of the window of now and of the one before',
    async run(bench) {
      if (bench.algorithms.includes('fixed-window')) await tryKeys('usage', (key) => asksTwice(bench, key))
    },
  },
]
