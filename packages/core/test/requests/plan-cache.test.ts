import { setImmediate as turn } from 'node:timers/promises'
import { eventually } from '@tollgate/testing'
import { createLimiter, subjectForIp, type LimiterOptions } from '../../src/index.js'

const plans = { free: '5/min', pro: '100/min' } as const

const limiterWith = (
  planOf: LimiterOptions['planOf'],
  planCache?: LimiterOptions['planCache'],
): {
  planFor: (id: string) => Promise<string>
  errors: string[]
  limiter: ReturnType<typeof createLimiter>
} => {
  const limiter = createLimiter({
    plans,
    defaultPlan: 'free',
    warnings: false,
    ...(planOf && { planOf }),
    ...(planCache && { planCache }),
  })
  const errors: string[] = []
  limiter.on('planError', (error, subject) => errors.push(`${subject.id}: ${error.code} ${error.message}`))
  return { limiter, errors, planFor: async (id) => (await limiter.consume(id)).plan }
}

describe('planOf', () => {
  test('is called once for concurrent requests, and its answer is remembered', async () => {
    const planOf = jest.fn(async () => {
      await turn()
      return 'pro'
    })
    const { planFor } = limiterWith(planOf)
    expect(await Promise.all(Array.from({ length: 50 }, () => planFor('acme')))).toEqual(
      Array(50).fill('pro'),
    )
    expect(await planFor('acme')).toBe('pro')
    expect(planOf).toHaveBeenCalledTimes(1)
  })

  test('gets ids as text, and is not called for client addresses', async () => {
    const planOf = jest.fn(({ id }: { id: string }) => (id.startsWith('4') ? 'pro' : 'free'))
    const { limiter } = limiterWith(planOf)
    expect((await limiter.consume({ id: 42 })).plan).toBe('pro')
    expect((await limiter.consume(subjectForIp('42.0.0.1'))).plan).toBe('free')
    expect(planOf.mock.calls).toEqual([[{ id: '42' }]])
  })

  test('an answer that was forgotten during a look-up does not come back when that look-up fails', async () => {
    const answers = [new Promise<string>(() => {}), Promise.resolve('pro')]
    const { limiter, planFor, errors } = limiterWith(() => answers.shift(), { ttlMs: 60_000, deadlineMs: 50 })
    const first = planFor('acme')
    limiter.forgetPlan('acme')
    expect(await planFor('acme')).toBe('pro')
    expect(await first).toBe('free')
    expect(errors).toHaveLength(1)
    expect(await planFor('acme')).toBe('pro')
  })

  test('is not called for a subject that names its plan', async () => {
    const planOf = jest.fn(() => 'pro')
    const { limiter } = limiterWith(planOf)
    expect((await limiter.consume({ id: 'acme', plan: 'free' })).plan).toBe('free')
    expect(planOf).not.toHaveBeenCalled()
  })

  test('the decision is a value when planOf returns a value', () => {
    const { limiter } = limiterWith(() => 'pro')
    expect(limiter.consume('acme')).toMatchObject({ plan: 'pro', allowed: true })
  })

  test('an upgrade takes effect with forgetPlan, even while the old plan is being looked up', async () => {
    let plan = 'free'
    const { limiter, planFor } = limiterWith(async () => {
      const read = plan
      await turn()
      return read
    })
    const before = planFor('acme')
    plan = 'pro'
    limiter.forgetPlan('acme')
    expect(await before).toBe('free')
    expect(await planFor('acme')).toBe('pro')
    plan = 'free'
    expect(await planFor('acme')).toBe('pro')
    limiter.forgetPlan({ id: 'acme' })
    expect(await planFor('acme')).toBe('free')
  })

  test('an old answer is used while a new one is looked up', async () => {
    let plan = 'free'
    const { planFor } = limiterWith(async () => plan, { ttlMs: 0 })
    expect(await planFor('acme')).toBe('free')
    plan = 'pro'
    expect(await planFor('acme')).toBe('free')
    await eventually(async () => (await planFor('acme')) === 'pro')
  })

  test.each<[string, () => never | Promise<never>]>([
    [
      'throws',
      () => {
        throw new Error('down')
      },
    ],
    ['rejects', () => Promise.reject(new Error('down'))],
    ['hangs', () => new Promise(() => {})],
    ['gives no name', () => Promise.resolve(5 as never)],
  ])('that %s: the previous plan, else the default one, and an event', async (_, fail) => {
    let isDown = true
    const { planFor, errors } = limiterWith(() => (isDown ? fail() : 'pro'), {
      ttlMs: 0,
      staleMs: 0,
      deadlineMs: 20,
    })
    expect(await planFor('new')).toBe('free')
    expect(errors).toEqual([
      expect.stringMatching(
        /^new: ERR_TOLLGATE_PLAN planOf (failed: down|took longer than 20 ms|returned 5, )/,
      ),
    ])
    isDown = false
    expect(await planFor('known')).toBe('pro')
    isDown = true
    expect(await planFor('known')).toBe('pro')
    expect(errors).toHaveLength(2)
  })

  test('while it fails, it is called once a second per subject, and no request waits for it again', async () => {
    const planOf = jest.fn(() => new Promise<string>(() => {}))
    const { planFor } = limiterWith(planOf, { deadlineMs: 20 })
    await planFor('acme')
    // Within a turn of the event loop, in which no deadline can pass.
    for (let i = 0; i < 20; i += 1) expect(await Promise.race([planFor('acme'), turn()])).toBe('free')
    expect(planOf).toHaveBeenCalledTimes(1)
  })

  test('answers for a bounded number of subjects are remembered; the one unused longest is forgotten', async () => {
    const planOf = jest.fn(() => 'pro')
    const { planFor } = limiterWith(planOf, { maxSubjects: 2 })
    for (const id of ['a', 'b', 'a', 'c', 'a', 'b']) await planFor(id)
    expect(planOf.mock.calls.map(([subject]: unknown[]) => (subject as { id: string }).id)).toEqual([
      'a',
      'b',
      'c',
      'b',
    ])
  })

  test('for a plan that does not exist, the default plan applies, with an event', async () => {
    const { limiter, planFor } = limiterWith(() => 'gold')
    const unknown: unknown[] = []
    limiter.on('unknownPlan', ({ id, plan }, used) => unknown.push([id, plan, used]))
    expect(await planFor('acme')).toBe('free')
    expect(unknown).toEqual([['acme', 'gold', 'free']])
  })

  test.each<[Partial<LimiterOptions>, string]>([
    [{ planOf: 'pro' as never }, 'planOf'],
    [{ planCache: {} }, 'planCache'],
    [{ planOf: () => 'pro', planCache: { ttlMs: -1 } }, 'planCache.ttlMs'],
    [{ planOf: () => 'pro', planCache: { ttl: 5 } as never }, 'planCache.ttl'],
    [{ planOf: () => 'pro', planCache: { maxSubjects: 0 } }, 'planCache.maxSubjects'],
    [{ planOf: () => 'pro', defaultPlan: undefined as never }, 'defaultPlan'],
  ])('%p is refused at construction', (options, path) => {
    expect(() => createLimiter({ plans, defaultPlan: 'free', ...options })).toThrow(
      expect.objectContaining({ path }),
    )
  })
})
