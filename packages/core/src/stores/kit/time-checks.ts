import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { limitSetOf, type LimitInput } from '../../plans/limit-set-of.js'
import type { LimitOutcome, Outcome } from '../contract.js'
import { all, isTaken, type Bench, type Check } from './bench.js'

const WINDOW_MS = 300
const ASKED_EVERY_MS = 15
/** A process's clock and that of a test of it are the same, but for how long a call takes. */
const CLOCKS_PART_US = 60_000_000

/** Asks again and again until it is admitted: before the time that the first denial told, never; after it, always. */
async function comesBackAsTold(bench: Bench, key: string, limit: LimitInput): Promise<void> {
  const request = all(bench.part(key, 1, limitSetOf(limit)))
  const [, , denied] = (await bench.consume(request, request, request)) as [Outcome, Outcome, Outcome]
  const { wait } = denied.limits[0] as LimitOutcome
  assert.ok(
    wait > 0 && wait <= 2 * WINDOW_MS * 1000,
    `${key}: a denial waits for at most its windows: ${wait} µs`,
  )
  const due = denied.at + wait
  for (;;) {
    await sleep(ASKED_EVERY_MS)
    const [outcome] = (await bench.consume(request)) as [Outcome]
    assert.equal(isTaken(outcome), outcome.at >= due, `${key}: ${outcome.at - due} µs after it was due`)
    if (isTaken(outcome)) return
  }
}

export const timeChecks: readonly Check[] = [
  {
    name: 'time: who waits as long as told is admitted, and who comes earlier is not, by every algorithm',
    async run(bench) {
      const names = bench.algorithms.filter((name) => name !== 'calendar-window')
      await Promise.all(
        names.map((algorithm) =>
          comesBackAsTold(bench, algorithm, { quota: 2, window: WINDOW_MS, algorithm }),
        ),
      )
    },
  },
  {
    name: 'time: the clock counts µs and runs',
    async run(bench) {
      const request = all(bench.part('a'))
      const [before] = (await bench.peek(request)) as [Outcome]
      const began = performance.now()
      await sleep(50)
      const [after] = (await bench.peek(request)) as [Outcome]
      const passedUs = (performance.now() - began) * 1000
      assert.ok(Number.isInteger(before.at), 'times are whole µs')
      assert.ok(after.at - before.at >= 25_000, `${after.at - before.at} µs passed in 50 ms`)
      assert.ok(
        after.at - before.at <= passedUs + 1_000_000,
        `${after.at - before.at} µs passed in ${passedUs}`,
      )
      if (bench.store.clock === 'server') return
      assert.ok(Math.abs(after.at - Date.now() * 1000) < CLOCKS_PART_US, 'the clock is that of the process')
    },
  },
]
