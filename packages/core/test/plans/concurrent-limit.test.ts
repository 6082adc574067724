import { createLimiter, type LimiterOptions, type LimitInput } from '../../src/index.js'
import { createLimitSet } from '../../src/store.js'
import { compilePlans } from '../../src/plans/plans.js'
import { parseLimit } from '../../src/plans/limit/limit.js'

const messageOf = (options: unknown): string => {
  try {
    createLimiter(options as LimiterOptions)
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('nothing was thrown')
}

test.each<[LimitInput, number, string, number]>([
  ['20 concurrent', 20, 'concurrent', 1_000_000],
  ['  1_000  CONCURRENT ', 1000, 'concurrent', 1_000_000],
  [{ concurrent: 5 }, 5, 'concurrent', 1_000_000],
  [{ concurrent: 5, name: 'exports', retryAfterMs: 5000 }, 5, 'exports', 5_000_000],
])('%p is a limit of requests in flight', (input, quota, name, hintUs) => {
  const { compiled, ...limit } = parseLimit(input, 'limit')
  expect(limit).toMatchObject({ name, quota, windowMs: 0, capacity: quota })
  expect([compiled.algorithm, compiled.paramsAt(0)]).toEqual(['concurrent', { quota, hintUs }])
})

describe('likely mistakes say what to write', () => {
  const NUMBER = 'expected a number of requests from 1 to 1000000, written as'
  const BLOCKED = "; a plan that lets nothing pass is plans: { suspended: 'blocked' }"
  const TIMELESS =
    '(it limits how many run at a time and has no window; to limit requests in a window, add a limit'
  test.each([
    ['0 concurrent', `${NUMBER} '20 concurrent'${BLOCKED}`],
    ['-5 concurrent', `${NUMBER} '20 concurrent'`],
    ['1.5 concurrent', `${NUMBER} '20 concurrent'`],
    ['2000000 concurrent', `${NUMBER} '20 concurrent'`],
    ['concurrent', `${NUMBER} '20 concurrent'`],
    ['5 concurrent/min', `${NUMBER} '5 concurrent' ${TIMELESS}, such as '5/min')`],
    ['5 concurrent per min', `${NUMBER} '5 concurrent' ${TIMELESS}, such as '5/min')`],
    ['5/min concurrent', `${NUMBER} '5 concurrent' ${TIMELESS}`],
    ['5 parallel', `${NUMBER} '5 concurrent'`],
    ['max 5 concurrent', `${NUMBER} '5 concurrent'`],
    ['5 concurrent requests', `${NUMBER} '5 concurrent'`],
    ['5concurrent', `${NUMBER} '5 concurrent'`],
    ['5 concurent', `${NUMBER} '5 concurrent'`],
    ['5 in flight', `${NUMBER} '5 concurrent'`],
    ['5 in-flight', `${NUMBER} '5 concurrent'`],
    ['5 at a time', `${NUMBER} '5 concurrent'`],
    ['5 at once', `${NUMBER} '5 concurrent'`],
    ['5 simultaneous', `${NUMBER} '5 concurrent'`],
    ['concurrency: 5', `${NUMBER} '5 concurrent'`],
    ['1,000 concurrent', `${NUMBER} '1000 concurrent'`],
    ['1k concurrent', `${NUMBER} '1000 concurrent'`],
    ['100/min, 5 concurrent', "several limits as a list: ['100/min', '5 concurrent']"],
    ['100/min and 5 concurrent', "several limits as a list: ['100/min', '5 concurrent']"],
  ])('%s', (limit, expected) => {
    expect(messageOf({ plans: { free: limit } })).toContain(`plans.free: got '${limit}', expected `)
    expect(messageOf({ plans: { free: limit } })).toContain(expected)
    expect(messageOf({ plans: { free: ['100/h', limit] } })).toContain(`plans.free[1]: got '${limit}'`)
  })

  const LEAVE_OUT = 'requests in flight count until they end, so leave it out'
  test.each<[object, string, string]>([
    [{ concurrency: 5 }, 'concurrency', "write '20 concurrent', or { concurrent: 20 }"],
    [{ maxInFlight: 5 }, 'maxInFlight', "write '20 concurrent', or { concurrent: 20 }"],
    [{ concurent: 5 }, 'concurent', "write '20 concurrent', or { concurrent: 20 }"],
    [{ concurrent: 5, window: 'min' }, 'window', LEAVE_OUT],
    [{ concurrent: 5, quota: 100 }, 'quota', LEAVE_OUT],
    [{ concurrent: 5, burst: 9 }, 'burst', LEAVE_OUT],
    [{ concurrent: 5, lease: true }, 'lease', 'requests in flight cannot be leased'],
    [{ concurrent: 5, algorithm: 'sliding-log' }, 'algorithm', 'in one way: leave it out'],
    [{ concurrent: 5, retryAfter: 1 }, 'retryAfter', 'write retryAfterMs: 1000'],
    [{ concurrent: 5, nam: 'x' }, 'nam', 'did you mean name?'],
    [{ concurrent: '5' }, 'concurrent', "got '5', expected a whole number of requests at a time"],
    [{ concurrent: 0 }, 'concurrent', 'expected a whole number of requests at a time'],
    [{ concurrent: undefined }, 'concurrent', 'expected a whole number of requests at a time'],
    [{ concurrent: 5, retryAfterMs: 0 }, 'retryAfterMs', 'a whole number of ms from 1 to 3600000'],
    [{ concurrent: 5, retryAfterMs: 3_600_001 }, 'retryAfterMs', 'a whole number of ms from 1 to 3600000'],
    [{ concurrent: 5, name: '' }, 'name', '1 to 64'],
    [{ quota: 5, algorithm: 'concurrent' }, 'algorithm', "written as '5 concurrent' or { concurrent: 5 }"],
    [{ quota: 5, window: 'min', algorithm: 'concurrent' }, 'algorithm', 'without quota and window'],
  ])('%p', (limit, property, expected) => {
    const message = messageOf({ plans: { free: limit } })
    expect(message).toMatch(new RegExp(`^plans\\.free\\.${property}: `))
    expect(message).toContain(expected)
  })

  test.each([
    [
      { limits: '100/min', concurrent: 5 },
      'plans.free.concurrent: there is no such option here; write it among the',
    ],
    [
      { limits: '100/min', maxConcurrent: 5 },
      'plans.free.maxConcurrent: there is no such option here; write it among',
    ],
    [
      ['5 concurrent', '5 concurrent'],
      "plans.free[1]: a plan can have only one limit of requests in flight: keep '5 concurrent'",
    ],
    [
      ['5 concurrent', '9/min', { concurrent: 3, name: 'few' }],
      "plans.free[2]: a plan can have only one limit of requests in flight: keep '3 concurrent'",
    ],
  ])('of a plan: %p', (plan, expected) => {
    expect(messageOf({ plans: { free: plan } })).toContain(expected)
  })

  test('of a limiter, and of limits for a store', () => {
    const beside = "write limit: '20 concurrent', or beside other limits"
    expect(messageOf({ limit: '9/min', concurrency: 5 })).toContain(
      `concurrency: there is no such option here; ${beside}`,
    )
    expect(messageOf({ concurrent: 5 })).toContain(`concurrent: there is no such option here; ${beside}`)
    expect(() => createLimitSet('5 concurrent', '3 concurrent', '9/min')).toThrow(
      'limits[1]: a plan can have only one limit',
    )
  })
})

test.each([
  [{ limit: '5 concurrent' }, 'default'],
  [{ plans: { free: '5 concurrent', staff: 'unlimited' } }, 'free'],
  [{ plans: { a: '9 concurrent', b: '5 concurrent', c: '7 concurrent' } }, 'b'],
  [{ plans: { few: '1 concurrent', slow: ['100/min', '50 concurrent'], fast: '100/s' } }, 'slow'],
  [{ plans: { a: ['100/min', '50 concurrent'], b: ['100/min', '5 concurrent'], c: '100/min' } }, 'b'],
])('of %p the most restrictive plan is %s', (plans, name) => {
  expect(compilePlans(plans).fallback?.name).toBe(name)
})
