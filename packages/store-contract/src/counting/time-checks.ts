import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createLimitSet,
  refundOf,
  type LimitInput,
  type LimitOutcome,
  type LimitSet,
  type Outcome,
  type StoreRequest,
} from '@tollgate/core/store'
import type { Bench, Check } from '../bench.js'
import { all, force, hasAnyWindow, isTaken } from '../requests.js'
import { same } from '../same.js'

const WINDOW_MS = 300
const ASKED_EVERY_MS = 15
/** A store with the clock of this process may differ from it by at most this: the duration of a call. */
const MOST_APART_US = 60_000_000

/** A window that ends meanwhile, such as one that began before the check did, lets all three of a batch pass. */
const MOST_TRIES = 5
/** Clients get their wait in ms, so a store may round them up to these. */
const PRECISION_US = 1000

/** Asks until a limit of 2 denies. */
async function firstDenial(bench: Bench, key: string, request: StoreRequest): Promise<Outcome> {
  for (let i = 0; i < MOST_TRIES; i += 1) {
    const outcomes = await bench.consume(request, request, request)
    const denied = outcomes.find((outcome) => !isTaken(outcome))
    if (denied) return denied
  }
  return assert.fail(`${key}: none of three requests of a batch is denied by a limit of 2 in ${WINDOW_MS} ms`)
}

/** Repeats a request until it is admitted: never before the wait of a denial is over, always from then on. */
async function comesBackAsTold(bench: Bench, key: string, limit: LimitInput): Promise<void> {
  const request = all(bench.part(key, 1, createLimitSet(limit)))
  const denied = await firstDenial(bench, key, request)
  const { wait } = denied.limits[0] as LimitOutcome
  const isWithin = wait > 0 && wait <= 2 * WINDOW_MS * 1000
  assert.ok(isWithin, `${key}: the wait of a denial is above 0 and at most two windows; it was ${wait} µs`)
  let due = denied.at + wait
  // A clock that was ahead can have filled the next window, too.
  let mayBeDeniedAgain = bench.clockErrorMs > 0
  for (;;) {
    await sleep(ASKED_EVERY_MS)
    const [outcome] = (await bench.consume(request)) as [Outcome]
    const since = outcome.at - due
    if (isTaken(outcome))
      return assert.ok(since >= -PRECISION_US, `${key}: admitted ${-since} µs before its wait was over`)
    if (since < 0) continue
    assert.ok(
      mayBeDeniedAgain,
      `${key}: a client that waits out a denial is admitted; it was denied ${since} µs later`,
    )
    mayBeDeniedAgain = false
    due = outcome.at + (outcome.limits[0] as LimitOutcome).wait
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
    same(
      await bench.refund(refund),
      [false],
      `${key}: a refund of units that came back long ago gave any back`,
    )
    await bench.consume(force([bench.used(key, set, [])]), all(bench.part(key, 9, set)))
  }
  const [last] = (await bench.peek(request)) as [Outcome]
  const [before, after] = [first, last].map(({ at, limits }) => at + (limits[0]?.reset ?? 0)) as [
    number,
    number,
  ]
  const isSame = Math.abs(after - before) < 20_000 + bench.clockErrorMs * 1000
  assert.ok(
    isSame,
    `${key}: requests that take nothing do not age units; these came back ${before - after} µs early`,
  )
}

export const timeChecks: readonly Check[] = [
  {
    name: 'time: a client that waits out a denial is admitted, an earlier one is not, for every algorithm',
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
      const errorUs = bench.clockErrorMs * 1000
      const sleptMs = 50 + 2 * bench.clockErrorMs
      const [before] = (await bench.peek(request)) as [Outcome]
      const began = performance.now()
      await sleep(sleptMs)
      const [after] = (await bench.peek(request)) as [Outcome]
      const passedUs = (performance.now() - began) * 1000
      assert.ok(Number.isInteger(before.at), `\`at\` is a time in whole µs; it was ${before.at}`)
      const ranUs = after.at - before.at
      const isRunning = ranUs >= (sleptMs * 1000) / 2 - errorUs && ranUs <= passedUs + errorUs + 1_000_000
      assert.ok(isRunning, `the clock runs: \`at\` went on by ${ranUs} µs while ${passedUs} µs passed`)
      if (bench.store.clock === 'server') return
      const apartUs = Math.abs(after.at - Date.now() * 1000)
      assert.ok(
        apartUs < MOST_APART_US,
        `\`clock\` is 'process': its time is that of the process, not ${apartUs} µs from it`,
      )
    },
  },
]
