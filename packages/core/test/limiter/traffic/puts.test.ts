// While somebody looks, a process puts its figures down once a second, whoever asks it to.
import type { Decision } from '../../../src/index.js'
import { Traffic } from '../../../src/limiter/traffic/traffic.js'

const mockClock = { nowMs: 0, tick: () => {} }
jest.mock('../../../src/base/timers.js', () => ({
  ...jest.requireActual<object>('../../../src/base/timers.js'),
  elapsedMs: () => mockClock.nowMs,
  setTimeout(tick: () => void) {
    mockClock.tick = tick
    return { unref: () => ({}) }
  },
  clearTimeout() {},
}))

const DECISION = {
  ...{
    allowed: true,
    subject: { id: 'acme' },
    plan: 'free',
    cost: 1,
    limits: [],
    violated: [],
    source: 'store',
  },
} as unknown as Decision

/** Lets a second pass, in the middle of which somebody may look. */
async function second(traffic: Traffic, looks: boolean): Promise<void> {
  mockClock.nowMs += 500
  if (looks) await traffic.put()
  mockClock.nowMs += 500
  mockClock.tick()
  await new Promise(setImmediate)
}

test.each([
  ['somebody looks from another process', false, true, 10],
  ['somebody looks from this process', true, true, 20],
  ['nobody looks', false, false, 2],
])('if %s', async (_, looks, isWatched, expected) => {
  mockClock.nowMs = 100_000
  let puts = 0
  const traffic = new Traffic({
    board: { put: () => Promise.resolve((puts += 1)), read: () => [] },
    ...{ name: '', hide: undefined, synchronous: false, nowMs: () => mockClock.nowMs, warn: () => {} },
    plans: () => ({}),
  })
  traffic.note(DECISION, undefined)
  await second(traffic, false)
  puts = 0
  if (isWatched) traffic.watched(60_000)
  for (let i = 0; i < 20; i += 1) await second(traffic, looks)
  expect(puts).toBe(expected)
  traffic.close()
})
