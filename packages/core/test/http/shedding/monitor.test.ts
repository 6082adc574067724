import { LATE_FLOOR } from '../../../src/http/shedding/gradient.js'
import { Monitor } from '../../../src/http/shedding/monitor.js'
import type { ResponseEnd } from '../../../src/http/adapter.js'
import { HandLoop } from './support.js'

const OK: ResponseEnd = { status: 200, isAborted: false }

let loop: HandLoop
let monitor: Monitor
beforeEach(() => {
  loop = new HandLoop()
  monitor = new Monitor(loop)
})

/** A request that is let in and whose limits let it in, too. Returns what ends it. */
function admit(): (end?: ResponseEnd) => void {
  const req = {}
  const end = monitor.enter(req)
  monitor.begin(req)
  return (how = OK) => end(how)
}

const inFlight = (): number => monitor.load().inFlight

describe('in flight are', () => {
  test('requests from their admission until their response is over', () => {
    const ends = [admit(), admit()]
    expect(inFlight()).toBe(2)
    ends[0]?.()
    expect(inFlight()).toBe(1)
    ends[1]?.({ status: 200, isAborted: true })
    expect(inFlight()).toBe(0)
  })

  test('requests whose limits are asked, but not those that wait for a place', () => {
    const end = monitor.enter({})
    expect(inFlight()).toBe(1)
    loop.nowMs += 101
    expect(inFlight()).toBe(0)
    end(OK)
    expect(inFlight()).toBe(0)
  })

  test('requests that had to wait, once they are let in', () => {
    const req = {}
    monitor.enter(req)
    loop.nowMs += 2000
    expect(inFlight()).toBe(0)
    monitor.begin(req)
    monitor.begin(req)
    expect(inFlight()).toBe(1)
  })

  test('no requests whose response was over before they were decided', () => {
    const req = {}
    monitor.enter(req)(OK)
    monitor.begin(req)
    expect(inFlight()).toBe(0)
  })

  test('no streams: what takes longer than half a minute', () => {
    const end = admit()
    loop.nowMs += 29_999
    admit()
    expect(inFlight()).toBe(2)
    loop.nowMs += 2
    expect(inFlight()).toBe(1)
    end()
    expect(inFlight()).toBe(1)
  })
})

test('a request is known by every limiter that it passes', () => {
  const req = {}
  expect(monitor.has(req)).toBe(false)
  monitor.enter(req)
  expect(monitor.has(req)).toBe(true)
})

/** A turn in which so many requests come and are answered, 5 ms each. */
const answer = (count: number): void =>
  loop.turn(5 * count, () => {
    monitor.load()
    for (let i = 0; i < count; i += 1) admit()()
  })

describe('the event loop', () => {
  test('is not late in one long turn, nor with one request in each of many', () => {
    answer(1)
    loop.turn(500, () => admit())
    loop.turn(1)
    expect(monitor.load()).toMatchObject({ delayMs: 0, beforeMs: 0 })
    for (let i = 0; i < 100; i += 1) loop.turn(100, () => admit()())
    expect(monitor.load()).toMatchObject({ delayMs: 0, beforeMs: 0 })
  })

  test('is late when requests queue for it turn after turn, and a request sees how long its turn takes already', () => {
    for (let i = 0; i < 20; i += 1) answer(10)
    loop.turn(0)
    expect(monitor.load()).toMatchObject({ delayMs: 0, beforeMs: 40 })
    loop.nowMs += 35
    expect(monitor.load()).toMatchObject({ delayMs: 25, beforeMs: 40 })
  })

  test('is fit again a second after the queue has gone', () => {
    for (let i = 0; i < 20; i += 1) answer(10)
    for (let i = 0; i < 120; i += 1) answer(2)
    loop.nowMs += 35
    expect(monitor.load()).toMatchObject({ delayMs: 0, beforeMs: 0 })
  })

  test('is not watched while no requests come', () => {
    answer(1)
    expect(loop.timers).toBe(1)
    for (let i = 0; i < 500; i += 1) loop.turn(10)
    expect(loop.timers).toBe(0)
    answer(1)
    expect(loop.timers).toBe(1)
  })
})

describe('the limit', () => {
  /** So many requests at a time, whose answers take `ms`. */
  const flow = (
    windows: number,
    { atOnce, ms, how = OK }: { atOnce: number; ms: number; how?: ResponseEnd },
  ): void => {
    for (let i = 0; i < windows; i += 1) {
      const ends: ReturnType<typeof admit>[] = []
      loop.turn(0, () => {
        monitor.load()
        for (let n = 0; n < atOnce; n += 1) ends.push(admit())
      })
      for (let waited = 0; waited < ms; waited += 10) loop.turn(10)
      loop.turn(0, () => ends.forEach((end) => end(how)))
      for (let waited = ms; waited < 110; waited += 10) loop.turn(10)
    }
  }
  const limit = (): number => monitor.load().limit

  test('comes with latencies that grow, and goes with them', () => {
    flow(20, { atOnce: 60, ms: 20 })
    expect(limit()).toBe(Infinity)
    flow(20, { atOnce: 60, ms: 200 })
    expect(limit()).toBeLessThan(60)
    expect(limit()).toBeGreaterThanOrEqual(LATE_FLOOR)
    flow(20, { atOnce: 60, ms: 20 })
    expect(limit()).toBe(Infinity)
  })

  test('does not come of quick failures among answers that are as they were', () => {
    flow(20, { atOnce: 60, ms: 50 })
    flow(400, { atOnce: 60, ms: 0, how: { status: 429, isAborted: false } })
    flow(20, { atOnce: 60, ms: 50 })
    expect(limit()).toBe(Infinity)
  })

  test('comes of requests that clients gave up after a long time', () => {
    flow(20, { atOnce: 60, ms: 20 })
    flow(20, { atOnce: 60, ms: 500, how: { status: undefined, isAborted: true } })
    expect(limit()).toBeLessThan(60)
  })

  test('is forgotten when no requests come', () => {
    flow(20, { atOnce: 60, ms: 20 })
    flow(20, { atOnce: 60, ms: 200 })
    expect(limit()).toBeLessThan(60)
    for (let i = 0; i < 500; i += 1) loop.turn(10)
    expect(limit()).toBe(Infinity)
  })
})
