import {
  afterWindow,
  AT_REST,
  FLOOR,
  LATE_FLOOR,
  LATE_MS,
  type Gradient,
  type Window,
} from '../../../src/http/shedding/gradient.js'

const QUIET: Window = { medianMs: 10, inFlight: 100, lateMs: 0, hasRefused: false }

/** The limit after `count` windows that are alike. */
const after = (count: number, window: Partial<Window>, before: Gradient = AT_REST): Gradient =>
  Array.from({ length: count }).reduce<Gradient>((last) => afterWindow(last, { ...QUIET, ...window }), before)

const normal = after(50, {})

describe('there is no limit without a queue', () => {
  test.each([
    ['latency is what it was', { inFlight: 5000 }],
    ['latency is less than twice what it was', { medianMs: 19, inFlight: 5000 }],
    ['few are in flight, however long they take', { medianMs: 5000, inFlight: FLOOR }],
    ['few are in flight, however late the event loop is', { lateMs: 10 * LATE_MS, inFlight: LATE_FLOOR }],
  ])('when %s', (_, window) => {
    expect(after(100, window, normal).limit).toBe(Infinity)
  })

  test('after a few long windows, which can be chance', () => {
    const before = after(4, { medianMs: 1000 }, normal)
    expect(before.limit).toBe(Infinity)
    expect(after(1, { medianMs: 10 }, before)).toMatchObject({ limit: Infinity, slow: 0 })
  })
})

describe('a queue makes a limit', () => {
  test('from what was in flight, once latency is long in five windows', () => {
    const { limit } = after(5, { medianMs: 100 }, normal)
    expect(limit).toBeGreaterThan(80)
    expect(limit).toBeLessThan(100)
  })

  test('at once where the event loop is late', () => {
    expect(after(1, { lateMs: 2 * LATE_MS }, normal).limit).toBe(60)
  })

  test('which shrinks to its floor and no further', () => {
    const held = { medianMs: 1000, hasRefused: true }
    const ofLatency = after(5, held, normal)
    expect(follow(ofLatency, 200, held).limit).toBe(FLOOR)
    const late = { ...held, lateMs: 100 * LATE_MS }
    const ofLoop = after(1, late, normal)
    expect(follow(ofLoop, 200, late).limit).toBeCloseTo(LATE_FLOOR)
  })

  test('which stays while it is not what holds requests back', () => {
    const before = { ...normal, limit: 100, calm: 0 }
    expect(after(1, { medianMs: 1000, inFlight: 49 }, before).limit).toBe(100)
    expect(after(1, { medianMs: 10, inFlight: 49 }, before).limit).toBe(100)
  })

  test('which grows by its square root while latency is what it was', () => {
    const before = { ...normal, limit: 100, calm: 0 }
    expect(after(1, { inFlight: 100, hasRefused: true }, before).limit).toBe(102)
  })
})

/** Windows in which as many are in flight as the limit allows. */
function follow(before: Gradient, count: number, window: Partial<Window>): Gradient {
  let last = before
  for (let i = 0; i < count; i += 1) last = after(1, { ...window, inFlight: Math.ceil(last.limit) }, last)
  return last
}

test('it ends when ten windows in a row refused nobody', () => {
  const limited = after(8, { medianMs: 1000, hasRefused: true }, normal)
  expect(limited.limit).toBeLessThan(Infinity)
  expect(after(9, {}, limited).limit).toBeLessThan(Infinity)
  expect(after(10, {}, limited).limit).toBe(Infinity)
  const refusing = after(9, {}, limited)
  expect(after(9, {}, after(1, { hasRefused: true }, refusing)).limit).toBeLessThan(Infinity)
})

test('under three times its capacity a process settles, and does not swing between nothing and all', () => {
  // 40 requests at a time take 10 ms; more of them wait for those before them.
  const medianOf = (inFlight: number): number => 10 * Math.max(1, inFlight / 40)
  let last = normal
  const limits: number[] = []
  for (let i = 0; i < 400; i += 1) {
    const inFlight = Math.min(120 + i, Math.ceil(last.limit))
    last = afterWindow(last, {
      medianMs: medianOf(inFlight),
      inFlight,
      lateMs: 0,
      hasRefused: inFlight > 119 || last.limit < 120,
    })
    limits.push(last.limit)
  }
  const settled = limits.slice(200)
  expect(Math.max(...settled)).toBeLessThan(200)
  expect(Math.min(...settled)).toBeGreaterThan(40)
  expect(Math.max(...settled) / Math.min(...settled)).toBeLessThan(1.5)
})

describe('the latency of the last minute', () => {
  test('is not learnt while the event loop is late, so that an overload never becomes what is normal', () => {
    const { longMs } = after(5000, { medianMs: 900, lateMs: 2 * LATE_MS }, normal)
    expect(longMs).toBe(normal.longMs)
  })

  test('comes down fast after a time that was slow', () => {
    const slow = after(5000, { medianMs: 1000 }, normal)
    expect(slow.longMs).toBeGreaterThan(900)
    expect(after(100, { medianMs: 10 }, slow).longMs).toBeLessThan(25)
  })

  test('of a process that begins late is not known, and limits nothing by itself', () => {
    expect(after(1, { medianMs: 500, lateMs: 2 * LATE_MS }).longMs).toBe(0)
  })
})
