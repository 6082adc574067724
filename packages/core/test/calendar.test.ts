import fc from 'fast-check'
import { DateTime } from 'luxon'
import { createCalendar, isAnchor, isTimeZone } from '../src/calendar.js'
import type { CalendarAnchor, CalendarUnit } from '../src/calendar.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const at = (iso: string): number => Date.parse(iso)
const utc = (ms: number): string => new Date(ms).toISOString()

/** unit, zone, anchor, now, and the starts around it: previous, current, next, the one after. */
type Row = readonly [CalendarUnit, string, CalendarAnchor | undefined, string, readonly string[]]

const rows = (table: Record<string, readonly Row[]>): [string, ...Row][] =>
  Object.entries(table).flatMap(([rule, cases]) => cases.map((row): [string, ...Row] => [rule, ...row]))

const SPECIFICATION = rows({
  'without an anchor: minute 0, midnight, Monday, day 1': [
    [
      'h',
      'UTC',
      undefined,
      '2026-05-06T07:08:09.010Z',
      ['2026-05-06T06:00Z', '2026-05-06T07:00Z', '2026-05-06T08:00Z', '2026-05-06T09:00Z'],
    ],
    [
      'd',
      'UTC',
      undefined,
      '2026-05-06T07:08:09.010Z',
      ['2026-05-05T00:00Z', '2026-05-06T00:00Z', '2026-05-07T00:00Z', '2026-05-08T00:00Z'],
    ],
    [
      'week',
      'UTC',
      undefined,
      '2026-05-06T07:08:09.010Z',
      ['2026-04-27T00:00Z', '2026-05-04T00:00Z', '2026-05-11T00:00Z', '2026-05-18T00:00Z'],
    ],
    [
      'month',
      'UTC',
      undefined,
      '2026-05-06T07:08:09.010Z',
      ['2026-04-01T00:00Z', '2026-05-01T00:00Z', '2026-06-01T00:00Z', '2026-07-01T00:00Z'],
    ],
  ],
  'a start belongs to its own window, the millisecond before it to the last one': [
    [
      'd',
      'Asia/Tokyo',
      undefined,
      '2026-05-05T15:00:00.000Z',
      ['2026-05-04T15:00Z', '2026-05-05T15:00Z', '2026-05-06T15:00Z', '2026-05-07T15:00Z'],
    ],
    [
      'd',
      'Asia/Tokyo',
      undefined,
      '2026-05-05T14:59:59.999Z',
      ['2026-05-03T15:00Z', '2026-05-04T15:00Z', '2026-05-05T15:00Z', '2026-05-06T15:00Z'],
    ],
  ],
  'before 1970 is no different': [
    [
      'month',
      'UTC',
      undefined,
      '1969-12-31T23:59:59.999Z',
      ['1969-11-01T00:00Z', '1969-12-01T00:00Z', '1970-01-01T00:00Z', '1970-02-01T00:00Z'],
    ],
  ],
  'an hour is an hour of the wall clock': [
    [
      'h',
      'Asia/Kolkata',
      undefined,
      '2026-05-06T07:08Z',
      ['2026-05-06T05:30Z', '2026-05-06T06:30Z', '2026-05-06T07:30Z', '2026-05-06T08:30Z'],
    ],
    [
      'h',
      'Asia/Kathmandu',
      undefined,
      '2026-05-06T07:08Z',
      ['2026-05-06T05:15Z', '2026-05-06T06:15Z', '2026-05-06T07:15Z', '2026-05-06T08:15Z'],
    ],
  ],
  'a number is the day of the month or the ISO weekday': [
    [
      'month',
      'UTC',
      15,
      '2026-05-06T07:08Z',
      ['2026-03-15T00:00Z', '2026-04-15T00:00Z', '2026-05-15T00:00Z', '2026-06-15T00:00Z'],
    ],
    [
      'week',
      'UTC',
      7,
      '2026-05-06T07:08Z',
      ['2026-04-26T00:00Z', '2026-05-03T00:00Z', '2026-05-10T00:00Z', '2026-05-17T00:00Z'],
    ],
    [
      'week',
      'UTC',
      3,
      '2026-05-06T07:08Z',
      ['2026-04-29T00:00Z', '2026-05-06T00:00Z', '2026-05-13T00:00Z', '2026-05-20T00:00Z'],
    ],
  ],
  'a month without the day uses its last one, and the months after it do not drift': [
    [
      'month',
      'UTC',
      31,
      '2026-03-01T00:00Z',
      ['2026-01-31T00:00Z', '2026-02-28T00:00Z', '2026-03-31T00:00Z', '2026-04-30T00:00Z'],
    ],
    [
      'month',
      'UTC',
      31,
      '2028-02-29T00:00Z',
      ['2028-01-31T00:00Z', '2028-02-29T00:00Z', '2028-03-31T00:00Z', '2028-04-30T00:00Z'],
    ],
    [
      'month',
      'UTC',
      29,
      '2100-03-01T00:00Z',
      ['2100-01-29T00:00Z', '2100-02-28T00:00Z', '2100-03-29T00:00Z', '2100-04-29T00:00Z'],
    ],
    [
      'month',
      'UTC',
      '2025-01-31T08:30',
      '2026-02-28T08:29Z',
      ['2025-12-31T08:30Z', '2026-01-31T08:30Z', '2026-02-28T08:30Z', '2026-03-31T08:30Z'],
    ],
  ],
  'each unit takes from a local date-time what is below it': [
    [
      'month',
      'Asia/Tokyo',
      '2025-08-17T21:43:05',
      '2026-05-06T07:08Z',
      ['2026-03-17T12:43:05Z', '2026-04-17T12:43:05Z', '2026-05-17T12:43:05Z', '2026-06-17T12:43:05Z'],
    ],
    [
      'week',
      'Asia/Tokyo',
      '2025-08-17T21:43:05',
      '2026-05-06T07:08Z',
      ['2026-04-26T12:43:05Z', '2026-05-03T12:43:05Z', '2026-05-10T12:43:05Z', '2026-05-17T12:43:05Z'],
    ],
    [
      'd',
      'Asia/Tokyo',
      '2025-08-17T21:43:05',
      '2026-05-06T07:08Z',
      ['2026-05-04T12:43:05Z', '2026-05-05T12:43:05Z', '2026-05-06T12:43:05Z', '2026-05-07T12:43:05Z'],
    ],
    [
      'h',
      'Asia/Tokyo',
      '2025-08-17T21:43:05',
      '2026-05-06T07:08Z',
      ['2026-05-06T05:43:05Z', '2026-05-06T06:43:05Z', '2026-05-06T07:43:05Z', '2026-05-06T08:43:05Z'],
    ],
    [
      'month',
      'Asia/Tokyo',
      '2025-08-17',
      '2026-05-06T07:08Z',
      ['2026-03-16T15:00Z', '2026-04-16T15:00Z', '2026-05-16T15:00Z', '2026-06-16T15:00Z'],
    ],
  ],
  'a Date is an instant, read in the zone: here the 1st of the month and a Thursday in Tokyo': [
    [
      'month',
      'Asia/Tokyo',
      new Date('2025-12-31T20:00:00.250Z'),
      '2026-05-06T07:08Z',
      [
        '2026-03-31T20:00:00.250Z',
        '2026-04-30T20:00:00.250Z',
        '2026-05-31T20:00:00.250Z',
        '2026-06-30T20:00:00.250Z',
      ],
    ],
    [
      'week',
      'Asia/Tokyo',
      new Date('2025-12-31T20:00:00.250Z'),
      '2026-05-06T07:08Z',
      [
        '2026-04-22T20:00:00.250Z',
        '2026-04-29T20:00:00.250Z',
        '2026-05-06T20:00:00.250Z',
        '2026-05-13T20:00:00.250Z',
      ],
    ],
    [
      'h',
      'Asia/Kolkata',
      new Date('2025-12-31T20:00:00.250Z'),
      '2026-05-06T07:08Z',
      [
        '2026-05-06T06:00:00.250Z',
        '2026-05-06T07:00:00.250Z',
        '2026-05-06T08:00:00.250Z',
        '2026-05-06T09:00:00.250Z',
      ],
    ],
  ],
  'a billing hour stays where it is on the wall clock when daylight saving comes': [
    [
      'month',
      'Europe/Berlin',
      '2026-01-15T09:00',
      '2026-04-01T00:00Z',
      ['2026-02-15T08:00Z', '2026-03-15T08:00Z', '2026-04-15T07:00Z', '2026-05-15T07:00Z'],
    ],
  ],
  'a day has 23 hours when clocks go forward, 25 when they go back': [
    [
      'd',
      'America/New_York',
      undefined,
      '2026-03-08T12:00Z',
      ['2026-03-07T05:00Z', '2026-03-08T05:00Z', '2026-03-09T04:00Z', '2026-03-10T04:00Z'],
    ],
    [
      'd',
      'America/New_York',
      undefined,
      '2026-11-01T12:00Z',
      ['2026-10-31T04:00Z', '2026-11-01T04:00Z', '2026-11-02T05:00Z', '2026-11-03T05:00Z'],
    ],
  ],
  'a start that the clock skips moves later by what it skips': [
    [
      'd',
      'America/New_York',
      '2026-01-01T02:30',
      '2026-03-08T12:00Z',
      ['2026-03-07T07:30Z', '2026-03-08T07:30Z', '2026-03-09T06:30Z', '2026-03-10T06:30Z'],
    ],
    [
      'd',
      'America/Sao_Paulo',
      undefined,
      '2018-11-04T12:00Z',
      ['2018-11-03T03:00Z', '2018-11-04T03:00Z', '2018-11-05T02:00Z', '2018-11-06T02:00Z'],
    ],
    [
      'week',
      'America/Sao_Paulo',
      7,
      '2018-11-04T12:00Z',
      ['2018-10-28T03:00Z', '2018-11-04T03:00Z', '2018-11-11T02:00Z', '2018-11-18T02:00Z'],
    ],
    [
      'd',
      'Africa/Cairo',
      undefined,
      '2024-04-26T12:00Z',
      ['2024-04-24T22:00Z', '2024-04-25T22:00Z', '2024-04-26T21:00Z', '2024-04-27T21:00Z'],
    ],
    [
      'd',
      'Asia/Beirut',
      undefined,
      '2024-03-31T12:00Z',
      ['2024-03-29T22:00Z', '2024-03-30T22:00Z', '2024-03-31T21:00Z', '2024-04-01T21:00Z'],
    ],
    [
      'month',
      'Asia/Beirut',
      31,
      '2024-03-31T12:00Z',
      ['2024-02-28T22:00Z', '2024-03-30T22:00Z', '2024-04-29T21:00Z', '2024-05-30T21:00Z'],
    ],
    [
      'd',
      'Australia/Lord_Howe',
      '2026-01-01T02:15',
      '2026-10-03T16:00Z',
      ['2026-10-02T15:45Z', '2026-10-03T15:45Z', '2026-10-04T15:15Z', '2026-10-05T15:15Z'],
    ],
  ],
  'a start that the clock shows twice is the earlier': [
    [
      'd',
      'America/New_York',
      '2026-01-01T01:30',
      '2026-11-01T06:10Z',
      ['2026-10-31T05:30Z', '2026-11-01T05:30Z', '2026-11-02T06:30Z', '2026-11-03T06:30Z'],
    ],
    [
      'd',
      'America/Havana',
      undefined,
      '2026-11-01T04:30Z',
      ['2026-10-31T04:00Z', '2026-11-01T04:00Z', '2026-11-02T05:00Z', '2026-11-03T05:00Z'],
    ],
    [
      'month',
      'America/Havana',
      undefined,
      '2026-11-01T05:30Z',
      ['2026-10-01T04:00Z', '2026-11-01T04:00Z', '2026-12-01T05:00Z', '2027-01-01T05:00Z'],
    ],
    [
      'd',
      'Africa/Cairo',
      '2026-01-01T23:30',
      '2024-10-31T21:10Z',
      ['2024-10-30T20:30Z', '2024-10-31T20:30Z', '2024-11-01T21:30Z', '2024-11-02T21:30Z'],
    ],
  ],
  'an hour that the clock shows twice is two windows, one it skips is none': [
    [
      'h',
      'America/New_York',
      undefined,
      '2026-11-01T06:10Z',
      ['2026-11-01T05:00Z', '2026-11-01T06:00Z', '2026-11-01T07:00Z', '2026-11-01T08:00Z'],
    ],
    [
      'h',
      'America/New_York',
      undefined,
      '2026-03-08T07:10Z',
      ['2026-03-08T06:00Z', '2026-03-08T07:00Z', '2026-03-08T08:00Z', '2026-03-08T09:00Z'],
    ],
  ],
  'where clocks move by half an hour, one hour is longer, or shorter when its minute is shown twice': [
    [
      'h',
      'Australia/Lord_Howe',
      undefined,
      '2026-04-04T15:20Z',
      ['2026-04-04T13:00Z', '2026-04-04T14:00Z', '2026-04-04T15:30Z', '2026-04-04T16:30Z'],
    ],
    [
      'h',
      'Australia/Lord_Howe',
      undefined,
      '2026-10-03T15:40Z',
      ['2026-10-03T13:30Z', '2026-10-03T14:30Z', '2026-10-03T16:00Z', '2026-10-03T17:00Z'],
    ],
    [
      'h',
      'Australia/Lord_Howe',
      '2026-01-01T00:45',
      '2026-04-04T15:00Z',
      ['2026-04-04T13:45Z', '2026-04-04T14:45Z', '2026-04-04T15:15Z', '2026-04-04T16:15Z'],
    ],
  ],
  'a date that a zone never had starts no window of its own': [
    [
      'd',
      'Pacific/Apia',
      undefined,
      '2011-12-30T10:00Z',
      ['2011-12-29T10:00Z', '2011-12-30T10:00Z', '2011-12-31T10:00Z', '2012-01-01T10:00Z'],
    ],
    [
      'd',
      'Pacific/Apia',
      undefined,
      '2011-12-29T09:59Z',
      ['2011-12-27T10:00Z', '2011-12-28T10:00Z', '2011-12-29T10:00Z', '2011-12-30T10:00Z'],
    ],
    [
      'd',
      'Pacific/Apia',
      '2000-01-01T12:00',
      '2011-12-31T12:00Z',
      ['2011-12-29T22:00Z', '2011-12-30T22:00Z', '2011-12-31T22:00Z', '2012-01-01T22:00Z'],
    ],
  ],
})

describe('createCalendar', () => {
  it.each(SPECIFICATION)('%s: %s %s %s at %s', (_rule, unit, zone, anchor, now, expected) => {
    const starts = createCalendar(unit, zone, anchor).startsAround(at(now))
    expect(starts.map(utc)).toEqual(expected.map((start) => utc(at(start))))
  })

  it('answers for each instant alike, whatever it was asked before', () => {
    const calendar = createCalendar('month', 'Europe/Berlin', 31)
    const first = calendar.startsAround(at('2026-05-06T00:00Z'))
    calendar.startsAround(at('2020-05-06T00:00Z'))
    expect(calendar.startsAround(at('2026-05-06T00:00Z'))).toEqual(first)
  })

  it('formats nothing while the window lasts', () => {
    const format = jest.spyOn(Intl.DateTimeFormat.prototype, 'format', 'get')
    try {
      const calendar = createCalendar('d', 'Europe/Berlin')
      const [, start, next] = calendar.startsAround(at('2026-05-06T12:00Z'))
      format.mockClear()
      for (let now = start; now < next; now += MINUTE) calendar.startsAround(now)
      expect(format).not.toHaveBeenCalled()
      calendar.startsAround(next)
      expect(format).toHaveBeenCalled()
    } finally {
      format.mockRestore()
    }
  })

  it.each([
    ['h', 'UTC', HOUR],
    ['h', 'Asia/Kolkata', HOUR],
    ['h', 'Australia/Lord_Howe', 2 * HOUR],
    ['d', 'America/New_York', 25 * HOUR],
    ['d', 'Antarctica/Troll', 26 * HOUR],
    ['d', 'Pacific/Apia', 25 * HOUR],
    ['week', 'Europe/Berlin', 7 * DAY + HOUR],
    ['month', 'Europe/Berlin', 31 * DAY + HOUR],
  ] as const)('no %s of %s is longer than %d ms', (unit, zone, expected) => {
    expect(createCalendar(unit, zone).maxWindowMs).toBe(expected)
  })

  it.each([
    ['h', 'Mars/Olympus', undefined],
    ['d', '', undefined],
    ['d', 'UTC', 5],
    ['week', 'UTC', 8],
    ['month', 'UTC', '2026-02-30'],
    ['month', 'UTC', new Date(NaN)],
  ] as const)('refuses %s in %p anchored at %p', (unit, zone, anchor) => {
    expect(() => createCalendar(unit, zone, anchor)).toThrow(RangeError)
  })

  it.each([NaN, Infinity, 9e15])('refuses %d as an instant', (now) => {
    expect(() => createCalendar('d', 'Europe/Berlin').startsAround(now)).toThrow(RangeError)
  })
})

describe('isTimeZone', () => {
  it.each(['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Asia/Kolkata'])('knows %s', (name) => {
    expect(isTimeZone(name)).toBe(true)
  })

  it.each(['', 'Mars/Olympus', 'Europe/Berlin ', '__proto__', undefined, null, 5, {}])(
    'refuses %p',
    (name) => {
      expect(isTimeZone(name as string)).toBe(false)
    },
  )
})

describe('isAnchor', () => {
  const dateTimes = ['2026-05-06', '2024-02-29', '2026-05-06T23:59', '2026-05-06T00:00:59', new Date(0)]

  it.each([
    ['h', dateTimes],
    ['d', dateTimes],
    ['week', [...dateTimes, 1, 7]],
    ['month', [...dateTimes, 1, 28, 31]],
  ] as const)('of %s: %p', (unit, anchors) => {
    expect(anchors.filter((anchor) => !isAnchor(unit, anchor))).toEqual([])
  })

  // Dates that no calendar has, times that no clock has, and forms that name an instant instead of a local time.
  const never = [
    '2026-02-29',
    '2026-02-30',
    '2026-13-01',
    '2026-00-01',
    '2026-05-00',
    '2026-04-31',
    '2026-05-06T24:00',
    '2026-05-06T12:60',
    '2026-05-06T12:00:60',
    '2026-05-06T12:00Z',
    '2026-05-06T12:00+02:00',
    '2026-05-06T12',
    '2026-05-06T12:00:00.5',
    '2026-05-06 12:00',
    '2026-5-6',
    '26-05-06',
    '12:00',
    '15',
    '',
    ' 2026-05-06',
    '2026-05-06\n',
    new Date(NaN),
    new Date(8.64e15),
    new Date(-8.64e15),
    0,
    -1,
    1.5,
    NaN,
    Infinity,
    undefined,
    null,
    true,
    {},
    [1],
    5n,
    Symbol('day'),
    { getTime: () => 0 },
  ]

  it.each([
    ['h', [...never, 1, 30]],
    ['d', [...never, 1, 12]],
    ['week', [...never, 8, 31]],
    ['month', [...never, 32]],
  ] as const)('not of %s', (unit, anchors) => {
    expect(anchors.filter((anchor) => isAnchor(unit, anchor))).toEqual([])
  })
})

const ODD_ZONES = [
  'Africa/Cairo',
  'Africa/Casablanca',
  'America/Havana',
  'America/New_York',
  'America/Santiago',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Antarctica/Casey',
  'Antarctica/Troll',
  'Asia/Beirut',
  'Asia/Gaza',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Pyongyang',
  'Asia/Tehran',
  'Atlantic/Azores',
  'Australia/Lord_Howe',
  'America/Caracas',
  'Europe/Lisbon',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'UTC',
]
const ZONES = [...ODD_ZONES, ...Intl.supportedValuesOf('timeZone')]
const UNITS: CalendarUnit[] = ['h', 'd', 'week', 'month']

const offsetAt = (ms: number, zone: string): number => DateTime.fromMillis(ms, { zone }).offset

/** The instant in the 40 days from `from` at which the clock of the zone moves, or `from` if it does not. */
function clockChangeAfter(from: number, zone: string): number {
  let low = from
  let high = from + 40 * DAY
  if (offsetAt(low, zone) === offsetAt(high, zone)) return from
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle, zone) === offsetAt(low, zone)) low = middle
    else high = middle
  }
  return high
}

const zones = fc.oneof(fc.constantFrom(...ODD_ZONES), fc.constantFrom(...ZONES))
const years1990To2060 = fc.integer({ min: Date.UTC(1990, 0, 1), max: Date.UTC(2060, 0, 1) })

/** A zone and an instant, half of them within two days of where its clocks move, if they do in that season. */
const moments = fc
  .record({
    zone: zones,
    base: years1990To2060,
    near: fc.integer({ min: -2 * DAY, max: 2 * DAY }),
    seek: fc.boolean(),
  })
  .map(({ zone, base, near, seek }) => ({ zone, now: seek ? clockChangeAfter(base, zone) + near : base }))

const times = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 8 }).map((halfHours) => halfHours * 1800),
  fc.integer({ min: 0, max: 86_399 }),
)
const localDateTimes = fc
  .record({ day: fc.integer({ min: 0, max: 40_000 }), seconds: times })
  .map(({ day, seconds }) => new Date(day * DAY + seconds * 1000).toISOString().slice(0, 19))

const anchorsOf = (unit: CalendarUnit): fc.Arbitrary<CalendarAnchor | undefined> =>
  fc.oneof(
    fc.constant(undefined),
    localDateTimes,
    years1990To2060.map((ms) => new Date(ms)),
    ...(unit === 'month' ? [fc.integer({ min: 1, max: 31 })] : []),
    ...(unit === 'week' ? [fc.integer({ min: 1, max: 7 })] : []),
  )

const casesOf = (unit: CalendarUnit) => fc.tuple(moments, anchorsOf(unit))

/** The anchor as luxon reads it: a local date-time of which the oracle takes what its unit needs. */
function readByLuxon(unit: CalendarUnit, zone: string, anchor: CalendarAnchor | undefined): DateTime {
  if (anchor instanceof Date) return DateTime.fromJSDate(anchor, { zone })
  // Anchors without a zone are read in UTC, where every local time exists.
  if (typeof anchor === 'string') return DateTime.fromISO(anchor, { zone: 'utc' })
  if (unit === 'week')
    return DateTime.fromObject({ weekYear: 2024, weekNumber: 10, weekday: anchor ?? 1 }, { zone: 'utc' })
  return DateTime.fromObject({ year: 2024, month: 1, day: anchor ?? 1 }, { zone: 'utc' })
}

/** luxon moves skipped local times later by itself; of repeated ones it names all, and the first counts. */
function instantByLuxon(date: DateTime, time: DateTime, zone: string): number {
  const { year, month, day } = date
  const { hour, minute, second, millisecond } = time
  const local = DateTime.fromObject({ year, month, day, hour, minute, second, millisecond }, { zone })
  return Math.min(...local.getPossibleOffsets().map((possible) => possible.toMillis()))
}

/** Every start of a few units before and after now, from local dates alone. */
function datesByLuxon(unit: 'd' | 'week' | 'month', zone: string, anchor: DateTime, now: number): number[] {
  const [year, month, day] = DateTime.fromMillis(now, { zone }).toISODate()!.split('-').map(Number)
  const today = DateTime.utc(year!, month!, day!)
  return [-4, -3, -2, -1, 0, 1, 2, 3, 4].map((steps) => {
    if (unit === 'd') return instantByLuxon(today.plus({ days: steps }), anchor, zone)
    if (unit === 'week') {
      return instantByLuxon(today.plus({ weeks: steps }).set({ weekday: anchor.weekday }), anchor, zone)
    }
    const first = today.startOf('month').plus({ months: steps })
    return instantByLuxon(first.set({ day: Math.min(anchor.day, first.daysInMonth!) }), anchor, zone)
  })
}

/** Every instant of the hours around now at which luxon's clock shows the anchor's minute. */
function hoursByLuxon(zone: string, anchor: DateTime, now: number): number[] {
  const intoMinute = anchor.second * 1000 + anchor.millisecond
  const origin = Math.floor(now / MINUTE) * MINUTE + intoMinute
  const found: number[] = []
  for (let ms = origin - 4 * HOUR; ms < origin + 5 * HOUR; ms += MINUTE) {
    if (DateTime.fromMillis(ms, { zone }).minute === anchor.minute) found.push(ms)
  }
  return found
}

function startsByLuxon(
  unit: CalendarUnit,
  zone: string,
  anchor: CalendarAnchor | undefined,
  now: number,
): number[] {
  const read = readByLuxon(unit, zone, anchor)
  const all = unit === 'h' ? hoursByLuxon(zone, read, now) : datesByLuxon(unit, zone, read, now)
  const starts = [...new Set(all)].sort((a, b) => a - b)
  const next = starts.findIndex((start) => start > now)
  return starts.slice(next - 2, next + 2)
}

describe.each(UNITS)('for any zone, anchor and instant, %s windows', (unit) => {
  it('start where luxon says', () => {
    const check = ([{ zone, now }, anchor]: [
      { zone: string; now: number },
      CalendarAnchor | undefined,
    ]): void => {
      const starts = createCalendar(unit, zone, anchor).startsAround(now)
      expect(starts.map(utc)).toEqual(startsByLuxon(unit, zone, anchor, now).map(utc))
    }
    fc.assert(fc.property(casesOf(unit), check), { numRuns: unit === 'h' ? 300 : 1000 })
  }, 60_000)

  it('touch, contain their instants and are no longer than the longest', () => {
    fc.assert(
      fc.property(casesOf(unit), ([{ zone, now }, anchor]) => {
        const calendar = createCalendar(unit, zone, anchor)
        const starts = calendar.startsAround(now)
        const [previous, current, next, following] = starts
        expect(current <= now && now < next).toBe(true)
        expect(starts.every(Number.isInteger)).toBe(true)
        const lengths = [current - previous, next - current, following - next]
        expect(Math.min(...lengths)).toBeGreaterThan(0)
        expect(Math.max(...lengths)).toBeLessThanOrEqual(calendar.maxWindowMs)
      }),
      { numRuns: 1000 },
    )
  }, 60_000)

  it('are the same seen from any instant in them, and from their neighbours', () => {
    const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(casesOf(unit), share, ([{ zone, now }, anchor], part) => {
        // A calendar of its own for each instant, so that no answer is one it kept.
        const around = (ms: number) => createCalendar(unit, zone, anchor).startsAround(ms)
        const starts = around(now)
        const [previous, current, next, following] = starts
        expect(around(current + Math.floor((next - current) * part))).toEqual(starts)
        expect(around(current)).toEqual(starts)
        expect(around(next - 1)).toEqual(starts)
        expect(around(current - 1).slice(1)).toEqual([previous, current, next])
        expect(around(next).slice(0, 3)).toEqual([current, next, following])
      }),
      { numRuns: 500 },
    )
  }, 60_000)
})
