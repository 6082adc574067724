import { eventually } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '../../../src/index.js'
import type { Answer, Outcome } from '../../../src/store.js'
import { asyncStore } from '../../support/stores.js'

const MIN = 60_000
/** Far longer than a request takes on any machine, since a denial ends that much earlier. */
const RECHECK_MS = 20_000

interface World {
  readonly limiter: Limiter
  /** Another process on the same store. */
  readonly other: Limiter
  readonly clock: { now: number }
  /** Requests that the limiter's store was asked. */
  readonly asked: () => number
  /** What the store's next calls wait for. */
  hold: Promise<void> | undefined
}

function world(
  options: LimiterOptions = { limit: '2/min' },
  tell: (answers: readonly Answer[]) => readonly Answer[] = (answers) => answers,
): World {
  const clock = { now: Date.UTC(2026, 0, 1) }
  const now = (): number => clock.now
  const inner = memoryStore({ now })
  let asked = 0
  const held = <Args extends unknown[], T>(decide: (...args: Args) => T) => {
    return async (...args: Args): Promise<Awaited<T>> => {
      const answers = await decide(...args)
      await made.hold
      return answers
    }
  }
  const store: Store = asyncStore(
    {
      testClock: now,
      consume: held((batch) => {
        asked += batch.length
        return tell(inner.consume(batch) as readonly Answer[])
      }),
    },
    inner,
  )
  const common = {
    local: { instances: 1 },
    denials: { recheckMs: RECHECK_MS },
    warnings: false,
    deadlineMs: 10_000,
  } as const
  const made: World = {
    limiter: createLimiter({ ...common, ...options, store }),
    other: createLimiter({ limit: '2/min', store: inner }),
    clock,
    asked: () => asked,
    hold: undefined,
  }
  return made
}

/** Uses a subject up: the next request of cost 1 was denied by the store. */
async function exhaust(limiter: Limiter, id = 'acme', cost = 2): Promise<Decision> {
  const decision = (await limiter.consume(id, { cost })) as Decision
  expect(await limiter.consume(id)).toMatchObject({ allowed: false, source: 'store' })
  return decision
}

const CACHE = { allowed: false, source: 'cache' }

test('a flood is denied from memory, and told the time that is left', async () => {
  const { limiter, clock, asked } = world()
  await exhaust(limiter)
  clock.now += 5000
  const flood = await Promise.all(Array.from({ length: 100 }, () => limiter.consume('acme')))
  expect(asked()).toBe(2)
  expect(await limiter.peek('acme')).toMatchObject({ allowed: false, source: 'store' })
  for (const decision of flood) {
    expect(decision).toMatchObject({
      ...CACHE,
      retryAfterMs: MIN - 5000,
      reason: 'quota-exceeded',
      violated: ['minute'],
      limits: [{ name: 'minute', quota: 2, used: 2, remaining: 0, resetMs: MIN - 5000 }],
    })
  }
  expect(limiter.stats().decisions.cache).toEqual({ allowed: 0, denied: 100 })
  expect(await limiter.consume('globex')).toMatchObject({ allowed: true, source: 'store' })
})

test('law 4: a client that comes back exactly when told is admitted', async () => {
  const { limiter, clock } = world({ limit: '2/10s' })
  await exhaust(limiter)
  clock.now += 3000.25
  const { retryAfterMs, source } = await limiter.consume('acme')
  expect([source, retryAfterMs]).toEqual(['cache', 7000])
  clock.now += 7000
  expect(await limiter.consume('acme', { cost: 2 })).toMatchObject({ allowed: true, source: 'store' })
})

test('one request asks again after recheckMs, the others are denied meanwhile, but not for long', async () => {
  const made = world()
  const { limiter, clock, asked } = made
  await exhaust(limiter)
  clock.now += RECHECK_MS
  let answer = (): void => {}
  made.hold = new Promise((resolve) => (answer = resolve))
  const asking = limiter.consume('acme')
  for (let i = 0; i < 20; i += 1) expect(await limiter.consume('acme')).toMatchObject(CACHE)
  await eventually(() => expect(asked()).toBe(3))
  answer()
  expect(await asking).toMatchObject({ allowed: false, source: 'store' })
  expect(await limiter.consume('acme')).toMatchObject(CACHE)
  expect(asked()).toBe(3)
})

test('while the store hangs, a denial ends with the deadline of the request that asks again', async () => {
  const made = world({ limit: '2/min', deadlineMs: 5, onStoreFailure: 'open', denials: { recheckMs: 1000 } })
  const { limiter, clock } = made
  await eventually(async () => expect((await limiter.consume('acme', { cost: 2 })).source).toBe('store'))
  await eventually(async () => expect((await limiter.consume('acme')).source).toBe('cache'))
  made.hold = new Promise(() => {})
  clock.now += 900
  expect(await limiter.consume('acme')).toMatchObject(CACHE)
  clock.now += 100
  const asking = limiter.consume('acme')
  expect(await limiter.consume('acme')).toMatchObject(CACHE)
  expect(await asking).toMatchObject({ allowed: true, source: 'open' })
  clock.now += 5
  expect(await limiter.consume('acme')).toMatchObject({ allowed: true, source: 'open' })
})

test('while units are on lease, one request asks again after 100 ms: they may be back long before they would count no more', async () => {
  const leased = (outcome: Outcome): Outcome => ({
    ...outcome,
    limits: outcome.limits.map((limit) => ({ ...limit, leased: 1 })),
  })
  const { limiter, clock, asked } = world({ limit: '2/min' }, (answers) => (answers as Outcome[]).map(leased))
  await exhaust(limiter)
  const before = asked()
  clock.now += 50
  expect(await limiter.consume('acme')).toMatchObject(CACHE)
  expect(asked()).toBe(before)
  clock.now += 50
  expect(await limiter.consume('acme')).toMatchObject({ allowed: false, source: 'store' })
  expect(asked()).toBe(before + 1)
})

test('a reset by another process shows after recheckMs, one by this process at once', async () => {
  const { limiter, other, clock } = world()
  await exhaust(limiter)
  await other.reset('acme')
  clock.now += RECHECK_MS / 2
  expect(await limiter.consume('acme')).toMatchObject(CACHE)
  clock.now += RECHECK_MS / 2
  expect((await limiter.consume('acme')).allowed).toBe(true)
  await exhaust(limiter, 'acme', 1)
  await limiter.reset('acme')
  expect((await limiter.consume('acme')).allowed).toBe(true)
})

test('a refund, a settled cost, an upgrade and new plans show at once in this process', async () => {
  const plans = { free: '2/min', pro: '4/min' }
  const { limiter } = world({ plans, defaultPlan: 'free' })
  expect(await limiter.refund(await exhaust(limiter))).toBe(true)
  const again = await exhaust(limiter)
  expect(await limiter.settle(again, 1)).toBe(1)
  expect((await limiter.consume('acme')).allowed).toBe(true)
  expect((await limiter.consume('acme')).source).toBe('store')
  expect(await limiter.consume('acme')).toMatchObject(CACHE)
  expect((await limiter.consume({ id: 'acme', plan: 'pro' })).allowed).toBe(true)
  expect((await limiter.consume('acme')).allowed).toBe(false)
  limiter.setPlans({ free: '5/min', pro: '5/min' })
  expect((await limiter.consume('acme')).allowed).toBe(true)
})

test('a denial that was sent before a reset, and whose reply comes after it, is not remembered', async () => {
  const made = world()
  const { limiter, asked } = made
  await limiter.consume('acme', { cost: 2 })
  let answer = (): void => {}
  made.hold = new Promise((resolve) => (answer = resolve))
  const late = limiter.consume('acme')
  await eventually(() => expect(asked()).toBe(2))
  await limiter.reset('acme')
  answer()
  expect((await late).allowed).toBe(false)
  expect((await limiter.consume('acme')).allowed).toBe(true)
})

test('each cost has its own wait: a cheaper one asks the store, and so does a dearer one, once', async () => {
  const { limiter, clock, asked } = world({ limit: { quota: 4, window: 'min', algorithm: 'sliding-log' } })
  await limiter.consume('acme', { cost: 2 })
  clock.now += 10_000
  await limiter.consume('acme')
  const waits = async (): Promise<unknown[]> => {
    const all = [4, 3, 2].map(async (cost) => limiter.consume('acme', { cost }))
    return (await Promise.all(all)).map(({ retryAfterMs, source }) => [retryAfterMs, source])
  }
  expect(await waits()).toEqual([
    [60_000, 'store'],
    [50_000, 'store'],
    [50_000, 'store'],
  ])
  clock.now += 1000
  const dearest = await limiter.consume('acme', { cost: 4 })
  // Requests of cost 1 can still pass elsewhere, so what is left is not claimed.
  expect(dearest).toMatchObject({ ...CACHE, retryAfterMs: 59_000, violated: ['minute'], limits: [] })
  expect(asked()).toBe(5)
  expect((await limiter.consume('acme')).allowed).toBe(true)
  expect((await limiter.consume('acme', { cost: 3 })).retryAfterMs).toBe(59_000)
  expect((await limiter.consume('acme', { cost: 4 })).retryAfterMs).toBe(60_000)
})

test('of several subjects one denies for all, and only what is known is told', async () => {
  const { limiter, asked } = world()
  await exhaust(limiter, 'user')
  const org = ['org', 'user']
  expect(await limiter.consume(org)).toMatchObject({
    ...CACHE,
    subject: { id: 'org' },
    violated: ['default.minute'],
    limits: [{ name: 'default.minute', remaining: 0 }],
    retryAfterMs: MIN,
  })
  await exhaust(limiter, 'org')
  const before = asked()
  const { violated, limits } = await limiter.consume(org)
  expect([violated, limits.length]).toEqual([['minute', 'default.minute'], 2])
  expect(asked()).toBe(before)
})

test('what is more than a limit ever allows is denied from memory, and never told to wait', async () => {
  const { limiter, asked } = world()
  expect((await limiter.consume('acme', { cost: 3 })).source).toBe('store')
  expect(await limiter.consume('acme', { cost: 3 })).toMatchObject({
    ...CACHE,
    retryAfterMs: null,
    reason: 'cost-exceeds-quota',
  })
  expect(asked()).toBe(1)
})

test('a flood of made-up ids of 1 MB holds no more than size denials, the newest', async () => {
  const { limiter, asked } = world({ limit: '2/min', denials: { recheckMs: RECHECK_MS, size: 3 } })
  const ids = Array.from({ length: 8 }, (_, i) => `${i}`.padEnd(2 ** 20, 'x'))
  for (const id of ids) await limiter.consume(id, { cost: 3 })
  const sourceOf = async (id: string): Promise<string> => (await limiter.consume(id, { cost: 3 })).source
  for (const id of ids.slice(-3)) expect(await sourceOf(id)).toBe('cache')
  expect(asked()).toBe(8)
  for (const id of ids.slice(0, 5)) expect(await sourceOf(id)).toBe('store')
})

test('denials: false asks the store every time, and so does a store whose time a test sets', async () => {
  for (const denials of [false, undefined] as const) {
    const { limiter, asked } = world({ limit: '2/min', denials } as LimiterOptions)
    await exhaust(limiter)
    expect((await limiter.consume('acme')).source).toBe('store')
    expect(asked()).toBe(3)
  }
})

test('wrong options are refused when the limiter is made', () => {
  const wrong: [unknown, string][] = [
    [true, 'denials'],
    [null, 'denials'],
    [{ recheckMs: 0 }, 'denials.recheckMs'],
    [{ recheckMs: 60_001 }, 'denials.recheckMs'],
    [{ size: 0 }, 'denials.size'],
    [{ sise: 5 }, 'denials.sise'],
  ]
  for (const [denials, path] of wrong) {
    const make = (): Limiter => createLimiter({ limit: '1/min', denials } as LimiterOptions)
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }))
  }
})
