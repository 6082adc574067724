// What an error about a limit says to type. Each suggestion is a limit that works.
import fc from 'fast-check'
import { cases } from '@tollgate/testing'
import { createLimiter, type ConfigError, type LimiterOptions } from '../../src/index.js'
import { meantBy } from '../../src/plans/limit/meant-limit.js'

function errorOf(options: object): ConfigError {
  try {
    createLimiter(options as LimiterOptions)
  } catch (error) {
    return error as ConfigError
  }
  throw new Error('nothing was thrown')
}

/** The limits that an error tells somebody to type. */
const suggestionsIn = (text: string): string[] =>
  [...text.matchAll(/'([^']*\/[^']*)'/g)].map(([, limit]) => limit as string)

describe('a text that is not a limit', () => {
  test.each<[text: string, meant: string]>([
    // rates by their usual names
    ['100rpm', "'100/min'"],
    ['100 RPM', "'100/min'"],
    ['50rps', "'50/s'"],
    ['50 qps', "'50/s'"],
    ['1000 rph', "'1000/h'"],
    ['10r/s', "'10/s'"],
    ['5:min', "'5/min'"],
    // numbers
    ['1e6/month', "'1000000/month'"],
    ['2.5e3/min', "'2500/min'"],
    ['1e3', "'1000/min'"],
    ['1.5k/min', "'1500/min'"],
    ['1 million/month', "'1000000/month'"],
    ['2 thousand per hour', "'2000/h'"],
    ['100 000/min', "'100000/min'"],
    ['1.000.000/month', "'1000000/month'"],
    ['100.000/min', "'100/min' or '100000/min'"],
    // fractions of a unit, and of a window
    ['1.5/s', "'3/2s'"],
    ['1,5/s', "'3/2s'"],
    ['.5/s', "'1/2s'"],
    ['0.1/h', "'1/10h'"],
    ['2.25/min', "'9/4min'"],
    ['1.5/month', "'3/60d'"],
    ['100/0.5min', "'100/30s'"],
    ['100 per 1.5 hours', "'100/90min'"],
    // windows
    ['100/60', "'100/60s' or '100/60ms'"],
    ['60s', "'60/s' or '100/60s'"],
    ['15 minutes', "'15/min' or '100/15min'"],
    ['/min', "'100/min'"],
    ['per minute', "'100/min'"],
    ['daily', "'100/d'"],
    ['100/quarter', "'100/90d'"],
    // for whom
    ['100/min/ip', "'100/min'"],
    ['5 per user per minute', "'5/min'"],
    ['100/min per API user', "'100/min'"],
    ['100/min for each client', "'100/min'"],
    // bursts
    ['10/s burst=20', "'10/s burst 20'"],
    ['10/s, burst: 20', "'10/s burst 20'"],
    ['10/s (burst 1k)', "'10/s burst 1000'"],
    ['10/s burst', "'10/s burst 20'"],
    ['10/s burst -3', "'10/s burst 20'"],
    ['10/s burst 20/s', "'10/s burst 20'"],
    ['100rpm burst 200', "'100/min burst 200'"],
    ['50/s brust 100', "'50/s burst 100'"],
    ['50/s bursts 100', "'50/s burst 100'"],
    ['10/sec burst20', "'10/s burst 20'"],
    ['50/s with a burst of 100', "'50/s burst 100'"],
    ['100 burst 200/s', "'100/s burst 200'"],
    ['5 Burst 20 per 2 hours', "'5/2h burst 20'"],
    ['5 burst 20', "'5/min burst 20'"],
  ])('%s', (limit, meant) => {
    expect(errorOf({ limit }).message).toBe(
      `limit: got '${limit}', expected units and a window, such as ${meant}`,
    )
    for (const suggestion of suggestionsIn(meant)) createLimiter({ limit: suggestion })
  })

  test.each(['100-200/min', '100/min to 200/min', '10/10/10', '0.00001/s', '1e400/min', '5/-1min', 'often'])(
    '%s could mean anything',
    (limit) => {
      expect(errorOf({ limit }).problem).toBe(
        `got '${limit}', expected a limit such as '100/min' or '10/s burst 20' (units of time: ms, s, min, h, d, week, month, year)`,
      )
    },
  )

  test.each([
    ['-5/min', "such as '5/min'; a plan without limits is plans: { internal: 'unlimited' }"],
    ['-1 per hour', "such as '1/h'; a plan without limits is plans: { internal: 'unlimited' }"],
    ['0/min', "such as '100/min'; a plan that lets nothing pass is plans: { suspended: 'blocked' }"],
  ])('%s has no quota', (limit, expected) => {
    expect(errorOf({ plans: { free: limit } }).message).toBe(
      `plans.free: got '${limit}', expected a quota from 1 to 10^12, ${expected}`,
    )
  })

  test('whatever was written, each suggestion is a limit', () => {
    const word = fc.constantFrom(
      ..."1|0|5|1.5|1,5|1.000|1e9|2k|3 million|100|4000|0.001|-|_|'".split('|'),
      ...'/| per | |:|req|rpm|s|min|m|h|d|month|years|ms|week|quarter'.split('|'),
      ...[' burst ', 'burst=', 'bust', ' with ', '20', '1e12', ' every ', '/user'],
    )
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 6 }), (words) => {
        for (const limit of suggestionsIn(meantBy(words.join('')) ?? '')) createLimiter({ limit })
      }),
      { numRuns: cases(500, 20_000) },
    )
  })
})

test.each<[window: string, meant: string]>([
  ['15 mins', "'15min'"],
  ['hourly', "'h'"],
  ['1.5 h', "'90min'"],
  ['60', "'60s' or '60ms'"],
  ['m', "'min' or 'month'"],
])('a window of %j', (window, meant) => {
  expect(errorOf({ limit: { quota: 5, window } }).message).toBe(
    `limit.window: got '${window}', expected a time such as ${meant}`,
  )
})

describe('what stands for no limit, or for none at all', () => {
  const NOTHING = [
    null,
    undefined,
    false,
    true,
    Number.POSITIVE_INFINITY,
    0,
    -1,
    'none',
    'no limit',
    'Infinity',
    '∞/min',
  ]
  const OTHERS = ['infinite', 'unlimited/min', 'NO_LIMIT', 'off', 'null', '0', '-1']

  test.each([...NOTHING, ...OTHERS])('as a plan: %p', (pro) => {
    expect(errorOf({ plans: { free: '5/min', pro } })).toMatchObject({
      path: 'plans.pro',
      problem: expect.stringMatching(
        /^got .+, expected a limit such as '100\/min'; for no limit write 'unlimited', to let nothing pass 'blocked'$/,
      ),
    })
    expect(errorOf({ plans: { free: '5/min', pro: { limits: pro } } }).path).toBe('plans.pro.limits')
  })

  test.each([null, Number.POSITIVE_INFINITY, 'none', false])('in a list: %p', (none) => {
    expect(errorOf({ plans: { pro: ['5/min', none] } })).toMatchObject({
      path: 'plans.pro[1]',
      problem: expect.stringMatching(/, expected a limit such as '100\/min'; leave it out of the list$/),
    })
  })

  test.each<[limit: number | null, remedy: string]>([
    [null, "for no limit at all write plans: { free: '100/min', internal: 'unlimited' }"],
    [Number.POSITIVE_INFINITY, "for no limit at all write plans: { free: '100/min', internal: 'unlimited' }"],
    [0, "to deny all requests write plans: { free: '100/min', suspended: 'blocked' }"],
  ])('as the only limit: %p', (limit, remedy) => {
    expect(errorOf({ limit }).problem).toBe(`got ${limit}, expected a limit such as '100/min'; ${remedy}`)
  })

  test.each([Number.POSITIVE_INFINITY, null, 0, -1])('as a quota: %p', (quota) => {
    expect(errorOf({ plans: { pro: { quota, window: 'min' } } }).message).toBe(
      `plans.pro.quota: got ${quota}, expected a whole number of units from 1 to 10^12, such as 100; a plan without limits is 'unlimited', one that lets nothing pass is 'blocked'`,
    )
  })

  test.each([
    { concurrent: Number.POSITIVE_INFINITY },
    { concurrent: null },
    '∞ concurrent',
    'unlimited concurrent',
  ])('as requests in flight: %p', (limit) => {
    expect(errorOf({ plans: { pro: ['5/min', limit] } }).problem).toMatch(/; for no such limit leave it out$/)
  })

  test('in a group, and brought by a subject, where nobody can be blocked', async () => {
    const limiter = createLimiter({ limit: '5/min' })
    expect(() => limiter.scope({ group: 'a', limit: null as never })).toThrow(
      /^limit: got null, expected a limit such as '100\/min'; for no limit write 'unlimited'$/,
    )
    expect(() => limiter.consume({ id: 'acme', limits: 0 as never })).toThrow(
      /^subject\.limits: got 0, expected a limit such as '100\/min'; for no limit write 'unlimited'$/,
    )
  })
})

describe('an algorithm by another name', () => {
  const ALL = "(there are 'token-bucket', 'fixed-window', 'sliding-window', 'sliding-log')"
  test.each([
    ...[
      'gcra',
      'GCRA',
      'leaky-bucket',
      'leakyBucket',
      'leaky',
      'tokenBucket',
      'token_bucket',
      'token',
      'bucket',
    ].map((name) => [name, 'token-bucket']),
    ...['slidingWindow', 'sliding_window', 'Sliding Window', 'sliding', 'sliding-window-counter'].map(
      (name) => [name, 'sliding-window'],
    ),
    ...[
      'slidingLog',
      'sliding-window-log',
      'log',
      'rolling',
      'rollingWindow',
      'moving-window',
      'sliding-lgo',
    ].map((name) => [name, 'sliding-log']),
    ...['fixedWindow', 'fixed', 'window', 'calendar', 'calendar-window', 'counter'].map((name) => [
      name,
      'fixed-window',
    ]),
  ])('%s is %s', (algorithm, nearest) => {
    expect(errorOf({ limit: { quota: 5, window: 'min', algorithm } }).message).toBe(
      `limit.algorithm: got '${algorithm}', expected '${nearest}' ${ALL}`,
    )
  })

  test.each(['concurrency', 'inFlight', 'semaphore'])('%s is a limit of its own', (algorithm) => {
    expect(errorOf({ limit: { quota: 5, window: 'min', algorithm } }).message).toBe(
      `limit.algorithm: got '${algorithm}', expected the limit written as '5 concurrent' or { concurrent: 5 }, without quota and window`,
    )
  })

  test.each([7, null, 'constructor', ''])('%p is none', (algorithm) => {
    expect(errorOf({ limit: { quota: 5, window: 'min', algorithm } }).problem).toContain(
      ", expected one of 'token-bucket', 'fixed-window', 'sliding-window', 'sliding-log'",
    )
  })
})

describe('two limits of one name', () => {
  test.each<[limits: unknown[], message: string]>([
    [['100/min', '200/min'], "plans.pro[1]: got '200/min', which can never deny beside '100/min': remove it"],
    [
      ['200/min', '5/s', '100/min'],
      "plans.pro[0]: got '200/min', which can never deny beside '100/min': remove it",
    ],
    [
      [
        { quota: 5, window: 'h', mode: 'observe' },
        { quota: 9, window: 'h', mode: 'observe' },
      ],
      "plans.pro[1].name: got 'hour', expected a name that no other limit of the plan has: { ..., name: 'hour-2' }",
    ],
    [['5/month', '9/month'], "plans.pro[1]: got '9/month', which can never deny beside '5/month': remove it"],
    [
      ['5/week', { quota: 9, window: '7d', name: 'week' }],
      "plans.pro[1]: got '9/week', which can never deny beside '5/week': remove it",
    ],
    [
      ['5/s burst 9', '6/s burst 9'],
      "plans.pro[1]: got '6/s burst 9', which can never deny beside '5/s burst 9': remove it",
    ],
    [['100/min', '100/min'], "plans.pro[1]: got '100/min' a second time: remove it"],
    // Each of them can deny where the other does not.
    [
      ['100/min', { quota: 60, window: 'min', mode: 'observe' }],
      "plans.pro[1].name: got 'minute', expected a name that no other limit of the plan has: { ..., name: 'minute-2' }",
    ],
    [
      ['5/s burst 20', '6/s burst 9'],
      "plans.pro[1].name: got 'second', expected a name that no other limit of the plan has: { quota: 6, window: 's', burst: 9, name: 'second-2' }",
    ],
    [
      ['5/s burst 20', '15/s'],
      "plans.pro[1].name: got 'second', expected a name that no other limit of the plan has: { quota: 15, window: 's', name: 'second-2' }",
    ],
    [
      [
        '5/min',
        { quota: 9, window: 'min', algorithm: 'fixed-window' },
        { quota: 1, window: 'h', name: 'minute-2' },
      ],
      "plans.pro[1].name: got 'minute', expected a name that no other limit of the plan has: { ..., name: 'minute-3' }",
    ],
    [
      [
        { quota: 9, window: 'min', name: 'a' },
        { quota: 9, window: 'h', name: 'a' },
      ],
      "plans.pro[1].name: got 'a', expected a name that no other limit of the plan has: { ..., name: 'a-2' }",
    ],
    [
      [{ quota: 9, window: 'min', name: 'concurrent' }, '5 concurrent'],
      "plans.pro[1].name: got 'concurrent', expected a name that no other limit of the plan has: { concurrent: 5, name: 'concurrent-2' }",
    ],
  ])('%j', (pro, message) => {
    expect(errorOf({ plans: { free: '5/min', pro } }).message).toBe(message)
  })

  test('each with a name of its own', () => {
    const pro = ['5/s burst 20', { quota: 6, window: 's', burst: 9, name: 'second-2' }]
    createLimiter({ plans: { pro: ['100/min', { quota: 200, window: 'min', name: 'reads' }], free: pro } })
  })
})
