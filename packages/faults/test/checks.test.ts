import type { Entry } from '../src/application.ts'
import { violationsOf } from '../src/checks.ts'
import type { Run } from '../src/figures.ts'
import { CONTROL, CONTROLS, EVERY_CHECK, FLOODING, GOOD, LEASED, UNTIMED_CHECKS } from '../src/settings.ts'
import { REDIS } from '../src/stores/redis.ts'
import { planOf } from '../src/stores/store.ts'
import {
  answersOf,
  BEGAN,
  entry,
  every,
  OPENED,
  RETURNED,
  runWith,
  wellEntries,
  type Change,
} from './good-run.ts'

const judge = (change?: Change): string[] => violationsOf(runWith(change), EVERY_CHECK)
const change = (isIt: (entry: Entry) => boolean, more: Partial<Entry>): Entry[] =>
  wellEntries.map((each) => (isIt(each) ? { ...each, ...more } : each))
const inFault = ({ at }: Entry): boolean => at >= BEGAN && at < RETURNED
const isOpen = ({ at }: Entry): boolean => at >= OPENED && at < RETURNED
const isGood = ({ who }: Entry): boolean => GOOD.includes(who)
const asLocal = change((each) => inFault(each) && !CONTROLS.includes(each.who), { source: 'local' }).filter(
  ({ who, at }) => who !== FLOODING || !inFault({ at } as Entry) || at % 20 === 0,
)

test('a good run has no violations', () => {
  expect(judge()).toEqual([])
})

test('neither has a good run with the policy local, where the flooding tenant gets its plan', () => {
  expect(judge({ policy: 'local' as Run['policy'], entries: asLocal })).toEqual([])
})

test('denials by the store need not be instant once the breaker is closed, as after a failover', () => {
  const middle = OPENED + 500
  const entries = change(({ who, at }) => who === FLOODING && at >= middle && at < RETURNED, {
    status: 429,
    source: '',
    ms: 5,
  })
  const breaker = [
    { at: OPENED, state: 'open' as const },
    { at: middle, state: 'closed' as const },
  ]
  expect(judge({ entries, breaker })).toEqual([])
  expect(judge({ entries })).toEqual([expect.stringContaining('at once while it is open: 5.0 ms')])
})

test('a slow machine excuses late answers, but not wrong ones', () => {
  const entries = change((each) => isGood(each) && isOpen(each), { ms: 3 })
  const lost = { who: 'acme', sentAt: BEGAN, ms: 5000, status: 0, error: 'no answer' }
  const answers = [...answersOf(entries), lost]
  expect(judge({ entries })).toHaveLength(1)
  expect(violationsOf(runWith({ entries }), UNTIMED_CHECKS)).toEqual([])
  expect(violationsOf(runWith({ entries, answers }), UNTIMED_CHECKS)).toHaveLength(1)
})

describe('a violation is reported', () => {
  const [first = entry('acme', 0)] = wellEntries
  const unanswered = [
    ...answersOf(wellEntries),
    { who: 'acme', sentAt: BEGAN, ms: 5000, status: 0, error: 'no answer' },
  ]
  const someLate = (share: number): ((each: Entry) => boolean) => {
    let seen = 0
    return (each) => isGood(each) && isOpen(each) && (seen += 1) % Math.round(1 / share) === 0
  }
  const burst = (count: number, at: number, source: string): Entry[] => [
    ...wellEntries.filter((each) => each.who !== FLOODING),
    ...Array.from({ length: count }, (_, i) => entry(FLOODING, at + i / 10, { source, ms: 0 })),
  ]
  const small = planOf(REDIS, FLOODING)?.quota ?? 0
  const leased = planOf(REDIS, LEASED)?.quota ?? 0
  // All in one window, which is longer than a run.
  const overLeased = [...wellEntries, ...every(1, BEGAN, BEGAN + leased).map((at) => entry(LEASED, at))]

  test.each<[what: string, change: Change, told: string]>([
    ['a request without an answer', { answers: unanswered }, 'answered: 1 requests had no answer: no answer'],
    ['a run without requests', { answers: [] }, 'answered: no request was sent'],
    [
      'answers after the deadline',
      { entries: change((each) => isGood(each) && each.at >= BEGAN && each.at < OPENED, { ms: 130 }) },
      'in time before the breaker opens: 130.0 ms at p99 in the fault (101.0 for a timer without a limiter)',
    ],
    [
      'late answers while all is well',
      { entries: change((each) => isGood(each) && each.at < BEGAN, { ms: 130 }) },
      'in time before the breaker opens: 130.0 ms at p99 outside of it (101.0 for a timer without a limiter)',
    ],
    [
      'answers that wait while the breaker is open',
      { entries: change(someLate(0.05), { ms: 3 }) },
      'at once while it is open: 3.0 ms at p99 (0.2 without a limiter)',
    ],
    ['a breaker that stays closed', { breaker: [] }, 'the breaker opens: it stayed closed'],
    [
      'one that opened before the fault only',
      { breaker: [{ at: BEGAN - 500, state: 'open' }] },
      'the breaker opens: it stayed closed',
    ],
    ['no breaker', { hasBreaker: false, breaker: [] }, 'the breaker opens: there is none'],
    [
      'a good tenant turned away',
      { entries: change((each) => each === first, { status: 503 }) },
      `who is let in: ${first.who} got 503, 1 times`,
    ],
    [
      'a good tenant limited, under closed',
      {
        policy: 'closed',
        entries: change(inFault, { status: 503, source: '' }).map((each) =>
          each === first
            ? { ...each, status: 429 }
            : CONTROLS.includes(each.who)
              ? { ...each, status: 200 }
              : each,
        ),
      },
      `who is let in: ${first.who} got 429, 1 times`,
    ],
    [
      'who is let in by another policy',
      { entries: change((each) => each === first, { source: 'local' }) },
      `who is let in: ${first.who} was let in by local, 1 times`,
    ],
    [
      'too many by the store after a restart',
      { fault: { name: 'killed', forgets: true }, entries: burst(small + 1, RETURNED + 1000, 'store') },
      `no more than the plan: flooding got ${small + 1} in a window outside the fault, bound ${small}`,
    ],
    [
      'too many by the store in the fault',
      { entries: burst(small + 1, BEGAN + 1000, 'store') },
      `no more than the plan: flooding got ${small + 1} in a window by the store, bound ${small}`,
    ],
    [
      'more than two quotas around a restart',
      { fault: { name: 'killed', forgets: true }, entries: burst(2 * small + 1, BEGAN + 1000, 'store') },
      `no more than the plan: flooding got ${2 * small + 1} in a window by the store, bound ${2 * small}`,
    ],
    [
      'too many by this process alone',
      {
        policy: 'local' as Run['policy'],
        entries: [...asLocal, ...burst(small + 1, BEGAN + 999, 'local').slice(-small - 1)],
      },
      `no more than the plan: flooding got`,
    ],
    [
      'more from a lease and the store together than the plan',
      { entries: overLeased },
      `no more than the plan: leased got ${leased + 50} in a window by the store, bound ${leased}`,
    ],
    [
      'a lease for a tenant whose plan has none',
      { entries: [...wellEntries, entry('acme', BEGAN - 1, { source: 'lease' })] },
      'who is let in: acme was let in by lease, 1 times',
    ],
    [
      'a run without a lease',
      { entries: wellEntries.filter(({ source }) => source !== 'lease') },
      'leases are served: no request was served from a lease before the fault',
    ],
    [
      'a limiter that comes back late',
      {
        entries: change(
          (each) => each.at >= RETURNED && each.at < RETURNED + 1500 && !CONTROLS.includes(each.who),
          {
            source: 'open',
          },
        ),
      },
      'back in time: 1501 ms after the store',
    ],
    [
      'one that does not',
      { entries: change((each) => each.at >= RETURNED && !CONTROLS.includes(each.who), { source: 'open' }) },
      'back at all: it never asked the store again',
    ],
    [
      'one that only tries now and then',
      {
        entries: change(
          (each) => each.at >= RETURNED && !CONTROLS.includes(each.who) && (each.at - RETURNED) % 1000 > 0,
          {
            source: 'open',
          },
        ),
      },
      'back in time: only 1 % of answers are the store',
    ],
    [
      'a crash',
      { exit: { code: 1, signal: null, isByItself: true, stderr: 'Error: oh' } },
      'no crash: it ended with 1: Error: oh',
    ],
    [
      'an end by a signal',
      { exit: { code: null, signal: 'SIGSEGV', isByItself: true, stderr: '' } },
      'no crash: it ended with SIGSEGV: ',
    ],
    [
      'an application that does not end',
      { exit: { code: null, signal: 'SIGKILL', isByItself: false, stderr: '' } },
      'no crash: it did not end',
    ],
    [
      'an unhandled rejection',
      { exit: { code: 0, signal: null, isByItself: true, stderr: 'x\n(node) UnhandledPromiseRejection: y' } },
      'no crash: (node) UnhandledPromiseRejection: y',
    ],
  ])('%s', (_, given, told) => {
    expect(judge(given)).toEqual([expect.stringContaining(told)])
  })

  test('but not for a check that is off', () => {
    const checks = { ...EVERY_CHECK, 'the breaker opens': false }
    expect(violationsOf(runWith({ breaker: [] }), checks)).toEqual([])
  })
})

describe('what is allowed', () => {
  test.each<[what: string, change: Change]>([
    ['a quota before a restart and one after it', { fault: { name: 'killed', forgets: true } }],
    [
      'no return from a fault for good',
      {
        fault: { name: 'hangs for good', isForGood: true },
        returnedAt: undefined,
        entries: wellEntries.filter(({ at }) => at < RETURNED),
      },
    ],
    [
      'a breaker that stays closed while some calls succeed',
      { fault: { name: 'reset', isPartial: true }, breaker: [] },
    ],
    [
      'one late answer in two hundred while the breaker is open',
      {
        entries: wellEntries.map((each, i) => (isOpen(each) && i % 200 === 0 ? { ...each, ms: 50 } : each)),
      },
    ],
    [
      'answers as late as any timer of a busy machine',
      {
        entries: change(({ who, at }) => at >= BEGAN && at < OPENED && who !== CONTROL && who !== FLOODING, {
          ms: 150,
        }),
      },
    ],
  ])('%s', (_, given) => {
    expect(judge(given)).toEqual([])
  })

  test('windows have the length of the plan', () => {
    expect(planOf(REDIS, FLOODING)?.windowMs).toBe(500)
  })
})

describe('bookings', () => {
  const forgetful = { fault: { name: 'killed and restarted', forgets: true } }
  const lasting = { fault: { name: 'hangs for good', isForGood: true }, returnedAt: undefined }

  test.each([
    ['an order whose answer was lost counts, or not', { booked: { units: 95 } }],
    [
      'a store that lost its data has none of before',
      { ...forgetful, booked: { units: 20, countedAgain: 3 } },
    ],
    ['a store that hangs for good says nothing', { ...lasting, booked: { units: undefined } }],
  ])('%s', (_, change) => {
    expect(judge(change as Change).filter((what) => what.startsWith('bookings'))).toEqual([])
  })

  test.each([
    [
      'one was lost',
      { booked: { units: 90 } },
      'the store has 90 units, and 19 to 20 orders of 5 were booked',
    ],
    ['one counted twice', { booked: { units: 105 } }, 'the store has 105 units'],
    ['one counted twice after a loss', { ...forgetful, booked: { units: 105 } }, 'the store has 105 units'],
    ['a repeated one counted', { booked: { countedAgain: 1 } }, '1 counted again when they were repeated'],
    ['none was answered', { booked: { answered: 0 } }, 'none was answered'],
    ['nobody says', { booked: { units: undefined } }, 'the store did not say what it has of them'],
  ])('%s', (_, change, says) => {
    expect(judge(change as Change)).toEqual([expect.stringContaining(`bookings count once: ${says}`)])
  })
})
