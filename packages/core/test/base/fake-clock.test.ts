import { setTimeout as sleep } from 'node:timers/promises'
import { createLimiter, memoryStore, type Limiter, type LimiterOptions, type Store } from '../../src/index.js'
import { processClock } from '../../src/base/clocks.js'
import { asyncStore } from '../support/stores.js'

/** Sets the time, in ms since 1970. */
type SetTime = (ms: number) => void

const RealDate = Date
const ways: [how: string, fake: (ms: number) => SetTime][] = [
  [
    'fake timers',
    (ms) => {
      jest.useFakeTimers({ now: ms })
      return (to) => jest.setSystemTime(to)
    },
  ],
  [
    'fake timers, of Date alone',
    (ms) => {
      const doNotFake = ['setTimeout', 'setImmediate', 'nextTick', 'performance', 'queueMicrotask'] as const
      jest.useFakeTimers({ now: ms, doNotFake: [...doNotFake] })
      return (to) => jest.setSystemTime(to)
    },
  ],
  [
    'a spy on Date.now',
    (ms) => {
      const spy = jest.spyOn(Date, 'now').mockReturnValue(ms)
      return (to) => void spy.mockReturnValue(to)
    },
  ],
  [
    'another class in the place of Date',
    (ms) => {
      let now = ms
      globalThis.Date = class extends RealDate {
        static override now = (): number => now
      } as DateConstructor
      return (to) => void (now = to)
    },
  ],
]

afterEach(() => {
  jest.useRealTimers()
  jest.restoreAllMocks()
  globalThis.Date = RealDate
})

describe.each(ways)('a clock faked by %s', (_, fake) => {
  test('is the time of the memory store at once, and the store stands still with it', async () => {
    const limiter = createLimiter({ limit: { quota: 1, window: '50ms', algorithm: 'fixed-window' } })
    // Less than a second from the real time: a larger difference would be noticed by comparing clocks.
    const now = Date.now()
    const setTime = fake(now)
    expect(await limiter.consume('acme')).toMatchObject({ allowed: true })
    await sleep(100)
    expect(await limiter.consume('acme')).toMatchObject({ allowed: false, retryAfterMs: 50 })
    setTime(now + 49)
    expect(await limiter.consume('acme')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    setTime(now + 50)
    expect(await limiter.consume('acme')).toMatchObject({ allowed: true })
  })

  test("is the time of what 'local' counts by itself", async () => {
    const fails = (): Promise<never> => Promise.reject(new Error('down'))
    const store: Store = { synchronous: false, consume: fails, peek: fails, refund: fails, reset: fails }
    const limiter = createLimiter({ limit: '1/min', store, onStoreFailure: 'local' })
    const now = Date.now()
    const setTime = fake(now)
    expect(await limiter.consume('acme')).toMatchObject({ allowed: true, source: 'local' })
    setTime(now + 59_999)
    expect(await limiter.consume('acme')).toMatchObject({ allowed: false, source: 'local' })
    setTime(now + 60_000)
    expect(await limiter.consume('acme')).toMatchObject({ allowed: true, source: 'local' })
    await limiter.close()
  })

  test('is the time of the cache of planOf', async () => {
    const asked: string[] = []
    const planOf = ({ id }: { id: string | number }): string => {
      asked.push(String(id))
      return 'free'
    }
    const planCache = { ttlMs: 60_000, staleMs: 1 }
    const limiter = createLimiter({ plans: { free: '100/min' }, defaultPlan: 'free', planOf, planCache })
    const now = Date.now()
    const setTime = fake(now)
    await limiter.consume('acme')
    setTime(now + 59_999)
    await limiter.consume('acme')
    expect(asked).toEqual(['acme'])
    setTime(now + 60_002)
    await limiter.consume('acme')
    expect(asked).toEqual(['acme', 'acme'])
  })
})

test('the real clock has µs, also after a fake one', () => {
  const { nowMs: clock } = processClock()
  jest.useFakeTimers({ now: 5000 })
  expect(clock()).toBe(5000)
  jest.useRealTimers()
  const times = Array.from({ length: 20 }, clock)
  expect(Math.abs((times[0] as number) - Date.now())).toBeLessThan(1000)
  expect(times.filter((ms) => !Number.isInteger(ms)).length).toBeGreaterThan(3)
})

describe('with fake timers that stand still', () => {
  const memory = memoryStore()
  const asynchronous = asyncStore({}, memory)
  const limiterWith = (options: Partial<LimiterOptions>): Limiter =>
    createLimiter({ limit: '5/min', onStoreFailure: 'closed', deadlineMs: 20, ...options })
  beforeEach(() => void jest.useFakeTimers())

  test('an asynchronous store can answer', async () => {
    const decision = await limiterWith({ store: asynchronous, deadlineMs: 1000 }).consume('acme')
    expect(decision).toMatchObject({ allowed: true, source: 'store' })
  })

  test('a request to a store that hangs is answered within the deadline', async () => {
    const store: Store = { ...asynchronous, consume: () => new Promise(() => {}) }
    expect(await limiterWith({ store }).consume('acme')).toMatchObject({ allowed: false, source: 'closed' })
  })

  test('a request whose planOf hangs is answered within its deadline', async () => {
    const planOf = (): Promise<string> => new Promise(() => {})
    const limiter = limiterWith({ planOf, planCache: { deadlineMs: 20 } })
    expect(await limiter.consume('acme')).toMatchObject({ allowed: true, plan: 'default' })
  })

  test('a store that failed is asked again', async () => {
    let isDown = true
    const consume: Store['consume'] = async (batch) => {
      if (isDown) throw new Error('down')
      return memory.consume(batch)
    }
    const limiter = limiterWith({ store: { ...asynchronous, consume, peek: consume } })
    for (let i = 0; i < 3; i += 1) await limiter.consume('acme')
    expect(limiter.health()).toMatchObject({ status: 'degraded' })
    isDown = false
    await sleep(600)
    expect(limiter.health()).toMatchObject({ status: 'ok' })
  })
})
