// The option `wait` of a plan: what it comes to, and what is refused.
import { createLimiter, memoryStore, type LimiterOptions, type PlanInput } from '../../src/index.js'
import type { WaitTerms } from '../../src/plans/limit/limit-set.js'
import { compilePlan } from '../../src/plans/plan.js'
import { asyncStore } from '../support/stores.js'

const termsOf = (plan: PlanInput): WaitTerms | undefined =>
  compilePlan('batch', plan, 'plans.batch').set?.wait

describe('the terms of waiting', () => {
  test.each<[plan: PlanInput, delayMs: number, most: number, slackMs: number]>([
    // delays and their default number
    [{ limits: '100/min', wait: { maxDelay: '2s' } }, 2000, 100, 100],
    [{ limits: '100/min', wait: { maxDelay: 500 } }, 500, 100, 100],
    [{ limits: '100/min', wait: { maxDelay: 'min', maxWaiting: 1 } }, 60_000, 1, 100],
    [{ limits: '100/min', wait: { maxDelay: 10, maxWaiting: 1000 } }, 10, 1000, 100],
    // a place can be used for a 50th of a window, from 50 to 100 ms
    [{ limits: '10/s', wait: { maxDelay: '1s' } }, 1000, 100, 50],
    [{ limits: '10/2s', wait: { maxDelay: '1s' } }, 1000, 100, 50],
    [{ limits: ['10/2s', '1000/h'], wait: { maxDelay: '1s' } }, 1000, 100, 50],
    // of a bucket for less than the time of a unit
    [{ limits: '10/s burst 1', wait: { maxDelay: '1s' } }, 1000, 100, 90],
    [{ limits: '1000/s burst 10', wait: { maxDelay: '1s' } }, 1000, 100, 50],
    [{ limits: '30/s burst 20', wait: { maxDelay: '1s' } }, 1000, 100, 50],
    [{ limits: '10/min burst 20', wait: { maxDelay: '2s' } }, 2000, 100, 100],
    // a month has calendar windows; requests in flight have none
    [{ limits: '1000/month', wait: { maxDelay: '1min' } }, 60_000, 100, 100],
    [{ limits: ['10/2s', '5 concurrent'], wait: { maxDelay: '1s' } }, 1000, 100, 50],
  ])('%j', (plan, delayMs, most, slackMs) => {
    expect(termsOf(plan)).toEqual({ delayUs: delayMs * 1000, most, slackUs: slackMs * 1000 })
  })

  test.each<[PlanInput]>([
    ['100/min'],
    [{ limits: '100/min' }],
    [{ limits: '100/min', wait: false }],
    [{ limits: 'unlimited', wait: false }],
  ])('%j has none', (plan) => {
    expect(termsOf(plan)).toBeUndefined()
  })
})

describe('what is refused', () => {
  const limits = '100/min'
  const [maxDelay, meant] = [
    '2s',
    'there is no such option here; write maxDelay, the longest that a request waits',
  ]
  const expected = "expected a time from 10 ms to 60 s, such as '2s' or 500 (ms)"
  test.each<[plan: unknown, message: string]>([
    // without bound
    [
      { limits, wait: true },
      "wait: got true, but how long a request waits must be bounded: write wait: { maxDelay: '2s' }",
    ],
    [
      { limits, wait: {} },
      "wait.maxDelay: the longest that a request waits is missing: write { maxDelay: '2s' }",
    ],
    [{ limits, wait: '2s' }, "wait: got '2s', expected an object of options, such as { maxDelay: '2s' }"],
    [{ limits, wait: 500 }, 'wait: got 500, expected an object of options, such as { maxDelay: 500 }'],
    [{ limits, wait: '5s' }, "wait: got '5s', expected an object of options, such as { maxDelay: '5s' }"],
    [{ limits, wait: null }, "wait: got null, expected an object of options, such as { maxDelay: '2s' }"],
    // delays
    ...[0, 9, -5, 1.5, 60_001, Number.NaN, Infinity, null].map((given): [unknown, string] => [
      { limits: '100/h', wait: { maxDelay: given } },
      `wait.maxDelay: got ${given}, ${expected}`,
    ]),
    [{ limits, wait: { maxDelay: 'soon' } }, `wait.maxDelay: got 'soon', ${expected}`],
    [{ limits, wait: { maxDelay: '2min' } }, `wait.maxDelay: got '2min', ${expected}`],
    // longer than a window
    [
      { limits: ['100/min', '10/s'], wait: { maxDelay } },
      "wait.maxDelay: got '2s', but the limit 'second' has a window of 1000 ms: write '10/s burst 20', or maxDelay: '1s'",
    ],
    [
      { limits: '10/s burst 15', wait: { maxDelay } },
      "wait.maxDelay: got '2s', but the limit 'second' fills in 1500 ms: write '10/s burst 20', or maxDelay: '1500ms'",
    ],
    [
      { limits: '10/5ms', wait: { maxDelay } },
      "wait.maxDelay: got '2s', but the limit '5-ms' has a window of 5 ms: write '10/5ms burst 4000', or leave wait out",
    ],
    // how many
    ...[0, 1001, 1.5, '5', null].map((maxWaiting): [unknown, string] => [
      { limits, wait: { maxDelay, maxWaiting } },
      `wait.maxWaiting: got ${typeof maxWaiting === 'string' ? "'5'" : maxWaiting}, expected a whole number of requests from 1 to 1000, such as 100`,
    ]),
    // nothing to wait for
    [
      { limits: 'unlimited', wait: { maxDelay } },
      'wait: this plan has no limits, so nothing has to wait: leave wait out',
    ],
    [
      { limits: 'blocked', wait: { maxDelay } },
      'wait: this plan has no limits, so nothing has to wait: leave wait out',
    ],
    [
      { limits: '5 concurrent', wait: { maxDelay } },
      "wait: it is not known when a request in flight ends, so no place in line can be booked for it: leave wait out, or add a limit in time, such as '100/min'",
    ],
    [
      { limits: '6000/min', wait: { maxDelay }, lease: true },
      'wait: this plan also has lease: leave out one of the two, since requests wait for places that the store books, and a lease does not ask it',
    ],
    [
      { limits: ['6000/min', '20 concurrent'], lease: true },
      'lease: units of requests in flight come back when a request ends, so none can be taken in advance: leave lease out, or the limit of requests in flight',
    ],
    // words of others
    [{ limits, wait: { maxWaitMs: 500 } }, `wait.maxWaitMs: ${meant}`],
    [{ limits, wait: { delay: 500 } }, `wait.delay: ${meant}`],
    [{ limits, wait: { timeout: 500 } }, `wait.timeout: ${meant}`],
    [
      { limits, wait: { maxDelay, max: 5 } },
      'wait.max: there is no such option here; there are maxDelay, maxWaiting',
    ],
    [{ limits, waits: {} }, 'waits: there is no such option here; did you mean wait?'],
    // on a limit
    [
      { quota: 100, window: 'min', wait: { maxDelay } },
      "wait: there is no such option here; put it into the plan: plans: { batch: { limits: '10/s burst 20', wait: { maxDelay: '2s' } } }",
    ],
  ])('%j', (plan, message) => {
    const refused = expect.objectContaining({
      code: 'ERR_TOLLGATE_CONFIG',
      message: `plans.batch.${message}`,
    })
    const plans = { free: '5/min', batch: plan } as LimiterOptions['plans'] & object
    expect(() => createLimiter({ plans })).toThrow(refused)
    const limiter = createLimiter({ plans: { free: '5/min' } })
    expect(() => limiter.setPlans(plans)).toThrow(refused)
  })

  test.each(['10/s', '10/s burst 15', '7/5ms', '3/700ms', '1/s burst 1'])(
    'what is to be written in place of %s and of its delay can wait',
    (given) => {
      const refused = (limits: string, delay: string): string => {
        try {
          termsOf({ limits, wait: { maxDelay: delay } })
        } catch (error) {
          return (error as Error).message
        }
        return 'nothing was thrown'
      }
      const [, limits = '', delay] =
        /write '([^']+)', or (?:maxDelay: '([^']+)')?/.exec(refused(given, '1700ms')) ?? []
      expect(termsOf({ limits, wait: { maxDelay: '1700ms' } })).toMatchObject({ delayUs: 1_700_000 })
      if (delay) expect(termsOf({ limits: given, wait: { maxDelay: delay } })).toBeDefined()
    },
  )

  test('on the limiter itself, and on a part of the application', () => {
    const wait = { maxDelay: '2s' }
    expect(() => createLimiter({ limit: '5/min', wait } as LimiterOptions)).toThrow(
      'wait: there is no such option here; put it into a plan',
    )
    const limit = { limits: '5/min', wait } as unknown as string
    const limiter = createLimiter({ limit: '5/min' })
    expect(() => limiter.scope({ group: 'a', limit })).toThrow(
      "limit.wait: requests wait by their subject's plan",
    )
    expect(() => limiter.scope({ stacked: { a: limit } })).toThrow('stacked.a.wait: requests wait by their')
  })

  test('with a store that books no places', () => {
    const store = { ...asyncStore({}, memoryStore()), holds: false }
    const plans = { batch: { limits: '5/min', wait: { maxDelay: '2s' } } }
    expect(() => createLimiter({ store, plans })).toThrow('plans.batch: this store books no places')
  })
})
