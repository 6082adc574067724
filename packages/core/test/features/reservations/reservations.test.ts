// Reservations: what is held, what counts, and what comes back.
import {
  createLimiter,
  memoryStore,
  type Limiter,
  type LimiterOptions,
  type Reservation,
} from '../../../src/index.js'
import { clusterStore, idsApart } from '../../support/shards.js'
import { asyncStore } from '../../support/stores.js'

let nowMs = 1_800_000_000_000
const clock = (): number => nowMs
const limiters: Limiter[] = []
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})

function start(options: Partial<LimiterOptions> = {}): Limiter {
  const limiter = createLimiter({
    plans: { pro: '100/h', small: '10/h', staff: 'unlimited' },
    defaultPlan: 'pro',
    store: memoryStore({ now: clock }),
    warnings: false,
    ...options,
  } as LimiterOptions)
  limiters.push(limiter)
  return limiter
}

const leftOf = async (limiter: Limiter, id = 'acme'): Promise<number> =>
  (await limiter.peek(id)).limits[0]?.remaining ?? -1
const reserve = (limiter: Limiter, cost: number): Promise<Reservation> =>
  limiter.reserve('acme', { cost, for: '2min' })

describe('a reservation', () => {
  test('holds its units, and nobody else can take them', async () => {
    const limiter = start()
    const held = await reserve(limiter, 60)
    expect(held).toMatchObject({
      allowed: true,
      decision: { source: 'store', cost: 60, limits: [{ remaining: 40 }] },
    })
    expect(await limiter.consume('acme', { cost: 41 })).toMatchObject({ allowed: false })
    expect(limiter.stats().reservations).toEqual({ held: 1, made: 1, committed: 0, cancelled: 0 })
  })

  test('that does not fit is denied, and holds nothing', async () => {
    const limiter = start()
    await limiter.consume('acme', { cost: 50 })
    const held = await reserve(limiter, 60)
    expect(held).toMatchObject({ allowed: false, decision: { allowed: false, violated: ['hour'] } })
    expect([await held.commit(5), await held.cancel(), await leftOf(limiter)]).toEqual([0, false, 50])
    expect(limiter.stats().reservations).toMatchObject({ held: 0, made: 0 })
  })

  test.each([
    ['less', 13, 87],
    ['all of it', 60, 40],
    ['more, as far as it fits', 75, 25],
    ['nothing', 0, 100],
  ])('committed for %s', async (_, units, left) => {
    const limiter = start()
    const held = await reserve(limiter, 60)
    expect([await held.commit(units), await leftOf(limiter)]).toEqual([units, left])
    expect(limiter.stats().reservations).toMatchObject({ held: 0, made: 1 })
  })

  test('committed for more than fits takes what fits', async () => {
    const limiter = start()
    const held = await reserve(limiter, 60)
    expect([await held.commit(500), await leftOf(limiter)]).toEqual([100, 0])
  })

  test('cancelled gives all back', async () => {
    const limiter = start()
    const held = await reserve(limiter, 60)
    expect([await held.cancel(), await leftOf(limiter)]).toEqual([true, 100])
    expect(limiter.stats().reservations).toEqual({ held: 0, made: 1, committed: 0, cancelled: 1 })
  })

  test('what was committed counts as used from then on', async () => {
    const limiter = start()
    const held = await reserve(limiter, 60)
    nowMs += 60_000
    await held.commit(60)
    nowMs += 3_540_000
    expect(await leftOf(limiter)).toBe(40)
    nowMs += 60_000
    expect(await leftOf(limiter)).toBe(100)
  })

  test('a slice of a plan that has several limits', async () => {
    const limiter = start({ plans: { pro: ['100/h', '1000/d'] } })
    const held = await reserve(limiter, 60)
    await held.commit(10)
    expect((await limiter.peek('acme')).limits.map(({ remaining }) => remaining)).toEqual([90, 990])
  })
})

describe('once', () => {
  test('a second commit resolves to the same, and changes nothing', async () => {
    const limiter = start()
    const held = await reserve(limiter, 60)
    const counted = await Promise.all([held.commit(10), held.commit(20)])
    expect([...counted, await held.commit(30), await leftOf(limiter)]).toEqual([10, 10, 10, 90])
  })

  test('cancel after commit does nothing; so does commit after cancel', async () => {
    const limiter = start()
    const [one, two] = [await reserve(limiter, 30), await reserve(limiter, 30)]
    expect([await one.commit(10), await one.cancel()]).toEqual([10, false])
    expect([await two.cancel(), await two.commit(10), await two.cancel()]).toEqual([true, 0, false])
    expect(await leftOf(limiter)).toBe(90)
    expect(limiter.stats().reservations).toEqual({ held: 0, made: 2, committed: 1, cancelled: 1 })
  })

  test('a copy is the same reservation', async () => {
    const limiter = start()
    const held = await reserve(limiter, 60)
    const { commit, cancel } = { ...held }
    expect([await commit(10), await held.commit(20), await cancel(), await leftOf(limiter)]).toEqual([
      10,
      10,
      false,
      90,
    ])
  })

  test('refund and settle of its decision do what cancel and commit do', async () => {
    const limiter = start()
    const [one, two] = [await reserve(limiter, 30), await reserve(limiter, 30)]
    expect([await limiter.refund(one.decision), await one.commit(10)]).toEqual([true, 0])
    expect([await limiter.settle(two.decision, 20), await two.commit(10)]).toEqual([20, 20])
    expect(await leftOf(limiter)).toBe(80)
  })
})

describe('the end', () => {
  test('gives back by itself what was not committed', async () => {
    const limiter = start()
    await reserve(limiter, 60)
    nowMs += 125_000
    expect(await leftOf(limiter)).toBe(100)
  })

  test('a commit after it takes what fits', async () => {
    const limiter = start()
    const [one, two] = [await reserve(limiter, 40), await reserve(limiter, 40)]
    nowMs += 125_000
    expect([await one.commit(30), await leftOf(limiter)]).toEqual([30, 70])
    await limiter.consume('acme', { cost: 60 })
    expect([await two.commit(30), await leftOf(limiter)]).toEqual([10, 0])
  })

  test('a cancel after it gives nothing back', async () => {
    const limiter = start()
    const held = await reserve(limiter, 40)
    nowMs += 125_000
    expect([await held.cancel(), await leftOf(limiter)]).toEqual([false, 100])
  })

  test('a commit after a refund that came too late counts nothing, and says so', async () => {
    const limiter = start()
    const held = await reserve(limiter, 40)
    nowMs += 125_000
    expect([await limiter.refund(held.decision), await held.commit(30)]).toEqual([false, 0])
    expect(await leftOf(limiter)).toBe(100)
  })

  test('a commit after a reset takes what fits', async () => {
    const limiter = start()
    const held = await reserve(limiter, 40)
    await limiter.reset('acme')
    expect([await held.commit(30), await leftOf(limiter)]).toEqual([30, 70])
  })

  test('a commit after close counts nothing', async () => {
    const store = memoryStore({ now: clock })
    const [limiter, other] = [start({ store }), start({ store, name: 'other' })]
    const held = await limiter.reserve('acme', { cost: 40, for: '2min' })
    await limiter.close()
    expect([await held.commit(30), await held.cancel(), await leftOf(other)]).toEqual([0, false, 100])
  })
})

describe('several subjects', () => {
  test('hold together, and are counted together', async () => {
    const limiter = start()
    const held = await limiter.reserve(['acme', 'user'], { cost: 60, for: '2min' })
    expect([await leftOf(limiter), await leftOf(limiter, 'user')]).toEqual([40, 40])
    expect(await held.commit(10)).toBe(10)
    expect([await leftOf(limiter), await leftOf(limiter, 'user')]).toEqual([90, 90])
  })

  test('in several shards: each holds; the excess is taken from all', async () => {
    const limiter = start({ store: clusterStore({ holds: true }) })
    const [one, two] = idsApart(2)
    const held = await limiter.reserve([one, two as string], { cost: 60, for: '2min' })
    expect([await leftOf(limiter, one), await leftOf(limiter, two)]).toEqual([40, 40])
    expect(await held.commit(70)).toBe(70)
    expect([await leftOf(limiter, one), await leftOf(limiter, two)]).toEqual([30, 30])
  })

  test('when a shard denies, the others give back', async () => {
    const limiter = start({ store: clusterStore({ holds: true }) })
    const [one, two] = idsApart(2)
    await limiter.consume(two as string, { cost: 50 })
    const held = await limiter.reserve([one, two as string], { cost: 60, for: '2min' })
    expect(held.allowed).toBe(false)
    expect([await leftOf(limiter, one), await leftOf(limiter, two)]).toEqual([100, 50])
  })

  test('in a group and with a stacked limit', async () => {
    const place = start().scope({ group: 'search', stacked: { export: '70/h' } })
    const held = await place.reserve('acme', { cost: 60, for: '2min' })
    await held.commit(20)
    expect((await place.peek('acme')).limits.map(({ remaining }) => remaining)).toEqual([80, 50])
  })
})

describe('without a store to hold', () => {
  test('an unlimited plan is allowed whatever it costs', async () => {
    const limiter = start()
    const held = await limiter.reserve({ id: 'ops', plan: 'staff' }, { cost: 5, for: '1s' })
    expect([held.allowed, await held.commit(7), await held.cancel()]).toEqual([true, 7, false])
    expect(limiter.stats().reservations.made).toBe(0)
  })

  const broken = { consume: async () => Promise.reject(new Error('away')), holds: true }

  test.each([
    ['local', 13, 13],
    ['open', 13, 0],
    ['closed', 13, 0],
  ] as const)('the failure policy %s stands behind it', async (onStoreFailure, units, counted) => {
    const limiter = start({ store: asyncStore(broken), onStoreFailure, local: { instances: 1 } })
    const held = await reserve(limiter, 60)
    expect([held.allowed, held.decision.source]).toEqual([onStoreFailure !== 'closed', onStoreFailure])
    expect(await held.commit(units)).toBe(counted)
  })

  test('local units come back on a commit for less', async () => {
    const limiter = start({ store: asyncStore(broken), local: { instances: 1 } })
    await (await reserve(limiter, 60)).commit(10)
    expect((await reserve(limiter, 91)).allowed).toBe(false)
    expect((await reserve(limiter, 90)).allowed).toBe(true)
  })

  test('a store that holds nothing is refused, with what to do', async () => {
    const limiter = start({ store: asyncStore({ holds: false }) })
    await expect(reserve(limiter, 5)).rejects.toThrow(
      'store: this store makes no reservations: use redisStore or memoryStore, or consume and settle',
    )
  })
})

describe('what is refused', () => {
  test.each([
    [
      { for: 99 },
      "for: got 99, expected how long the units are held at most: from 100 ms to 24 h, such as '2min'",
    ],
    [{ for: '25h' }, "for: got '25h', expected"],
    [{ for: 'soon' }, "for: got 'soon', expected"],
    [{}, 'for: got undefined, expected'],
    [{ for: '1s', cost: 0 }, 'cost: got 0, expected a whole number of units from 1'],
    [{ for: '1s', context: 5 }, 'context: got 5, expected an object'],
    [{ ttl: 5 }, "ttl: there is no such option here; write for: '2min', after which the units come back"],
    [{ for: '1s', signal: 5 }, 'signal: there is no such option here; there are cost, for, context'],
    [undefined, "options: got undefined, expected an object of options, such as { cost: 4000, for: '2min' }"],
  ])('%j', async (options, message) => {
    await expect(start().reserve('acme', options as { for: string })).rejects.toThrow(message)
  })

  test.each([-1, 1.5, Number.NaN, '5'])('a commit of %p', async (units) => {
    const limiter = start()
    const held = await reserve(limiter, 60)
    const message = expect.stringMatching(
      /^units: got .*, expected a whole number of units from 0, such as commit\(1312\)$/,
    )
    const wrong = expect.objectContaining({ code: 'ERR_TOLLGATE_COST', message })
    await expect(held.commit(units as number)).rejects.toEqual(wrong)
    expect([await held.commit(10), await leftOf(limiter)]).toEqual([10, 90])
  })
})

test('at most a thousand of a subject are open at a time, and the next gets one when one has ended', async () => {
  const limiter = createLimiter({ limit: '100000/min' })
  const all = await Promise.all(
    Array.from({ length: 1000 }, () => limiter.reserve('acme', { cost: 1, for: '1min' })),
  )
  expect(all.every(({ allowed }) => allowed)).toBe(true)
  const { allowed, decision } = await limiter.reserve('acme', { cost: 1, for: '1min' })
  expect([allowed, decision.reason, decision.retryAfterMs]).toEqual([false, 'quota-exceeded', 1000])
  expect((await limiter.consume('acme')).allowed).toBe(true)
  await all[0]?.cancel()
  expect((await limiter.reserve('acme', { cost: 1, for: '1min' })).allowed).toBe(true)
  await limiter.close()
})
