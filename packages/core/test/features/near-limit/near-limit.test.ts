// `warnAt`: the event `nearLimit`, once for each share and window.
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type NearLimit,
} from '../../../src/index.js'
import type { Store } from '../../../src/store.js'
import { closeBenches, jointBenches, sharedRedis, START_MS, type Clock } from '../../support/benches.js'
import { asyncStore } from '../../support/stores.js'

afterAll(closeBenches)

const HOUR = 3_600_000

function hear(limiter: Limiter): string[] {
  const heard: string[] = []
  limiter.on('nearLimit', ({ subject, limit, share }) => void heard.push(`${subject.id} ${limit} ${share}`))
  return heard
}

/** Resolves once the store has answered all marks: no request waits for them. */
const settled = async (limiter: Limiter): Promise<unknown> => eventually(() => limiter.stats().pending === 0)

describe.each(jointBenches)('near a limit, on $store', ({ limiter: make }) => {
  let root: Limiter

  const start = (
    options: Omit<LimiterOptions, 'store'>,
  ): { limiter: Limiter; clock: Clock; heard: string[] } => {
    const clock = { now: START_MS }
    const limiter = make(options, clock)
    root = limiter
    return { limiter, clock, heard: hear(limiter) }
  }

  /** Consumes one after another. Each may have to mark what it passed. */
  async function consume(
    limiter: Pick<Limiter, 'consume'>,
    times: number,
    cost = 1,
    id = 'acme',
  ): Promise<Decision[]> {
    const all: Decision[] = []
    for (let i = 0; i < times; i += 1) {
      all.push(await limiter.consume(id, { cost }))
      await settled(root)
    }
    return all
  }

  test('each share is told once, when it is first passed', async () => {
    const { limiter, heard } = start({ plans: { free: { limits: '10/h', warnAt: [1, 0.5, 0.8] } } })
    const all: NearLimit[] = []
    limiter.on('nearLimit', (near) => void all.push(near))
    await consume(limiter, 4)
    expect(heard).toEqual([])
    await consume(limiter, 10)
    expect(heard).toEqual(['acme hour 0.5', 'acme hour 0.8', 'acme hour 1'])
    expect(all[1]).toEqual({
      ...{ subject: { id: 'acme' }, plan: 'free', place: undefined },
      ...{ limit: 'hour', share: 0.8, used: 8, quota: 10 },
    })
    await consume(limiter, 8, 1, 'globex')
    expect(heard.slice(3)).toEqual(['globex hour 0.5', 'globex hour 0.8'])
  })

  test.each([0.07, 0.14, 0.55, 0.56])('exactly %d of 100 units is told', async (share) => {
    const { limiter, heard } = start({ plans: { free: { limits: '100/h', warnAt: [share] } } })
    await consume(limiter, 1, Math.round(share * 100) - 1)
    expect(heard).toEqual([])
    await consume(limiter, 1)
    expect(heard).toEqual([`acme hour ${share}`])
  })

  test('of several shares at once, the highest is told, and no lower one later', async () => {
    const { limiter, heard } = start({ plans: { free: { limits: '10/d', warnAt: [0.5, 0.8, 0.9] } } })
    const [first] = await consume(limiter, 1, 9)
    expect(heard).toEqual(['acme day 0.9'])
    await limiter.refund(first as Decision)
    await consume(limiter, 6)
    expect(heard).toEqual(['acme day 0.9'])
  })

  test.each([
    { limit: { quota: 10, window: 'd', timeZone: 'UTC' }, tells: 'day' },
    { limit: { quota: 10, window: 'month' }, tells: 'month' },
  ])('a $tells on the calendar is told again in the next', async ({ limit, tells }) => {
    const { limiter, heard, clock } = start({ plans: { free: { limits: [limit as never], warnAt: [0.8] } } })
    await consume(limiter, 10)
    clock.now = Date.UTC(2026, 1, 1) - 1
    await consume(limiter, 10)
    const before = heard.length
    clock.now += 1
    await consume(limiter, 7)
    expect(heard).toHaveLength(before)
    await consume(limiter, 3)
    expect([before, ...heard]).toEqual([
      before,
      ...Array.from({ length: before + 1 }, () => `acme ${tells} 0.8`),
    ])
  })

  test.each(['sliding-log', 'sliding-window', 'fixed-window', 'token-bucket'] as const)(
    'a %s is told again one or two windows later',
    async (algorithm) => {
      const limits = { quota: 10, window: 'h', algorithm } as const
      const { limiter, heard, clock } = start({ plans: { free: { limits, warnAt: [0.8] } } })
      await consume(limiter, 10)
      clock.now += HOUR / 2
      await consume(limiter, 10)
      expect(heard).toEqual(['acme hour 0.8'])
      clock.now += 1.5 * HOUR
      await consume(limiter, 10)
      expect(heard).toEqual(['acme hour 0.8', 'acme hour 0.8'])
    },
  )

  test.each(['sliding-log', 'sliding-window', 'fixed-window', 'token-bucket'] as const)(
    'in a %s, each share is told again a window after it was told itself',
    async (algorithm) => {
      const limits = { quota: 10, window: 'h', algorithm } as const
      const { limiter, heard, clock } = start({ plans: { free: { limits, warnAt: [0.5, 0.8] } } })
      const times: number[] = []
      limiter.on('nearLimit', ({ share }) => void (share === 0.8 && times.push(clock.now)))
      await consume(limiter, 5)
      for (let i = 0; i < 40; i += 1) {
        clock.now += HOUR / 8
        await consume(limiter, 10)
      }
      expect(heard.slice(0, 2)).toEqual(['acme hour 0.5', 'acme hour 0.8'])
      expect(times.length).toBeGreaterThan(1)
      const gaps = times.slice(1).map((time, i) => time - (times[i] as number))
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(HOUR)
    },
  )

  test('a plan warns of windows from an hour on, and a limit of its own shares', async () => {
    const { limiter, heard } = start({
      plans: {
        free: {
          limits: ['10/min', '40/h', { quota: 20, window: '10min', warnAt: [0.25] }],
          warnAt: [0.1],
        },
      },
    })
    await consume(limiter, 10)
    expect(heard).toEqual(['acme hour 0.1', 'acme 10-minutes 0.25'])
  })

  test('shares above 1 are those of overage', async () => {
    const { limiter, heard } = start({
      plans: { pro: { limits: [{ quota: 4, window: 'month', overage: true }, '9/h'], warnAt: [1, 1.5, 2] } },
    })
    await consume(limiter, 4, 2)
    expect(heard).toEqual(
      ['acme month 1', 'acme month 1.5', 'acme month 2', 'acme hour 1'].slice(0, heard.length),
    )
    expect(heard).toContain('acme month 2')
  })

  test('two limits of one window are told apart', async () => {
    const { limiter, heard } = start({
      plans: {
        pro: {
          limits: [
            { quota: 4, window: 'month', overage: true },
            { quota: 8, window: 'month', name: 'most' },
          ],
          warnAt: [1],
        },
      },
    })
    await consume(limiter, 8)
    expect(heard).toEqual(['acme month 1', 'acme most 1'])
  })

  test('limits that observe are told of, too', async () => {
    const { limiter, heard } = start({
      plans: { free: { limits: '4/h', mode: 'observe', warnAt: [0.5, 1] } },
    })
    await consume(limiter, 6)
    expect(heard).toEqual(['acme hour 0.5', 'acme hour 1'])
  })

  test('not of one that observes beside others, unless it says so itself', async () => {
    const trial = { quota: 2, window: 'h', name: 'trial', mode: 'observe' } as const
    const { limiter, heard } = start({
      plans: {
        free: { limits: ['4/d', trial, { ...trial, window: '2h', name: 'own', warnAt: [1] }], warnAt: [0.5] },
      },
    })
    await consume(limiter, 3)
    expect(heard).toEqual(['acme day 0.5', 'acme own 1'])
  })

  test('groups, stacked limits and several subjects are told apart', async () => {
    const { limiter } = start({ plans: { free: { limits: '4/h', warnAt: [0.5] } } })
    const all: unknown[] = []
    limiter.on(
      'nearLimit',
      ({ subject, plan, place, limit }) => void all.push([subject.id, plan, place, limit]),
    )
    const scope = limiter.scope({
      group: 'search',
      stacked: { export: { quota: 4, window: 'h', warnAt: [0.5] } },
    })
    await consume(scope, 2)
    for (let i = 0; i < 2; i += 1) await limiter.consume([{ id: 'ada' }, { id: 'org', label: 'org' }])
    await settled(limiter)
    expect(all).toHaveLength(4)
    expect(all).toEqual(
      expect.arrayContaining([
        ['acme', 'free', 'search', 'hour'],
        ['acme', undefined, 'export', 'export.hour'],
        ['ada', 'free', undefined, 'hour'],
        ['org', 'free', undefined, 'org.hour'],
      ]),
    )
  })

  test('a look tells nothing, and a reset tells again', async () => {
    const { limiter, heard } = start({ plans: { free: { limits: '4/h', warnAt: [0.5] } } })
    await consume(limiter, 1, 2)
    await limiter.peek('acme')
    expect(heard).toEqual(['acme hour 0.5'])
    await limiter.reset('acme')
    await consume(limiter, 1, 2)
    expect(heard).toEqual(['acme hour 0.5', 'acme hour 0.5'])
  })

  test('an override multiplies the quota, and keeps the shares', async () => {
    const { limiter, heard } = start({ plans: { free: { limits: '4/h', warnAt: [0.5] } } })
    if (limiter.health().rules === undefined) return
    await limiter.override('acme', { factor: 2, for: '1h' })
    await consume(limiter, 3)
    expect(heard).toEqual([])
    await consume(limiter, 1)
    expect(heard).toEqual(['acme hour 0.5'])
  })

  test('without `warnAt`, the store is asked nothing more', async () => {
    const { limiter, heard } = start({ limit: '4/h' })
    await consume(limiter, 9)
    expect(heard).toEqual([])
  })
})

const stores = {
  memory: () => memoryStore(),
  redis: () => redisStore(sharedRedis(), { prefix: testPrefix() }),
}

test.each(['memory', 'redis'] as const)('while many requests come at once, on %s', async (kind) => {
  const limiter = createLimiter({
    plans: { free: { limits: '500/h', warnAt: [0.5, 0.9, 1] } },
    store: stores[kind](),
    deadlineMs: 10_000,
  })
  const heard = hear(limiter)
  await Promise.all(Array.from({ length: 700 }, async () => limiter.consume('acme')))
  await settled(limiter)
  await limiter.close()
  expect(new Set(heard).size).toBe(heard.length)
  expect(heard).toContain('acme hour 1')
})

test('a mark that fails is made by a later request', async () => {
  const inner = memoryStore()
  let fails = true
  const consume: Store['consume'] = async (batch) => {
    if (fails && batch.some(({ parts }) => parts[0]?.key.includes('%'))) throw new Error('lost')
    return inner.consume(batch)
  }
  const limiter = createLimiter({
    ...{ plans: { free: { limits: '4/h', warnAt: [0.5] } }, store: asyncStore({ consume }, inner) },
    ...{ deadlineMs: 10_000, warnings: false },
  })
  const heard = hear(limiter)
  for (let i = 0; i < 2; i += 1) await limiter.consume('acme')
  await settled(limiter)
  expect(heard).toEqual([])
  fails = false
  for (let i = 0; i < 2; i += 1) {
    await limiter.consume('acme')
    await settled(limiter)
  }
  expect(heard).toEqual(['acme hour 0.5'])
  await limiter.close()
})

test.each([
  [0.8, 'warnAt', 'a list of shares of the quota, such as [0.8, 1]'],
  [[0], 'warnAt[0]', 'a share of the quota above 0 and at most 1, such as 0.8 for 80 %'],
  [['80%'], 'warnAt[0]', 'a share of the quota above 0 and at most 1, such as 0.8 for 80 %'],
  [[0.5, NaN], 'warnAt[1]', 'a share of the quota above 0 and at most 1, such as 0.8 for 80 %'],
  [[2], 'warnAt[0]', 'a share up to 1: only a limit with overage: true can exceed its quota'],
  [
    Array.from({ length: 17 }, (_, i) => (i + 1) / 20),
    'warnAt',
    'a list of shares of the quota, such as [0.8, 1]',
  ],
])('warnAt: %j is refused', (warnAt, path, expected) => {
  const ofPlan = (): unknown => createLimiter({ plans: { free: { limits: '4/h', warnAt: warnAt as never } } })
  expect(ofPlan).toThrow(
    expect.objectContaining({ path: `plans.free.${path}`, message: expect.stringContaining(expected) }),
  )
  const ofLimit = (): unknown =>
    createLimiter({ limit: { quota: 4, window: 'min', warnAt: warnAt as never } })
  expect(ofLimit).toThrow(
    expect.objectContaining({ path: `limit.${path}`, message: expect.stringContaining(expected) }),
  )
})

test('on a limit with overage, 80 is no share either: it would be 80 times the quota', () => {
  const ofLimit = (...warnAt: number[]): unknown =>
    createLimiter({ limit: { quota: 4, window: 'month', overage: true, warnAt } })
  expect(() => ofLimit(1.5, 10)).not.toThrow()
  expect(() => ofLimit(80)).toThrow(
    'limit.warnAt[0]: got 80, expected a share of the quota above 0 and at most 10, such as 0.8 for 80 %',
  )
})

test.each(['unlimited', '5/min', '5 concurrent'] as const)(
  'on a plan %j, there is nothing to warn of',
  (limits) => {
    const make = (): unknown =>
      createLimiter({ plans: { free: { limits, warnAt: [1] }, pro: '1/h' }, defaultPlan: 'pro' })
    expect(make).toThrow(
      /^plans.free.warnAt: no limit of this plan has a window of an hour or more, and no warnAt of its own: leave/,
    )
  },
)
