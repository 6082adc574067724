// The clock that a test moves, and the stores on it.
import { testPrefix } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore } from '../../src/index.js'
import { testClock } from '../../src/testing.js'
import { closeBenches, sharedRedis } from '../support/benches.js'

afterAll(closeBenches)

const START = Date.UTC(2030, 0, 31, 23, 59)

test.each([
  ['text', '2030-01-31T23:59:00Z'],
  ['text in another time zone', '2030-02-01T01:59+02:00'],
  ['a Date', new Date(START)],
  ['ms', START],
])('it begins at %s, and stands still', async (_, start) => {
  const clock = testClock(start)
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(clock.now()).toBe(START)
})

test('it begins at the same time in each run', () => {
  expect(testClock().now()).toBe(Date.UTC(2030, 0, 1))
  expect(testClock('2031-12-24').now()).toBe(Date.UTC(2031, 11, 24))
})

test('advance moves it forward, and set to any time', () => {
  const { now, advance, set } = testClock(0)
  expect([advance('1min'), advance(250), advance(0), advance('2 hours')]).toEqual([
    ...[60_000, 60_250, 60_250, 7_260_250],
  ])
  expect([set('2030-01-01'), now()]).toEqual([Date.UTC(2030, 0, 1), Date.UTC(2030, 0, 1)])
  expect([set(5), now()]).toEqual([5, 5])
})

const TIME = "a Date, ms since 1970, or text such as '2030-01-31T23:59:00Z'"
const LENGTH = "a length of time, such as '1min', or a whole number of ms from 0"

type Refused = readonly [method: 'advance' | 'set', given: unknown, expected: string]
const LENGTHS = [-1, NaN, 1.5, '-1min', '1 fortnight', '', null, undefined, true]
const TIMES = [
  ...[-1, NaN, 1e17, new Date(NaN), null, undefined, {}],
  ...['now', '2030', '2030-02-30', '2030-13-01', '2030-01-01T00:00', '2030-01-01T25:00Z'],
]

test.each<Refused>([
  ...LENGTHS.map((given): Refused => ['advance', given, LENGTH]),
  ...TIMES.map((given): Refused => ['set', given, TIME]),
])('%s(%p) is refused, and the clock stays', (method, given, expected) => {
  const clock = testClock(START)
  const move = clock[method] as (given: unknown) => void
  expect(() => move(given)).toThrow(
    expect.objectContaining({
      ...{ code: 'ERR_TOLLGATE_CONFIG', path: method },
      message: expect.stringMatching(new RegExp(`^${method}: got .+, expected ${expected}$`)),
    }),
  )
  expect(clock.now()).toBe(START)
})

test('a start that is no time is refused', () => {
  expect(() => testClock('tomorrow')).toThrow(`start: got 'tomorrow', expected ${TIME}`)
})

test('it does not leave the times that a Date can have', () => {
  const clock = testClock(8.64e15)
  expect(() => clock.advance(1)).toThrow('advance: got ')
})

test('its memory store counts by it, each by itself', async () => {
  const clock = testClock('2030-01-31T23:59:00Z')
  const [one, other] = [clock.memoryStore(), clock.memoryStore({ maxSubjects: 10 })]
  const limiter = createLimiter({ limit: '1/month', store: one })
  const ask = (): boolean => (limiter.consume('acme') as { allowed: boolean }).allowed
  expect([ask(), ask()]).toEqual([true, false])
  expect(createLimiter({ limit: '1/month', store: other }).consume('acme')).toMatchObject({ allowed: true })
  clock.advance('1min')
  expect([ask(), ask()]).toEqual([true, false])
  expect(() => clock.memoryStore({ maxSubjects: 0 })).toThrow('maxSubjects: got 0')
})

test('Redis counts by it', async () => {
  const clock = testClock()
  const store = redisStore(sharedRedis(), { prefix: testPrefix(), now: clock.now })
  const limiter = createLimiter({ limit: '1/h', store, deadlineMs: 10_000 })
  const ask = async (): Promise<boolean> => (await limiter.consume('acme')).allowed
  expect([await ask(), await ask()]).toEqual([true, false])
  clock.advance('1h')
  expect([await ask(), await ask()]).toEqual([true, false])
  await limiter.close()
})

test('set back, it gives no units back, and they count for their window from the new time on', async () => {
  const clock = testClock()
  const limiter = createLimiter({ limit: '1/min', store: memoryStore({ now: clock.now }) })
  await limiter.consume('acme')
  clock.set(clock.now() - 3_600_000)
  expect(limiter.consume('acme')).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
  clock.advance('1min')
  expect(limiter.consume('acme')).toMatchObject({ allowed: true })
})
