import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import { DateTime } from 'luxon'
import { createCalendar, isAnchor, type CalendarUnit } from '../../src/calendar/calendar.js'
import { isTimeZone } from '../../src/calendar/time-zone.js'
import { createLimiter, type LimitOptions } from '../../src/index.js'
import { createLimitSet } from '../../src/plans/limit/limit.js'

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo',
  'Africa/Cairo',
  'Asia/Beirut',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
  'Pacific/Apia',
]

const instants = fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2060, 0) })
const LUXON_UNITS = { h: 'hour', d: 'day', week: 'week', month: 'month', year: 'year' } as const

function iso(unit: CalendarUnit, zone: string, at: string, anchor?: number | string): string[] {
  const starts = createCalendar(unit, zone, anchor).startsAround(Date.parse(at))
  return starts.slice(1, 3).map((ms) => new Date(ms).toISOString().replace(':00.000Z', 'Z'))
}

describe('the current window, and the start of the next', () => {
  test.each<[CalendarUnit, string, number | string | undefined, string, string, string]>([
    // plain
    ['h', 'UTC', undefined, '2026-05-05T10:20:30Z', '2026-05-05T10:00Z', '2026-05-05T11:00Z'],
    ['d', 'UTC', undefined, '2026-05-05T10:20:30Z', '2026-05-05T00:00Z', '2026-05-06T00:00Z'],
    ['week', 'UTC', undefined, '2026-05-05T10:20:30Z', '2026-05-04T00:00Z', '2026-05-11T00:00Z'],
    ['month', 'UTC', undefined, '2026-05-05T10:20:30Z', '2026-05-01T00:00Z', '2026-06-01T00:00Z'],
    // half-hour offsets
    ['h', 'Asia/Kolkata', undefined, '2026-05-05T10:20:00Z', '2026-05-05T09:30Z', '2026-05-05T10:30Z'],
    // days of 23 and 25 hours
    ['d', 'Europe/Berlin', undefined, '2026-03-29T12:00:00Z', '2026-03-28T23:00Z', '2026-03-29T22:00Z'],
    ['d', 'Europe/Berlin', undefined, '2026-10-25T12:00:00Z', '2026-10-24T22:00Z', '2026-10-25T23:00Z'],
    // a midnight that does not exist: the day begins at one
    ['d', 'America/Sao_Paulo', undefined, '2018-11-04T12:00:00Z', '2018-11-04T03:00Z', '2018-11-05T02:00Z'],
    // billing days: a short month ends on its last day, and the day does not drift
    ['month', 'UTC', 31, '2026-02-10T00:00:00Z', '2026-01-31T00:00Z', '2026-02-28T00:00Z'],
    ['month', 'UTC', 31, '2026-03-10T00:00:00Z', '2026-02-28T00:00Z', '2026-03-31T00:00Z'],
    ['month', 'UTC', 31, '2028-02-29T00:00:00Z', '2028-02-29T00:00Z', '2028-03-31T00:00Z'],
    [
      'month',
      'Europe/Berlin',
      '2025-01-15T09:30',
      '2026-06-15T07:29:59Z',
      '2026-05-15T07:30Z',
      '2026-06-15T07:30Z',
    ],
    // years: 29 February is the 28th in most of them
    ['year', 'UTC', undefined, '2026-05-05T10:20:30Z', '2026-01-01T00:00Z', '2027-01-01T00:00Z'],
    ['year', 'UTC', '2024-02-29', '2026-05-05T00:00:00Z', '2026-02-28T00:00Z', '2027-02-28T00:00Z'],
    ['year', 'UTC', '2024-02-29', '2028-02-29T00:00:00Z', '2028-02-29T00:00Z', '2029-02-28T00:00Z'],
    ['year', 'Europe/Berlin', '2020-07-01', '2026-05-05T00:00:00Z', '2025-06-30T22:00Z', '2026-06-30T22:00Z'],
    // weekdays and times of day
    ['week', 'UTC', 7, '2026-05-05T10:20:30Z', '2026-05-03T00:00Z', '2026-05-10T00:00Z'],
    ['d', 'UTC', '2020-01-01T06:00', '2026-05-05T05:00:00Z', '2026-05-04T06:00Z', '2026-05-05T06:00Z'],
    ['h', 'UTC', '2020-01-01T00:15', '2026-05-05T05:00:00Z', '2026-05-05T04:15Z', '2026-05-05T05:15Z'],
  ])('%s in %s, anchor %p, at %s', (unit, zone, anchor, at, start, end) => {
    expect(iso(unit, zone, at, anchor)).toEqual([start, end])
  })
})

describe('against an independent calendar', () => {
  test.each(['d', 'week', 'month', 'year'] as const)('%s', (unit) => {
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), instants, (zone, now) => {
        const local = DateTime.fromMillis(now, { zone })
        const start = local.startOf(LUXON_UNITS[unit])
        const starts = createCalendar(unit, zone).startsAround(now)
        expect(starts[1]).toBe(start.toMillis())
        expect(starts[2]).toBe(
          start
            .plus({ [LUXON_UNITS[unit]]: 1 })
            .startOf(LUXON_UNITS[unit])
            .toMillis(),
        )
      }),
      { numRuns: cases(200, 1500) },
    )
  })

  test('a billing day', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), instants, fc.integer({ min: 1, max: 31 }), (zone, now, day) => {
        const inMonth = (month: DateTime): DateTime =>
          month.set({ day: Math.min(day, month.daysInMonth ?? 31) }).startOf('day')
        const month = DateTime.fromMillis(now, { zone }).startOf('month')
        const candidates = [-1, 0, 1].map((months) => inMonth(month.plus({ months })).toMillis())
        const expected = candidates.filter((ms) => ms <= now).at(-1)
        expect(createCalendar('month', zone, day).startsAround(now)[1]).toBe(expected)
      }),
      { numRuns: cases(200, 1500) },
    )
  })
})

test('windows have no gaps: every instant is in exactly one, and all instants of a window give the same', () => {
  const anchors = fc.constantFrom(undefined, '2024-01-31T02:30', '2024-01-31T00:15:30')
  const units = fc.constantFrom<CalendarUnit>('h', 'd', 'week', 'month', 'year')
  fc.assert(
    fc.property(
      units,
      fc.constantFrom(...ZONES),
      anchors,
      instants,
      fc.double({ min: 0, max: 1, noNaN: true }),
      (unit, zone, anchor, now, part) => {
        const calendar = createCalendar(unit, zone, anchor)
        const [before, start, end, after] = calendar.startsAround(now)
        expect([before < start, start <= now, now < end, end < after]).toEqual([true, true, true, true])
        expect(end - start).toBeLessThanOrEqual(calendar.maxWindowMs)
        const inside = Math.min(start + Math.floor((end - start) * part), end - 1)
        expect(createCalendar(unit, zone, anchor).startsAround(inside).slice(1, 3)).toEqual([start, end])
        expect(createCalendar(unit, zone, anchor).startsAround(end)[1]).toBe(end)
      },
    ),
    { numRuns: cases(300, 2000) },
  )
})

test('which values are time zones and anchors', () => {
  expect(['Europe/Berlin', 'UTC', 'Mars/Olympus', '', 'Berlin'].map(isTimeZone)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
  expect(
    [1, 31, 0, 32, 1.5, '2026-01-31', '2026-02-31', 'x', new Date(0), new Date(Number.NaN), {}].map((a) =>
      isAnchor('month', a),
    ),
  ).toEqual([true, true, false, false, false, true, false, false, true, false, false])
  expect([isAnchor('week', 7), isAnchor('week', 8), isAnchor('d', 1), isAnchor('h', 1)]).toEqual([
    true,
    false,
    false,
    false,
  ])
})

describe('what a subject has used of a calendar window', () => {
  type Calendar = Pick<LimitOptions, 'window' | 'timeZone' | 'anchor'>
  const limitOf = (calendar: Calendar, quota = 5): LimitOptions => ({
    quota,
    algorithm: 'fixed-window',
    ...calendar,
  })
  const stateIdOf = (calendar: Calendar): number | undefined =>
    createLimitSet(limitOf(calendar)).limits[0]?.stateId

  test.each<[Calendar, Calendar]>([
    [{ window: 'month' }, { window: 'month', anchor: 1 }],
    [{ window: 'month' }, { window: 'month', anchor: '2026-05-01', timeZone: 'UTC' }],
    [
      { window: 'month', anchor: 31 },
      { window: 'month', anchor: new Date('2026-01-31') },
    ],
    [{ window: 'month' }, { window: 'month', timeZone: 'utc' }],
    [{ window: 'month' }, { window: '1 months', timeZone: 'Etc/UTC' }],
    [
      { window: 'd', timeZone: 'Europe/Berlin' },
      { window: 'd', timeZone: 'europe/berlin' },
    ],
    [
      { window: 'd', timeZone: 'Asia/Kolkata' },
      { window: 'd', timeZone: 'Asia/Calcutta' },
    ],
    [
      { window: 'd', timeZone: 'America/New_York' },
      { window: 'd', timeZone: 'US/Eastern' },
    ],
    [
      { window: 'd', anchor: '2026-01-31T09:30' },
      { window: 'd', anchor: '2020-05-05T09:30:00' },
    ],
    [
      { window: 'week', timeZone: 'UTC' },
      { window: 'week', anchor: 1 },
    ],
    [
      { window: 'week', anchor: '2026-01-05' },
      { window: 'week', anchor: '2026-02-09' },
    ],
    [
      { window: 'h', timeZone: 'UTC' },
      { window: 'h', timeZone: 'America/New_York' },
    ],
    [
      { window: 'h', anchor: '2026-01-31T09:30' },
      { window: 'h', anchor: '2026-01-01T17:30' },
    ],
  ])('counts on when %p becomes %p, the same windows', async (before, after) => {
    expect(stateIdOf(after)).toBe(stateIdOf(before))
    const limiter = createLimiter({ plans: { p: [limitOf(before)] } })
    await limiter.consume('acme', { cost: 3 })
    limiter.setPlans({ p: [limitOf(after)] })
    expect(await limiter.peek('acme')).toMatchObject({ limits: [{ remaining: 2 }] })
  })

  test('is separate for windows that start at other times', () => {
    const others: Calendar[] = [
      { window: 'month' },
      { window: 'month', anchor: 2 },
      { window: 'month', anchor: '2026-01-01T00:30' },
      { window: 'month', timeZone: 'Europe/Berlin' },
      { window: 'month', timeZone: 'Europe/London' },
      { window: 'month', timeZone: 'America/New_York' },
      { window: 'month', timeZone: 'America/Havana' },
      { window: 'd', timeZone: 'UTC' },
      { window: 'd', timeZone: 'Asia/Kolkata' },
      { window: 'd', anchor: '2026-01-31T09:30' },
      { window: 'week', timeZone: 'UTC' },
      { window: 'week', anchor: 2 },
      { window: 'h', timeZone: 'UTC' },
      { window: 'h', timeZone: 'Asia/Kolkata' },
      { window: 'h', anchor: '2026-01-31T09:30' },
    ]
    expect(new Set(others.map(stateIdOf)).size).toBe(others.length)
  })

  test('is kept under the same id on every version of Node', () => {
    expect(
      ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Pacific/Apia'].map((timeZone) =>
        stateIdOf({ window: 'month', timeZone }),
      ),
    ).toEqual([746942154, 773865325, 721165510, 740389212, 676357769])
  })
})
