import { arrivalsOf, patternText, TrafficError } from '../src/traffic.ts'
import { lengthInWords, readTime, timeText } from '../src/time.ts'

const MINUTE = { quota: 100, windowMs: 60_000 }

test.each([
  ['59s', 59_000],
  ['1.5 min', 90_000],
  ['250ms', 250],
  ['2h', 7_200_000],
  ['1d', 86_400_000],
  ['0', 0],
  ['0s', 0],
  ['5', undefined],
  ['-1s', undefined],
  ['1 week', undefined],
  ['', undefined],
])('the time %j is %j ms', (text, ms) => {
  expect(readTime(text)).toBe(ms)
})

test('times are written short', () => {
  expect([0, 250, 2450, 59_000, 75_000, 90_000, 5_400_000].map(timeText)).toEqual([
    ...['0s', '250ms', '2.45s', '59s', '75s', '1.5min', '1.5h'],
  ])
})

test.each([
  0, 1, 17, 250, 983, 1017, 2500, 59_000, 61_000, 90_000, 150_000, 3_540_000, 9_000_000, 86_400_000,
])('%j ms can be read again as they are written', (ms) => {
  expect(readTime(timeText(ms))).toBe(ms)
})

test.each([
  [60_000, '1 minute'],
  [90_000, '90 seconds'],
  [3_600_000, '1 hour'],
  [172_800_000, '2 days'],
  [250, '250 ms'],
])('%j ms in words: %s', (ms, words) => {
  expect(lengthInWords(ms)).toBe(words)
})

test('a burst, an even and a random stream arrive in order', () => {
  expect(arrivalsOf('2 at 5s, 1 at 0s', 1)).toEqual([0, 5000, 5000])
  expect(arrivalsOf('4 from 0s to 2s', 1)).toEqual([0, 500, 1000, 1500])
  const random = arrivalsOf('50 random from 10s to 20s', 1)
  expect(random).toHaveLength(50)
  expect(random).toEqual(random.toSorted((a, b) => a - b))
  expect(random.every((at) => at >= 10_000 && at < 20_000)).toBe(true)
  expect(new Set(random).size).toBeGreaterThan(40)
})

test('random traffic is the same for the same seed, and another for another', () => {
  const [one, again, other] = [1, 1, 2].map((seed) => arrivalsOf('50 random from 0s to 1min', seed))
  expect(again).toEqual(one)
  expect(other).not.toEqual(one)
})

test.each([
  '',
  ' , ',
  'many',
  '5 at noon',
  '5 from 2s to 1s',
  '5 at 5',
  '0 at 5s',
  '40001 at 0s',
  '-5 at 1s',
])('the traffic %j is refused with what would be right', (text) => {
  expect(() => arrivalsOf(text, 1)).toThrow(TrafficError)
  expect(() => arrivalsOf(text, 1)).toThrow(/such as|for example|at most/)
})

test('a text of mostly spaces is read as fast as it is long', () => {
  const gap = ' '.repeat(2000)
  expect(arrivalsOf(`${gap}2${gap}random${gap}from${gap}0${gap}to${gap}0${gap}`, 1)).toEqual([0, 0])
  // Backtracking would take minutes.
  expect(() => arrivalsOf(`1 from${' '.repeat(19_000)}x`, 1)).toThrow('is no traffic')
})

test('a text that is too long is refused before it is read', () => {
  expect(() => arrivalsOf('1 at 0s,'.repeat(2501), 1)).toThrow('at most 20000 characters, and this has 20008')
  expect(arrivalsOf('1 at 0s,'.repeat(2500), 1)).toHaveLength(2500)
  expect(() => arrivalsOf('x'.repeat(5000), 1)).toThrow(`“${'x'.repeat(60)}…” is no traffic.`)
})

test.each(['99999999999999999999d', `${'9'.repeat(400)}d`, '10001d'])('a time of %s is refused', (time) => {
  expect(() => arrivalsOf(`1 at ${time}`, 1)).toThrow('is no traffic')
})

describe('patterns for a limit of 100 a minute', () => {
  test.each([
    ['seam', '1 at 0s, 100 at 59s, 100 at 61s'],
    ['steady', '375 from 0s to 2.5min'],
    ['random', '375 random from 0s to 2.5min'],
    ['flood', '100 from 0s to 2.5min, 500 from 45s to 75s'],
  ] as const)('%s: %s', (pattern, text) => {
    expect(patternText(pattern, MINUTE)).toBe(text)
    expect(arrivalsOf(text, 1).length).toBeGreaterThan(100)
  })

  test('and of other limits, down to one a second', () => {
    for (const shape of [
      { quota: 1, windowMs: 1000 },
      { quota: 50, windowMs: 1000 },
      { quota: 5000, windowMs: 3_600_000 },
    ]) {
      for (const pattern of ['seam', 'steady', 'random', 'flood'] as const)
        expect(arrivalsOf(patternText(pattern, shape), 1).length).toBeGreaterThan(1)
    }
  })
})

test('the patterns of the longest windows are read', () => {
  expect(arrivalsOf(patternText('steady', { quota: 5, windowMs: 3000 * 86_400_000 }), 1)).toHaveLength(19)
})
