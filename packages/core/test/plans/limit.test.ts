import {
  createLimiter,
  subjectForIp,
  type ConfigError,
  type LimitInput,
  type LimiterOptions,
} from '../../src/index.js'
import { parseLimit } from '../../src/plans/limit/limit.js'
import { needOptions } from '../../src/base/options.js'

function configError(run: () => unknown): ConfigError {
  try {
    run()
  } catch (error) {
    return error as ConfigError
  }
  throw new Error('nothing was thrown')
}

describe('the short notation of a limit', () => {
  test.each([
    // units of time
    ['10/s', 10, 1000, 'second'],
    ['100/min', 100, 60_000, 'minute'],
    ['240/h', 240, 3_600_000, 'hour'],
    ['5/d', 5, 86_400_000, 'day'],
    ['5/week', 5, 604_800_000, 'week'],
    ['5000000/month', 5_000_000, 2_592_000_000, 'month'],
    // counts of units
    ['10000 per 15 min', 10_000, 900_000, '15-minutes'],
    ['5/2500ms', 5, 2500, '2500-ms'],
    ['5/300 ms', 5, 300, '300-ms'],
    ['1/60000ms', 1, 60_000, '60-seconds'],
    ['7/40 d', 7, 3_456_000_000, '40-days'],
    // spelling
    ['  5_000 / minute ', 5000, 60_000, 'minute'],
    ['100 PER Hours', 100, 3_600_000, 'hour'],
  ])('%s', (text, quota, windowMs, name) => {
    expect(parseLimit(text, 'limit')).toMatchObject({ quota, windowMs, name })
  })

  const JANUARY_31 = Date.UTC(2026, 0, 31, 12)
  const us = (text: string): number => Date.parse(text) * 1000

  test.each([
    ['100/min', { algorithm: 'sliding-log' }],
    ['50/s burst 100', { algorithm: 'token-bucket', burst: 100 }],
    ['5/month', { algorithm: 'calendar-window', start1: us('2026-01-01') }],
    [
      { quota: 1, window: 'd', timeZone: 'Europe/Berlin' },
      { algorithm: 'calendar-window', start1: us('2026-01-30T23:00:00Z') },
    ],
    [
      { quota: 1, window: 'month', anchor: 31 },
      { algorithm: 'calendar-window', start1: us('2026-01-31') },
    ],
    [{ quota: 1, window: 'd', algorithm: 'fixed-window' }, { algorithm: 'fixed-window' }],
    [
      { quota: 5, window: 'month', algorithm: 'sliding-log' },
      { algorithm: 'sliding-log', windowMs: 2_592_000_000, windowUs: 2_592_000_000_000 },
    ],
    [
      { quota: 9, window: 1500, algorithm: 'token-bucket' },
      { algorithm: 'token-bucket', burst: 9, windowMs: 1500 },
    ],
    [
      { quota: 9, window: 's', precision: '10ms', name: 'my "limit"' },
      { slotUs: 10_000, name: 'my "limit"' },
    ],
  ] as [LimitInput, object][])('%p has its algorithm', (input, expected) => {
    const { compiled, ...limit } = parseLimit(input, 'limit')
    const told = { ...limit, algorithm: compiled.algorithm, ...compiled.paramsAt(JANUARY_31) }
    expect(told).toMatchObject(expected)
  })
})

describe('bad input is refused at construction, with the path, what was given and what is right', () => {
  test.each([
    // not a limit
    ['100/fortnight', 'plans.free', "such as '100/min'"],
    ['-1/min', 'plans.free', "such as '1/min'"],
    ['0/min', 'plans.free', "such as '100/min'"],
    ['1.5/min', 'plans.free', "such as '3/2min'"],
    ['100/0min', 'plans.free', "such as '100/min'"],
    ['9999999999999999/min', 'plans.free', "such as '100/min'"],
    ['1e400/min', 'plans.free', "such as '100/min'"],
    ['1_/min', 'plans.free', "such as '1/min'"],
    ['unlimted', 'plans.free', "did you mean 'unlimited'?"],
    ['2k/s', 'plans.free', "such as '2000/s'"],
    ['3k per min', 'plans.free', "such as '3000/min'"],
    ['5M/month', 'plans.free', "such as '5000000/month'"],
    ['100req/min', 'plans.free', "such as '100/min'"],
    ['1__000/min', 'plans.free', "such as '1000/min'"],
    ['5/min burst 1_', 'plans.free', "such as '5/min burst 1'"],
    ['', 'plans.free', "such as '100/min'"],
    [100, 'plans.free', "such as '100/min'"],
    [null, 'plans.free', "such as '100/min'"],
    [new Map(), 'plans.free', "such as '100/min'"],
    [['100/min', 'often'], 'plans.free[1]', "such as '100/min'"],
    // quota and window
    [{ quota: Number('1e400'), window: 'min' }, 'plans.free.quota', 'a whole number'],
    [{ quota: '5', window: 'min' }, 'plans.free.quota', 'a whole number'],
    [{ quota: 0, window: 'min' }, 'plans.free.quota', 'a whole number'],
    [{ quota: 5 }, 'plans.free.window', "'15 min'"],
    [{ quota: 5, window: 0.5 }, 'plans.free.window', "'15 min'"],
    [{ quota: 5, window: '4000 d' }, 'plans.free.window', 'up to 3000 d'],
    [{ quota: 5, window: 86_400_001 }, 'plans.free.window', 'whole seconds'],
    [{ quota: 5, window: Number.NaN }, 'plans.free.window', "'15 min'"],
    // algorithm
    [{ quota: 5, window: 'min', algorithm: 'leaky' }, 'plans.free.algorithm', 'sliding-log'],
    [{ quota: 5, window: 'min', algorithm: 'constructor' }, 'plans.free.algorithm', 'sliding-log'],
    // burst
    ['5/min burst 0', 'plans.free.burst', 'from 1'],
    [{ quota: 5, window: 'min', burst: 0.5 }, 'plans.free.burst', 'from 1'],
    [
      { quota: 5, window: 'min', burst: 5, algorithm: 'sliding-log' },
      'plans.free.burst',
      "algorithm: 'token-bucket'",
    ],
    // precision
    [{ quota: 5, window: 'min', precision: '2 min' }, 'plans.free.precision', 'up to the window'],
    [{ quota: 1e6, window: 'h', precision: 1 }, 'plans.free.precision', 'from 220 ms'],
    [
      { quota: 5, window: 'min', precision: 1, algorithm: 'fixed-window' },
      'plans.free.precision',
      "'sliding-log'",
    ],
    // the calendar
    [{ quota: 5, window: 'd', timeZone: 'Berlin' }, 'plans.free.timeZone', 'Europe/Berlin'],
    [{ quota: 5, window: '2 d', timeZone: 'UTC' }, 'plans.free.window', "'month'"],
    [{ quota: 5, window: 'min', timeZone: 'UTC' }, 'plans.free.window', "'month'"],
    [
      { quota: 5, window: 'd', timeZone: 'UTC', algorithm: 'sliding-log' },
      'plans.free.timeZone',
      "'fixed-window'",
    ],
    [{ quota: 5, window: 'month', anchor: 32 }, 'plans.free.anchor', 'from 1 to 31'],
    [{ quota: 5, window: 'week', anchor: 0 }, 'plans.free.anchor', '1 (Monday)'],
    [{ quota: 5, window: 'd', anchor: 1 }, 'plans.free.anchor', 'time of day'],
    // names and typos
    [{ quota: 5, window: 'min', name: '' }, 'plans.free.name', '1 to 64'],
    [{ quota: 5, window: 'min', name: 'x'.repeat(65) }, 'plans.free.name', '1 to 64'],
    [['5/min', '9/min'], 'plans.free[1]', "can never deny beside '5/min': remove it"],
    [['5/min', '9/min burst 9'], 'plans.free[1].name', 'no other limit'],
    [[], 'plans.free', 'at least one limit'],
    [Array(1), 'plans.free[0]', "such as '100/min'"],
    ['1/30d burst 10000000000', 'plans.free.burst', 'within 3000 d'],
  ])('%p', (limit, path, expected) => {
    const error = configError(() => createLimiter({ plans: { free: limit as LimitInput } }))
    expect(error).toMatchObject({ code: 'ERR_TOLLGATE_CONFIG', path })
    expect(error.message).toContain(`${path}: got `)
    expect(error.problem).toContain(expected)
  })

  test.each([
    [undefined, 'options'],
    [null, 'options'],
    [[], 'options'],
    [new Map(), 'options'],
    [{}, ''],
    [{ limit: undefined }, 'limit'],
    [{ plans: undefined }, 'plans'],
    [{ plans: {} }, 'plans'],
    [{ plans: [] }, 'plans'],
    [{ plans: { internal: 'unlimited' } }, 'plans'],
    [{ limit: 'unlimited' }, 'limit'],
    [{ limit: { limits: 'unlimited' } }, 'limit'],
    [{ plans: { 'a b': '0/min' } }, "plans['a b']"],
    [{ plans: { free: '1/min' }, limit: '1/min' }, 'limit'],
    [{ plans: { free: '1/min' }, defaultPlan: 'fre' }, 'defaultPlan'],
    [{ plans: { free: '1/min', internal: 'unlimited' }, defaultPlan: 'internal' }, 'defaultPlan'],
    [{ limit: '1/min', store: {} }, 'store'],
    [{ limit: '1/min', onStoreFailure: 'ajar' }, 'onStoreFailure'],
    [{ limit: '1/m' }, 'limit'],
    [{ limit: '1/min', local: { instances: 0 } }, 'local.instances'],
    [{ limit: '1/min', local: { instances: 1.5 } }, 'local.instances'],
    [{ limit: '1/min', local: { maxSubjects: 0 } }, 'local.maxSubjects'],
    [{ limit: '1/min', local: { instance: 2 } }, 'local.instance'],
    [{ plans: { free: { limits: '1/min', onStoreFailure: 'no' } } }, 'plans.free.onStoreFailure'],
    [{ plans: { free: { limits: '1/min', onStoreFail: 'open' } } }, 'plans.free.onStoreFail'],
    [{ plans: { free: { limits: '1/fortnight' } } }, 'plans.free.limits'],
    [{ plans: { free: { limits: ['1/min', '-1/h'] } } }, 'plans.free.limits[1]'],
    [{ limit: '1/min', deadlineMs: 0 }, 'deadlineMs'],
    [{ limit: '1/min', deadlineMs: Symbol('ms') as never }, 'deadlineMs'],
    [{ limit: '1/min', timeoutMs: 5 }, 'timeoutMs'],
  ])('options %p', (options, path) => {
    expect(configError(() => createLimiter(options as LimiterOptions))).toMatchObject({ path })
  })

  test('for a plan with `limit`, the error names `limits`', () => {
    const { message } = configError(() =>
      createLimiter({ plans: { free: { limit: '1/min' } } } as unknown as LimiterOptions),
    )
    expect(message).toContain('plans.free.limit: there is no such option here; did you mean limits?')
  })

  test('an error shows what was given on one short line, whatever it is', () => {
    const { message } = configError(() => createLimiter({ limit: `a\nb${'x'.repeat(10_000)}` }))
    expect(message).not.toContain('\n')
    expect(message.length).toBeLessThan(300)
  })
})

test.each([
  ['identfy', 'identify'],
  ['indentify', 'identify'],
  ['idnetify', 'identify'],
  ['Identify', 'identify'],
  ['idemtify', 'identify'],
])('an option %p is most likely %p, and the error says so', (given, meant) => {
  expect(() => needOptions({ [given]: 1 }, ['cost', 'identify'])).toThrow(
    `${given}: there is no such option here; did you mean ${meant}?`,
  )
})

test('a quota of 0 and an unreadable limit have different errors', () => {
  expect(() => createLimiter({ limit: '0/min' })).toThrow('expected a quota from 1 to 10^12')
})

test('the subject of a client address can be reset', async () => {
  const limiter = createLimiter({ limit: '1/min' })
  const subject = subjectForIp('::ffff:192.0.2.1')
  expect(subject).toEqual({ id: '192.0.2.1', kind: 'ip' })
  expect(subjectForIp('2001:db8:1:2:3::1').id).toBe('2001:db8:1:2::/64')
  await limiter.consume(subject)
  await limiter.reset({ id: '192.0.2.1', kind: 'id' })
  expect((await limiter.peek(subject)).allowed).toBe(false)
  await limiter.reset(subject)
  expect((await limiter.peek(subject)).allowed).toBe(true)
})

test.each([
  `100/min${' '.repeat(2e5)}x`,
  `${' '.repeat(2e5)}x`,
  { quota: 1, window: `${' '.repeat(2e5)}x!` },
])('a text that is far too long is refused at once', (limit) => {
  const started = performance.now()
  expect(() => createLimiter({ limit })).toThrow(expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG' }))
  // Matched to its end, it takes many seconds.
  expect(performance.now() - started).toBeLessThan(1000)
})
