import fc from 'fast-check'
import type { Limiter, LimitOptions } from '../../src/index.js'
import { benches, closeBenches, START_MS } from '../support/benches.js'
import { advance, forAll, mostInAnyWindow, toUs, type Admitted } from '../support/schedules.js'
import { variants, windowOf } from '../support/variants.js'

afterAll(closeBenches)

describe.each(benches)('law 7, plans move, on $store', (bench) => {
  test.each(variants)(
    '$name: a changed quota holds from the next request, used units still count',
    async (variant) => {
      const cases = fc.record({
        before: fc.integer({ min: 1, max: 300 }),
        after: fc.integer({ min: 1, max: 300 }),
        share: fc.double({ min: 0, max: 1, noNaN: true }),
      })
      await forAll(cases, async ({ before, after, share }) => {
        const clock = { now: START_MS }
        const [old, changed] = [variant.limit(before, 60_000), variant.limit(after, 60_000)]
        const limiter = bench.limiter({ plans: { plan: old } }, clock)
        const capacity = (await limiter.peek('acme')).limits[0]?.remaining ?? 0
        const used = Math.floor(capacity * share)
        if (used > 0) expect((await limiter.consume('acme', { cost: used })).allowed).toBe(true)
        limiter.setPlans({ plan: changed })
        const room = (await bench.limiter({ limit: changed }, clock).peek('acme')).limits[0]?.remaining ?? 0
        expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(Math.max(room - used, 0))
      })
    },
  )

  test.each(variants)('$name: own limits and plans count on with each other', async (variant) => {
    const windowMs = windowOf(variant, 60_000)
    const request = fc.record({
      gapUs: fc.integer({ min: 0, max: (windowMs / 3) * 1000 }),
      quota: fc.constantFrom(8, 20),
      bringsLimits: fc.boolean(),
      cost: fc.integer({ min: 1, max: 9 }),
      isRefunded: fc.boolean(),
    })
    const limits = (quota: number): LimitOptions[] => [variant.limit(quota, windowMs)]
    const plans = { p8: limits(8), p20: limits(20) }
    await forAll(fc.array(request, { minLength: 3, maxLength: 12 }), async (requests) => {
      const clock = { now: START_MS }
      const limiter = bench.limiter({ plans, defaultPlan: 'p8' }, clock)
      const answers: [moving: unknown[], staying: unknown[]] = [[], []]
      for (const { gapUs, quota, bringsLimits, cost, isRefunded } of requests) {
        advance(clock, gapUs)
        const moving = bringsLimits ? { limits: limits(quota) } : { plan: `p${quota}` }
        const subjects = [
          { id: 'moving', ...moving },
          { id: 'staying', plan: `p${quota}` },
        ]
        const decisions = await Promise.all(subjects.map((subject) => limiter.consume(subject, { cost })))
        expect(decisions[0]?.plan).toBe(bringsLimits ? 'own-limits' : `p${quota}`)
        decisions.forEach((decision, i) => answers[i]?.push({ ...decision, subject: 0, plan: 0 }))
        if (!isRefunded) continue
        const given = await Promise.all(decisions.map((decision) => limiter.refund(decision)))
        given.forEach((isGiven, i) => answers[i]?.push(isGiven))
      }
      expect(answers[0]).toEqual(answers[1])
    })
  })

  test.each(variants)(
    '$name: plans with separate counters do not change each other, in any order',
    async (variant) => {
      const plans = { own: variant.limit(20, 60_000), log: '20/s', bucket: '20/h burst 20' }
      const request = fc.record({
        gapUs: fc.oneof(
          fc.integer({ min: 0, max: 40_000_000 }),
          fc.constantFrom(0, 1, -1, -500_000, -3_000_000),
        ),
        plan: fc.constantFrom(...Object.keys(plans)),
        cost: fc.integer({ min: 1, max: 12 }),
        isRefunded: fc.boolean(),
      })
      await forAll(fc.array(request, { minLength: 2, maxLength: 12 }), async (requests) => {
        const clock = { now: START_MS }
        const limiter = bench.limiter({ plans, defaultPlan: 'own' }, clock)
        const answers: [mixed: unknown[], apart: unknown[]] = [[], []]
        for (const { gapUs, plan, cost, isRefunded } of requests) {
          advance(clock, gapUs)
          const decisions = await Promise.all(
            ['acme', `acme-${plan}`].map((id) => limiter.consume({ id, plan }, { cost })),
          )
          decisions.forEach((decision, i) => answers[i]?.push({ ...decision, subject: 0 }))
          if (!isRefunded) continue
          const given = await Promise.all(decisions.map((decision) => limiter.refund(decision)))
          given.forEach((isGiven, i) => answers[i]?.push(isGiven))
        }
        expect(answers[0]).toEqual(answers[1])
      })
    },
  )

  test.each(variants)('$name: moving to a smaller plan and back gives no units back', async (variant) => {
    const windowMs = windowOf(variant, 1000)
    const plans = { large: variant.limit(20, windowMs), small: variant.limit(4, windowMs) }
    const request = fc.record({
      gapUs: fc.oneof(fc.constantFrom(0, 250 * windowMs), fc.integer({ min: 0, max: 250 * windowMs })),
      plan: fc.constantFrom(...Object.keys(plans)),
      cost: fc.constantFrom(1, 2, 16, 20),
    })
    await forAll(fc.array(request, { minLength: 5, maxLength: 15 }), async (requests) => {
      const clock = { now: START_MS }
      const limiter = bench.limiter({ plans, defaultPlan: 'small' }, clock)
      const admitted: Admitted[] = []
      for (const { gapUs, plan, cost } of requests) {
        advance(clock, gapUs)
        const { allowed } = await limiter.consume({ id: 'acme', plan }, { cost })
        if (allowed) admitted.push({ atUs: toUs(clock), cost })
      }
      expect(mostInAnyWindow(admitted, windowMs)).toBeLessThanOrEqual(variant.worstCase(20))
    })
  })

  test('a bucket above the burst of a smaller plan is not emptied by that plan, and not full for ever', async () => {
    const clock = { now: START_MS }
    const plans = { large: '1000/h burst 1000', small: '10/h burst 1' } as const
    const limiter = bench.limiter({ plans, defaultPlan: 'small' }, clock)
    const small = { id: 'acme', plan: 'small' }
    const large = { id: 'acme', plan: 'large' }
    await limiter.consume(large, { cost: 1000 })
    clock.now += 360_000
    const denied = await limiter.consume(small)
    expect(denied.limits[0]).toMatchObject({ remaining: 0, resetMs: 3_600_000 - 360_000 })
    expect((await limiter.peek(large)).limits[0]?.remaining).toBe(100)
    clock.now += (denied.retryAfterMs ?? 0) - 1
    expect((await limiter.consume(small)).allowed).toBe(false)
    clock.now += 1
    expect((await limiter.consume(small)).allowed).toBe(true)
    expect((await limiter.peek(large)).limits[0]?.remaining).toBe(999)
  })

  test('a smaller plan does not forget units above its burst when the clock goes back', async () => {
    const clock = { now: START_MS }
    const plans = { large: '1000/d burst 1000', small: '240/d burst 1' } as const
    const limiter = bench.limiter({ plans, defaultPlan: 'small' }, clock)
    await limiter.consume({ id: 'acme', plan: 'large' }, { cost: 1000 })
    clock.now -= 2000
    expect((await limiter.consume({ id: 'acme', plan: 'small' })).allowed).toBe(false)
    clock.now += 6 * 3_600_000
    expect((await limiter.peek({ id: 'acme', plan: 'large' })).limits[0]?.remaining).toBe(250)
  })

  test('months that begin on other days have separate counters, also for refunds', async () => {
    const clock = { now: Date.UTC(2026, 0, 31, 12) }
    const month = (anchor: number) =>
      ({ quota: 100, window: 'month', algorithm: 'fixed-window', anchor }) as const
    const limiter = bench.limiter({ plans: { a: month(1), b: month(15) }, defaultPlan: 'a' }, clock)
    const left = async (plan: string): Promise<unknown> =>
      (await limiter.peek({ id: 'acme', plan })).limits[0]?.remaining
    const taken = await limiter.consume({ id: 'acme', plan: 'a' }, { cost: 5 })
    await limiter.consume({ id: 'acme', plan: 'b' }, { cost: 100 })
    clock.now = Date.UTC(2026, 1, 1, 12)
    await limiter.consume({ id: 'acme', plan: 'a' })
    expect([await left('a'), await left('b')]).toEqual([99, 0])
    await limiter.refund(taken)
    expect([await left('a'), await left('b')]).toEqual([99, 0])
  })

  test('a refund gives nothing and changes nothing once another plan has resized the bucket', async () => {
    const clock = { now: START_MS }
    const plans = { big: '600/min burst 600', small: '10/min burst 10' } as const
    const limiter = bench.limiter({ plans, defaultPlan: 'small' }, clock)
    const left = async (plan: string): Promise<unknown> =>
      (await limiter.peek({ id: 'acme', plan })).limits[0]?.remaining
    const small = await limiter.consume({ id: 'acme', plan: 'small' })
    const big = await limiter.consume({ id: 'acme', plan: 'big' }, { cost: 599 })
    expect(await limiter.refund(small)).toBe(false)
    expect(await left('big')).toBe(0)
    await limiter.consume({ id: 'bob', plan: 'small' }, { cost: 10 })
    expect(await left('small')).toBe(0)
    expect(await limiter.refund(big)).toBe(true)
    expect(await left('big')).toBe(599)
  })

  test('a refund gives units back to the plan they were taken on, and to no other', async () => {
    const clock = { now: START_MS }
    const limiter = bench.limiter({ plans: { a: '5/min', b: '5/h' }, defaultPlan: 'a' }, clock)
    const remaining = async (plan: string): Promise<unknown> =>
      (await limiter.peek({ id: 'acme', plan })).limits[0]?.remaining
    const taken = await limiter.consume({ id: 'acme', plan: 'a' }, { cost: 3 })
    const lost = await limiter.consume({ id: 'acme', plan: 'b' }, { cost: 4 })
    expect(await limiter.refund(taken)).toBe(true)
    expect([await remaining('a'), await remaining('b')]).toEqual([5, 1])
    await limiter.reset('acme')
    await limiter.consume({ id: 'acme', plan: 'a' }, { cost: 2 })
    expect(await limiter.refund(lost)).toBe(false)
    expect([await remaining('a'), await remaining('b')]).toEqual([3, 5])
  })

  test('an upgrade keeps units used in a window of the same length and algorithm, a downgrade too', async () => {
    const clock = { now: START_MS }
    const plans = { free: '100/min', pro: ['50/s burst 100', '20000/min', '5000000/month'] } as const
    const limiter = bench.limiter({ plans, defaultPlan: 'free' }, clock)
    await limiter.consume({ id: 'acme', plan: 'free' }, { cost: 60 })
    const upgraded = await limiter.consume({ id: 'acme', plan: 'pro' })
    expect(upgraded.limits.map(({ remaining }) => remaining)).toEqual([99, 19_939, 4_999_999])
    const back = await limiter.consume({ id: 'acme', plan: 'free' })
    expect(back.limits.map(({ remaining }) => remaining)).toEqual([38])
  })

  test('used units keep counting through denials on other plans, and through quotas of any size', async () => {
    const clock = { now: START_MS }
    const limiter = bench.limiter(
      { plans: { a: '1000000/min', b: '3/min', c: '500/min' }, defaultPlan: 'a' },
      clock,
    )
    const remaining = async (plan: string, cost: number): Promise<unknown> =>
      (await limiter.consume({ id: 'acme', plan }, { cost })).limits[0]?.remaining
    expect(await remaining('b', 2)).toBe(1)
    clock.now += 10_000
    expect(await remaining('a', 70_000)).toBe(929_998)
    expect(await remaining('b', 1)).toBe(0)
    expect(await remaining('c', 1)).toBe(0)
    clock.now += 50_000
    expect(await remaining('a', 1)).toBe(929_999)
  })

  describe('several buckets of one window, of which none is always the tighter one', () => {
    const bucket = (name: string, quota: number, burst: number): LimitOptions => ({
      ...{ name, quota, burst },
      window: 's',
      algorithm: 'token-bucket',
    })
    const slow = bucket('slow', 10, 60)
    const fast = bucket('fast', 40, 20)
    const others = [fast, bucket('faster', 80, 15), bucket('slower', 5, 200), bucket('as slow', 10, 90)]
    const leftOf = async (limiter: Limiter, limits: LimitOptions[], id = 'acme'): Promise<unknown> =>
      Object.fromEntries(
        (await limiter.peek({ id, limits })).limits.map(({ name, remaining }) => [name, remaining]),
      )

    test('the order of limits and the limits beside it give a bucket no units back', async () => {
      const request = fc.record({
        gapUs: fc.oneof(fc.constantFrom(0, 100_000), fc.integer({ min: 0, max: 2_000_000 })),
        beside: fc.shuffledSubarray(others, { maxLength: 2 }),
        at: fc.nat({ max: 2 }),
        count: fc.integer({ min: 1, max: 8 }),
        cost: fc.integer({ min: 1, max: 9 }),
      })
      await forAll(fc.array(request, { minLength: 5, maxLength: 30 }), async (requests) => {
        const clock = { now: START_MS }
        const limiter = bench.limiter({ limit: '9/min' }, clock)
        for (const { gapUs, beside, at, count, cost } of requests) {
          advance(clock, gapUs)
          const limits = beside.toSpliced(at, 0, slow)
          for (let i = 0; i < count; i += 1) {
            const { allowed } = await limiter.consume({ id: 'moving', limits }, { cost })
            if (!allowed) break
            expect(await limiter.consume({ id: 'staying', limits: [slow] }, { cost })).toMatchObject({
              allowed,
            })
          }
        }
      })
    })

    test('in another order each of them counts on exactly', async () => {
      const clock = { now: START_MS }
      const limiter = bench.limiter({ limit: '9/min' }, clock)
      for (let i = 0; i < 30; i += 1) {
        const ask = { cost: 1 + (i % 7) }
        const moving = { id: 'acme', limits: i % 3 > 0 ? [slow, fast] : [fast, slow] }
        const [{ allowed }, staying] = await Promise.all([
          limiter.consume(moving, ask),
          limiter.consume({ id: 'staying', limits: [slow, fast] }, ask),
        ])
        expect([allowed, await leftOf(limiter, [fast, slow])]).toEqual([
          staying.allowed,
          await leftOf(limiter, [slow, fast], 'staying'),
        ])
        clock.now += 150
      }
    })

    test('used units count on in one instead of two, in two instead of one, and with another quota', async () => {
      const clock = { now: START_MS }
      const limiter = bench.limiter({ limit: '9/min' }, clock)
      const use = async (limits: LimitOptions[], cost: number): Promise<unknown> =>
        limiter.consume({ id: 'acme', limits }, { cost })
      for (let i = 0; i < 3; i += 1) {
        await use([fast, slow], 20)
        clock.now += 500
      }
      // 60 were used in all, and in each half second 5 came back to the slow one, and 20 to the fast one.
      expect(await leftOf(limiter, [slow, fast])).toEqual({ slow: 15, fast: 20 })
      expect(await leftOf(limiter, [slow])).toEqual({ slow: 15 })
      expect(await leftOf(limiter, [fast, bucket('slow', 11, 70)])).toEqual({ fast: 20, slow: 25 })
      await use([slow], 8)
      expect(await leftOf(limiter, [slow, fast])).toEqual({ slow: 7, fast: 0 })
      expect(await leftOf(limiter, [bucket('slower', 5, 200), slow])).toEqual({ slower: 147, slow: 7 })
    })

    test('units reserved beside them count in whatever buckets come after', async () => {
      const clock = { now: START_MS }
      const limiter = bench.limiter({ limit: '9/min' }, clock)
      const held = await limiter.reserve({ id: 'acme', limits: [slow, fast] }, { cost: 12, for: '1 min' })
      expect(await leftOf(limiter, [fast, slow])).toEqual({ slow: 48, fast: 8 })
      expect(await leftOf(limiter, [slow, bucket('faster', 80, 15)])).toEqual({ slow: 48, faster: 3 })
      await held.commit(12)
      expect(await leftOf(limiter, [fast, slow])).toEqual({ slow: 48, fast: 8 })
    })
  })

  test('setPlans changes nothing when one plan is wrong', async () => {
    const limiter = bench.limiter({ limit: '2/min' }, { now: START_MS })
    expect(() => limiter.setPlans({ free: '5/min', pro: '0/min' })).toThrow('plans.pro')
    expect((await limiter.peek('acme')).limits[0]?.quota).toBe(2)
  })
})
