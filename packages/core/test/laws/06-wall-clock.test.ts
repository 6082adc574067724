// The system's clock is set while limits, plans and shares last: what is a duration goes on as if nothing had happened.
import { processTime } from '../support/process-time.js'
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '../../src/index.js'
import { closeBenches, sharedRedis } from '../support/benches.js'
import { asyncStore } from '../support/stores.js'
import { HOUR_MS, variants, type Variant } from '../support/variants.js'

jest.mock('../../src/base/timers.js', () => {
  const { withProcessTime } = jest.requireActual('../support/process-time.js')
  return withProcessTime(jest.requireActual('../../src/base/timers.js'))
})

const limiters: Limiter[] = []
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
  jest.restoreAllMocks()
})
afterAll(closeBenches)

function start(options: LimiterOptions): Limiter {
  const limiter = createLimiter({ warnings: false, ...options } as LimiterOptions)
  limiters.push(limiter)
  return limiter
}

const fullOf = async (limiter: Limiter): Promise<number> =>
  (await limiter.peek('acme')).limits[0]?.remaining ?? 0

describe('limits counted in memory', () => {
  const usedUp = async (variant: Variant): Promise<{ limiter: Limiter; full: number }> => {
    const limiter = start({ limit: variant.limit(10, HOUR_MS) })
    const full = await fullOf(limiter)
    await limiter.consume('acme', { cost: full })
    return { limiter, full }
  }
  /** Those whose windows follow no calendar. */
  const timeless = variants.filter(({ algorithm }) => algorithm !== 'calendar-window')

  test.each(timeless)('$name: set back an hour, units come back when they were told to', async (variant) => {
    const { limiter } = await usedUp(variant)
    processTime.pass(HOUR_MS / 20)
    const { retryAfterMs } = await limiter.consume('acme')
    processTime.set(-HOUR_MS)
    const denied = await limiter.consume('acme')
    expect(denied.allowed).toBe(false)
    expect(denied.retryAfterMs).toBeLessThanOrEqual(retryAfterMs as number)
    // Less the time that this test may take.
    processTime.pass((retryAfterMs as number) - 60_000)
    expect((await limiter.consume('acme')).allowed).toBe(false)
    processTime.pass(60_000)
    expect((await limiter.consume('acme')).allowed).toBe(true)
  })

  test.each(variants)(
    '$name: set back by hours, what had come back does not count again',
    async (variant) => {
      const { limiter, full } = await usedUp(variant)
      processTime.pass(2 * HOUR_MS)
      processTime.set(-3 * HOUR_MS)
      expect(await limiter.consume('acme', { cost: full })).toMatchObject({ allowed: true })
      expect((await limiter.consume('acme')).allowed).toBe(false)
    },
  )

  test.each(variants)('$name: set forward and back again, units are free early once', async (variant) => {
    const { limiter, full } = await usedUp(variant)
    processTime.set(2 * HOUR_MS)
    expect((await limiter.consume('acme', { cost: full })).allowed).toBe(true)
    expect((await limiter.consume('acme')).allowed).toBe(false)
    processTime.set(-2 * HOUR_MS)
    expect((await limiter.consume('acme')).allowed).toBe(false)
  })

  test('a day on the calendar ends when it does by the clock that was set', async () => {
    processTime.setTo(Date.UTC(2040, 0, 31, 23, 30))
    const limiter = start({ limit: { quota: 5, window: 'd', timeZone: 'UTC' } })
    await limiter.consume('acme', { cost: 5 })
    processTime.set(-HOUR_MS)
    const { retryAfterMs } = await limiter.consume('acme')
    expect(retryAfterMs).toBeGreaterThan(1.4 * HOUR_MS)
    expect(retryAfterMs).toBeLessThanOrEqual(1.5 * HOUR_MS)
    processTime.pass(HOUR_MS)
    expect((await limiter.consume('acme')).allowed).toBe(false)
    processTime.pass(HOUR_MS / 2)
    expect((await limiter.consume('acme', { cost: 5 })).allowed).toBe(true)
    processTime.set(HOUR_MS)
    expect((await limiter.consume('acme')).retryAfterMs).toBeLessThanOrEqual(23 * HOUR_MS)
  })
})

/** A store that a test can break, with a clock of its own, as a server has it. */
class Server {
  isDown = false
  /** The keys that were asked for. */
  readonly asked: string[] = []
  #passedMs = 0
  readonly #inner = memoryStore({ now: () => 1_800_000_000_000 + performance.now() + this.#passedMs })

  /** Lets time pass, here and in this process. */
  pass(ms: number): void {
    this.#passedMs += ms
    processTime.pass(ms)
  }

  /** As another process has it. */
  store(): Store {
    const consume: Store['consume'] = async (batch) => {
      if (this.isDown) throw new Error('down')
      this.asked.push(...batch.flatMap(({ parts }) => parts.map(({ key }) => key)))
      return this.#inner.consume(batch)
    }
    return asyncStore({ consume }, this.#inner)
  }
}

describe('what is counted without the store', () => {
  test('set back an hour, the last that the store said is still the last', async () => {
    const server = new Server()
    const limiter = start({ limit: '10/h', store: server.store(), local: { instances: 1 } })
    await limiter.consume('acme')
    server.isDown = true
    expect(await limiter.consume('acme', { cost: 2 })).toMatchObject({ allowed: true, source: 'local' })
    server.isDown = false
    await eventually(async () => expect(await fullOf(limiter)).toBe(7))
    processTime.set(-HOUR_MS)
    expect(await limiter.consume('acme', { cost: 7 })).toMatchObject({ allowed: true, source: 'store' })
    server.isDown = true
    expect(await limiter.consume('acme')).toMatchObject({ allowed: false, source: 'local' })
  })

  test('set back an hour, processes are still counted, and their shares are one quota', async () => {
    // No random delay.
    jest.spyOn(Math, 'random').mockReturnValue(0)
    const server = new Server()
    const process = (): Limiter => start({ limit: '300/h', store: server.store() })
    const counts = (): number => server.asked.filter((key) => key.endsWith('!instances')).length
    const all = [process(), process()]
    for (const limiter of all) await limiter.consume('acme')
    await eventually(() => expect(counts()).toBe(2))
    processTime.set(-HOUR_MS)
    // Longer than one that is not counted again is remembered.
    for (let round = 1; round <= 4; round += 1) {
      server.pass(11_000)
      for (const limiter of all) await limiter.consume('acme')
      await eventually(() => expect(counts()).toBe(2 + 2 * round))
    }
    all.push(process())
    for (const limiter of all) await limiter.consume('acme')
    await eventually(() => expect(counts()).toBe(11))
    server.pass(11_000)
    for (const limiter of all) await limiter.consume('acme')
    await eventually(() => expect(counts()).toBe(14))
    server.isDown = true
    let admitted = 0
    for (const limiter of all)
      for (let i = 0; i < 301; i += 1) admitted += Number((await limiter.consume('globex')).allowed)
    expect(admitted).toBe(300)
  })
})

describe('plans that were looked up', () => {
  const found = (
    planCache: LimiterOptions['planCache'],
  ): { ask: () => Promise<string>; asked: () => number } => {
    const planOf = jest.fn(() => 'free')
    const limiter = start({ plans: { free: '100/min' }, planOf, ...(planCache && { planCache }) })
    return { ask: async () => (await limiter.consume('acme')).plan, asked: () => planOf.mock.calls.length }
  }

  test('set back an hour, they are looked up again when it is time', async () => {
    const { ask, asked } = found({ ttlMs: 60_000, staleMs: 0 })
    await ask()
    processTime.set(-HOUR_MS)
    await ask()
    expect(asked()).toBe(1)
    processTime.pass(60_000)
    await ask()
    expect(asked()).toBe(2)
  })

  test('set forward an hour, they stay', async () => {
    const { ask, asked } = found({ ttlMs: 60_000, staleMs: 0 })
    await ask()
    processTime.set(HOUR_MS)
    await ask()
    expect(asked()).toBe(1)
  })
})

test('set back by a year, Redis is not asked twice for windows on the calendar', async () => {
  const client = sharedRedis()
  const store = redisStore(client, { prefix: testPrefix() })
  const limiter = start({ limit: ['10/min', '5/month'], store, deadlineMs: 10_000, local: { instances: 1 } })
  processTime.setTo(Date.now() - 30 * 365 * 24 * HOUR_MS)
  await limiter.consume('acme')
  const sent = jest.spyOn(client, 'evalsha')
  processTime.set(-365 * 24 * HOUR_MS)
  const { limits, source } = await limiter.consume('acme')
  expect([source, limits.map(({ remaining }) => remaining)]).toEqual(['store', [8, 3]])
  expect(sent).toHaveBeenCalledTimes(1)
})
