import type { Decision } from '../../src/index.js'
import { dateInWords, detailFor, perWindow, plural, waitInWords } from '../../src/http/answers/detail.js'

test.each([
  [0, '1 second'],
  [1, '1 second'],
  [1001, '2 seconds'],
  [59_001, '1 minute'],
  [61_000, '61 seconds'],
  [119_000, '119 seconds'],
  [119_001, '2 minutes'],
  [121_000, '3 minutes'],
  [3_540_001, '1 hour'],
  [7_199_000, '2 hours'],
  [7_200_001, '2 hours and 1 minute'],
  [10_740_001, '3 hours'],
])('a wait of %d ms is %s', (ms, words) => {
  expect(waitInWords(ms)).toBe(words)
})

test.each<[number, string | undefined, string]>([
  [1, undefined, 'a millisecond'],
  [1500, undefined, 'in 1,500 milliseconds'],
  [1000, undefined, 'a second'],
  [90_000, undefined, 'in 90 seconds'],
  [900_000, undefined, 'in 15 minutes'],
  [3_600_000, undefined, 'an hour'],
  [36 * 3_600_000, undefined, 'in 36 hours'],
  [86_400_000, 'UTC', 'a day'],
  [604_800_000, undefined, 'a week'],
  [1_209_600_000, undefined, 'in 14 days'],
  [2_592_000_000, undefined, 'in 30 days'],
  [2_592_000_000, 'UTC', 'a month'],
])('a window of %d ms, time zone %s, is said %p', (ms, timeZone, words) => {
  expect(perWindow(ms, timeZone)).toBe(words)
})

test.each<[string, string, string]>([
  ['2026-11-30T23:00:00.000Z', 'Europe/Berlin', '1 December 2026, 00:00 (Europe/Berlin)'],
  ['2026-11-30T23:00:00.001Z', 'Europe/Berlin', '1 December 2026, 00:01 (Europe/Berlin)'],
  ['2026-07-01T00:00:00.000Z', 'UTC', '1 July 2026, 00:00 (UTC)'],
  ['2026-11-01T04:59:00.000Z', 'America/New_York', '1 November 2026, 00:59 (America/New_York)'],
  ['2026-11-01T05:30:00.000Z', 'America/New_York', '1 November 2026, 01:30 GMT-4 (America/New_York)'],
  ['2026-11-01T06:30:00.000Z', 'America/New_York', '1 November 2026, 01:30 GMT-5 (America/New_York)'],
  ['2026-11-01T07:00:00.000Z', 'America/New_York', '1 November 2026, 02:00 (America/New_York)'],
  ['2026-03-08T07:00:00.000Z', 'America/New_York', '8 March 2026, 03:00 (America/New_York)'],
  ['2026-04-04T15:15:00.000Z', 'Australia/Lord_Howe', '5 April 2026, 01:45 GMT+10:30 (Australia/Lord_Howe)'],
  ['2026-10-25T01:00:00.000Z', 'Europe/London', '25 October 2026, 01:00 GMT+0 (Europe/London)'],
  ['2026-07-01T12:29:01.000Z', 'Asia/Kolkata', '1 July 2026, 18:00 (Asia/Kolkata)'],
])('%s in %s is %s', (instant, timeZone, words) => {
  expect(dateInWords(Date.parse(instant), timeZone)).toBe(words)
})

test('amounts have their noun in the singular or plural', () => {
  expect([plural(1, 'unit'), plural(2, 'unit'), plural(5_000_000, 'request')]).toEqual([
    '1 unit',
    '2 units',
    '5,000,000 requests',
  ])
})

test.each([0, 999, 1000, 12_345, 999_999, 1_000_000, 10 ** 15, Number.MAX_SAFE_INTEGER])(
  '%d is written as by Intl',
  (count) => {
    expect(plural(count, 'unit')).toBe(`${count.toLocaleString('en')} units`)
  },
)

describe('the text for a copied decision', () => {
  const copy: Decision = {
    allowed: false,
    subject: { id: 'a' },
    plan: 'pro',
    cost: 1,
    limits: [{ name: 'minute', quota: 100, windowMs: 60_000, used: 100, remaining: 0, resetMs: 900 }],
    violated: ['minute'],
    retryAfterMs: 900,
    reason: 'quota-exceeded',
    source: 'store',
    release: () => false,
  }

  test('uses only the fields of the decision', () => {
    expect(detailFor(copy, 900, true)).toBe('Only 100 requests a minute are allowed; try again in 1 second.')
  })

  test('is a whole sentence even without limits', () => {
    expect(detailFor({ ...copy, limits: [] }, 900, true)).toBe(
      'There were too many requests; try again in 1 second.',
    )
  })
})
