// What a decision says of a process that limits by itself: where its share stands.
import {
  createLimiter,
  memoryStore,
  type Decision,
  type LimiterOptions,
  type Store,
} from '../../src/index.js'
import { toHttpResponse } from '../../src/http/answers/http-response.js'
import { failingStore } from '../../src/testing.js'
import { closesWithTest, endFaults } from '../support/faults.js'

afterEach(endFaults)

function failing(): Store {
  const store = failingStore(memoryStore())
  store.down()
  return store
}

const limiterOn = (options: Partial<LimiterOptions>): ReturnType<typeof createLimiter> =>
  closesWithTest(
    createLimiter({ limit: '9/min', store: failing(), local: { instances: 4 }, warnings: false, ...options }),
  )

const told = ({ localLimits = [] }: Decision): unknown[] =>
  localLimits.map(({ name, quota, windowMs, used, remaining }) => [name, quota, windowMs, used, remaining])

test('each limit of the share, when allowed, denied and looked at', async () => {
  const limiter = limiterOn({ limit: ['9/min', '40/h burst 21', '13 concurrent'] })
  const first = await limiter.consume('acme', { cost: 2 })
  expect([first.source, first.limits, told(first)]).toEqual([
    'local',
    [],
    [
      ['minute', 2, 60_000, 2, 0],
      ['hour', 10, 3_600_000, 2, 3],
      ['concurrent', 3, 0, 1, 2],
    ],
  ])
  const denied = await limiter.consume('acme')
  expect([denied.allowed, denied.violated, told(denied)[0]]).toEqual([
    false,
    ['minute'],
    ['minute', 2, 60_000, 2, 0],
  ])
  expect(denied.localLimits?.[0]?.resetMs).toBe(denied.retryAfterMs)
  expect(told(await limiter.peek('acme'))).toEqual(told(denied))
})

test('of several subjects those that the process counts, under the names of the request', async () => {
  const plans = { free: '8/min', vip: { limits: '80/min', onStoreFailure: 'open' } } as const
  const limiter = limiterOn({ limit: undefined, plans, defaultPlan: 'free' } as never)
  const both = await limiter.consume([{ id: 'org', plan: 'vip' }, 'user'])
  expect([both.source, told(both)]).toEqual(['local', [['free.minute', 2, 60_000, 1, 1]]])
})

test('in several steps those of all of them, or of the one that denied', async () => {
  const limiter = limiterOn({ store: { ...failing(), atomic: false } })
  expect(told(await limiter.consume(['org', 'user'], { cost: 2 }))).toEqual([
    ['minute', 2, 60_000, 2, 0],
    ['default.minute', 2, 60_000, 2, 0],
  ])
  // The first of its steps lets it in, and its units go back.
  const denied = await limiter.consume(['another', 'user'])
  expect([denied.violated, told(denied)]).toEqual([['default.minute'], [['default.minute', 2, 60_000, 2, 0]]])
})

test.each<[what: string, options: Partial<LimiterOptions>]>([
  ['the store decided', { store: memoryStore() }],
  ['the store decided late', { store: failingStore(memoryStore()) }],
  ['the policy lets pass', { onStoreFailure: 'open' }],
  ['the policy denies', { onStoreFailure: 'closed' }],
])('where %s there are none', async (_, options) => {
  expect('localLimits' in (await limiterOn(options).consume('acme'))).toBe(false)
})

test('headers tell no share', async () => {
  const decision = await limiterOn({}).consume('acme')
  expect(toHttpResponse(decision).headers).toEqual({})
})

describe('the text of a denial', () => {
  const detailOf = async (limiter: ReturnType<typeof limiterOn>, cost = 1): Promise<string> => {
    let decision = await limiter.consume('acme', { cost })
    while (decision.allowed) decision = await limiter.consume('acme', { cost })
    return JSON.parse(String(toHttpResponse(decision).body)).detail
  }

  test('does not say that the plan is used up when a share of it is', async () => {
    const waits =
      /^Only 9 requests a minute are allowed\. At the moment only a part of that is available; try again in /
    expect(await detailOf(limiterOn({}))).toMatch(waits)
    expect(await detailOf(limiterOn({}), 3)).toMatch(
      /^Only 9 units a minute are allowed, and this request takes 3 units\. At the moment only a part of that is available; /,
    )
  })

  test('says so when the process has the whole plan', async () => {
    const whole = limiterOn({ local: { instances: 1 } })
    expect(await detailOf(whole)).toMatch(/^Only 9 requests a minute are allowed; try again in /)
    expect(await detailOf(whole, 10)).toMatch('Waiting does not help')
  })
})
