// What the page of a customer's usage shows of each limit.
import type { Look } from '../../src/limiter/look.js'
import { pageOf } from '../../src/http/usage/page.js'
import { reportOf, type UsageOfLimit } from '../../src/http/usage/report.js'

const NOW = Date.parse('2030-01-30T12:00:00.400Z')
const MONTH: UsageOfLimit = {
  ...{ name: 'month', quota: 5000, unit: 'units', windowSeconds: 2_592_000, used: 0, remaining: 5000 },
  ...{ resetSeconds: 0, resetsAt: null },
}

const AT = { atMs: NOW, timeZones: [] }

/** The text of the page's only limit, without tags, and how it is marked. */
function shown(
  limit: Partial<UsageOfLimit>,
  timeZone?: string,
): { kind: string; width: string; text: string } {
  const page = pageOf({ limits: [{ ...MONTH, ...limit }] }, { atMs: NOW, timeZones: [timeZone] })
  const [, kind = '?', inside = ''] = /<li class="(.*?)">([^]*?)<\/li>/.exec(page) ?? []
  const [, width = '?'] = /<rect width="(.*?)"/.exec(inside) ?? []
  const text = inside
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return { kind, width, text }
}

interface Row {
  readonly of: Partial<UsageOfLimit>
  readonly kind?: string
  readonly width: string
  readonly text: string
  /** Default: UTC, as for a month of the calendar. */
  readonly timeZone?: string | null
}

const rows: Readonly<Record<string, Row>> = {
  'nothing used': { of: {}, width: '0.0', text: 'month 5,000 a month 0 used, 5,000 left' },
  'a part': {
    of: { used: 1250, remaining: 3750, resetSeconds: 129_600, resetsAt: '2030-02-01T00:00:00.000Z' },
    ...{
      width: '25.0',
      text: 'month 5,000 a month 1,250 used, 3,750 left more on 1 February 2030, 00:00 (UTC)',
    },
  },
  'a month of another time zone, with another name': {
    of: {
      ...{ name: 'invoice', used: 1250, remaining: 3750 },
      ...{ resetSeconds: 126_000, resetsAt: '2030-01-31T23:00:00.000Z' },
    },
    timeZone: 'Europe/Berlin',
    ...{
      width: '25.0',
      text: 'invoice 5,000 a month 1,250 used, 3,750 left more on 1 February 2030, 00:00 (Europe/Berlin)',
    },
  },
  'four fifths': {
    of: { used: 4000, remaining: 1000, resetSeconds: 60, resetsAt: '2030-01-30T12:01:01.000Z' },
    ...{ kind: 'near', width: '80.0', text: 'month 5,000 a month 4,000 used, 1,000 left more in 1 minute' },
  },
  'all of it': {
    of: { used: 5000, remaining: 0 },
    ...{ kind: 'full', width: '100.0', text: 'month 5,000 a month 5,000 used, 0 left' },
  },
  'more than that, which nothing denies': {
    of: { used: 5000, remaining: 0, over: 70 },
    ...{ kind: 'near', width: '100.0', text: 'month 5,000 a month 5,000 used, 0 left, 70 beyond the quota' },
  },
  'a top-up': {
    of: { used: 5000, remaining: 200, toppedUp: 200 },
    ...{
      kind: 'near',
      width: '100.0',
      text: 'month 5,000 a month 5,000 used, 200 left, 200 of them topped up',
    },
  },
  'a bucket that holds more than its quota': {
    of: { name: 'second', quota: 50, windowSeconds: 1, used: 50, remaining: 50 },
    ...{ width: '50.0', text: 'second 50 a second 50 used, 50 left' },
  },
  '30 days that are no month': {
    of: { quota: 10, used: 1, remaining: 9 },
    timeZone: null,
    ...{ width: '10.0', text: 'month 10 in 30 days 1 used, 9 left' },
  },
  'requests in flight': {
    of: {
      name: 'concurrent',
      unit: 'concurrent-requests',
      quota: 5,
      windowSeconds: 0,
      used: 2,
      remaining: 3,
    },
    ...{ width: '40.0', text: 'concurrent 5 at a time 2 used, 3 left' },
  },
}

test.each(Object.entries(rows))('%s', (_, { of, kind = '', width, text, timeZone = 'UTC' }) => {
  expect(shown(of, timeZone ?? undefined)).toEqual({ kind, width, text })
})

test('the time of the page is not one to come', () => {
  expect(pageOf({ limits: [] }, { atMs: Date.parse('2030-01-30T12:00:59.999Z'), timeZones: [] })).toContain(
    'As of 30 January 2030, 12:00 (UTC).',
  )
})

test('no limits at all, and a block', () => {
  expect(pageOf({ plan: 'staff', limits: [] }, AT)).toContain('Your requests are not limited.')
  const blocked = pageOf({ limits: [], blocked: { until: null } }, AT)
  expect(blocked).toContain('All requests are denied at the moment.')
  expect(blocked).not.toContain('not limited')
})

test('a time is rounded up to the second, so that a month ends when it ends', () => {
  const resetMs = Date.parse('2030-02-01') - NOW - 7
  const limit = { name: 'month', quota: 10, windowMs: 2_592_000_000, used: 1, remaining: 9, resetMs }
  const seen = { decision: { plan: 'free' }, limits: [{ ...limit, timeZone: 'UTC' }], atMs: NOW }
  const [toldOf] = reportOf(seen as unknown as Look, true).limits
  expect(toldOf).toMatchObject({ resetsAt: '2030-02-01T00:00:00.000Z', resetSeconds: 129_600 })
})
