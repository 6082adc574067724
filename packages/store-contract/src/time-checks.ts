import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  limitSetOf,
  refundOf,
  type LimitInput,
  type LimitOutcome,
  type LimitSet,
  type Outcome,
} from '@tollgate/core/store'
import { all, force, hasAnyWindow, isTaken, type Bench, type Check } from './bench.js'

const WINDOW_MS = 300
const ASKED_EVERY_MS = 15
/** A store with the clock of this process may differ from it by at most this: the duration of a call. */
const MOST_APART_US = 60_000_000

/** Repeats a request until it is admitted: never before the time that the first denial told, always from then on. */
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

/** Longer than any window of the checks. */
const LONG_US = 100 * 24 * 3_600_000_000

/**
 * Checks that requests which take and give nothing do not age the state. They would if a store wrote the state without
 * its time.
 */
async function agesNothing(bench: Bench, key: string, set: LimitSet): Promise<void> {
  const request = all(bench.part(key, 2, set))
  const [first] = (await bench.consume(request)) as [Outcome]
  for (let i = 0; i < 3; i += 1) {
    await sleep(40)
    const refund = refundOf(request, { ...first, at: first.at - LONG_US }, 1)
    assert.deepEqual(await bench.refund(refund), [false], `${key}: what came back long ago does not go back`)
    await bench.consume(force([bench.used(key, set, [])]), all(bench.part(key, 9, set)))
  }
  const [last] = (await bench.peek(request)) as [Outcome]
  const [before, after] = [first, last].map(({ at, limits }) => at + (limits[0]?.reset ?? 0)) as [
    number,
    number,
  ]
  assert.ok(Math.abs(after - before) < 20_000, `${key}: units came back ${before - after} µs too early`)
}

export const timeChecks: readonly Check[] = [
  {
    name: 'time: a client that waits as told is admitted, an earlier one is not, for every algorithm',
    async run(bench) {
      const names = bench.algorithms.filter(hasAnyWindow)
      await Promise.all(
        names.map((name) => comesBackAsTold(bench, name, bench.limit(2, name, `${WINDOW_MS}ms`))),
      )
    },
  },
  {
    name: 'time: a request that takes and gives nothing does not age the state, for every algorithm',
    async run(bench) {
      await Promise.all(bench.algorithms.map((name) => agesNothing(bench, name, bench.set(5, name))))
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
      assert.ok(Math.abs(after.at - Date.now() * 1000) < MOST_APART_US, 'the clock is that of the process')
    },
  },
]
