// Who may wait, and who goes first.
import { Lines, type InLine, Seats } from '../../../src/limiter/waiting/lines.js'

describe('seats', () => {
  const takeAll = (seats: Seats, key: string): number => {
    let taken = 0
    while (seats.take(key)) taken += 1
    return taken
  }

  test('a subject gets a quarter of them, and all subjects together no more than there are', () => {
    const seats = new Seats()
    expect(['a', 'b', 'c', 'd', 'e'].map((key) => takeAll(seats, key))).toEqual([250, 250, 250, 250, 0])
  })

  test('one that is free again can be taken, by the same subject or another', () => {
    const seats = new Seats()
    for (const key of ['a', 'b', 'c', 'd']) takeAll(seats, key)
    seats.free('a')
    expect([seats.take('e'), seats.take('a')]).toEqual([true, false])
    seats.free('b')
    expect([seats.take('b'), seats.take('e')]).toEqual([true, false])
  })

  test('one that nobody has cannot become free', () => {
    const seats = new Seats()
    seats.free('a')
    expect(takeAll(seats, 'a')).toBe(250)
  })
})

describe('lines', () => {
  /** By a clock of the store that is so far ahead; each answer was under way for a ms. */
  const one = (
    key: string,
    dueUs: number,
    wakeAtMs: number,
    aheadMs = 0,
    latestMs = wakeAtMs + 20,
  ): InLine => ({
    ...{ key, dueUs, wakeAtMs, latestMs },
    aheadMs: [aheadMs - 1, aheadMs],
  })
  const linesOf = (...all: readonly InLine[]): Lines<InLine> => {
    const lines = new Lines<InLine>()
    for (const waiter of all) lines.add(waiter)
    return lines
  }

  test('a subject is served in the order of the times of its places, whatever was heard first', () => {
    const [late, early, middle] = [one('a', 30, 3), one('a', 10, 1), one('a', 20, 2)]
    expect(linesOf(late, early, middle).takeAll()).toEqual([early, middle, late])
  })

  test('nobody overtakes in a line: one whose answer took longer keeps those behind it', () => {
    const [first, second] = [one('a', 10, 5), one('a', 20, 4)]
    const lines = linesOf(second, first)
    expect(lines.takeDue(4)).toEqual([])
    expect(lines.nextMs()).toBe(5)
    expect(lines.takeDue(5)).toEqual([first, second])
  })

  test('but none beyond the time at which they can still use their places', () => {
    const [first, second, third] = [one('a', 10, 50), one('a', 20, 4, 0, 9), one('a', 30, 40)]
    const lines = linesOf(first, second, third)
    expect(lines.nextMs()).toBe(9)
    expect(lines.takeDue(9)).toEqual([second])
    expect(lines.takeDue(50)).toEqual([first, third])
  })

  test('once the first has left, those behind it wait no longer', () => {
    const [first, second] = [one('a', 10, 15), one('a', 20, 4)]
    const lines = linesOf(first, second)
    expect(lines.nextMs()).toBe(15)
    lines.remove(first)
    expect(lines.nextMs()).toBe(4)
  })

  test('another subject does not wait for it', () => {
    const [first, second, other] = [one('a', 10, 5), one('a', 20, 4), one('b', 30, 4)]
    expect(linesOf(first, second, other).takeDue(4)).toEqual([other])
  })

  test('places that a clock told before it went back go when they can, whatever is booked afterwards', () => {
    const hourMs = 3_600_000
    const [early, next] = [one('a', 1000 * hourMs + 10, 10, hourMs), one('a', 1000 * hourMs + 20, 20, hourMs)]
    const later = [15, 25, 35].map((ms) => one('a', ms, ms))
    const lines = linesOf(early, next, ...later)
    expect(lines.nextMs()).toBe(10)
    expect(lines.takeDue(15)).toEqual([early, later[0]])
    expect(lines.takeAll()).toEqual([next, later[1], later[2]])
  })

  test('a clock that seems to have stepped since an answer took long is the same clock', () => {
    const slow: InLine = { ...one('a', 10_000, 60), aheadMs: [-50, 0] }
    const quick: InLine = { ...one('a', 20_000, 25, 0, 45), aheadMs: [-5, -4] }
    expect(linesOf(quick, slow).takeAll()).toEqual([slow, quick])
    expect(linesOf(quick, slow).nextMs()).toBe(45)
  })

  test('equal times keep the order in which they came', () => {
    const [first, second] = [one('a', 10, 1), one('a', 10, 1)]
    const [taken, next] = linesOf(first, second).takeAll()
    expect([taken === first, next === second]).toEqual([true, true])
  })

  test('one that leaves is in line no more, and leaves once', () => {
    const [first, second] = [one('a', 10, 1), one('a', 20, 2)]
    const lines = linesOf(first, second)
    expect([lines.remove(first), lines.remove(first), lines.size]).toEqual([true, false, 1])
    expect(lines.nextMs()).toBe(2)
    expect([lines.takeAll(), lines.size, lines.nextMs()]).toEqual([[second], 0, Infinity])
  })
})
