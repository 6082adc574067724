// What runs keeps its slot when the limiter or the plans change, and what others see of it is true.
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore, type Limiter, type Store } from '../../../src/index.js'
import { closeBenches, redisOfAnotherProcess } from '../../support/benches.js'

const limiters: Limiter[] = []
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})
afterAll(closeBenches)

const plans = { free: '2 concurrent', pro: ['100/min', '4 concurrent'], staff: 'unlimited' } as const

describe.each<[string, () => Store]>([
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(redisOfAnotherProcess(), { prefix: testPrefix() })],
])('in %s', (_, makeStore) => {
  const made = (): Limiter => {
    const limiter = createLimiter({ plans, defaultPlan: 'free', store: makeStore(), deadlineMs: 10_000 })
    limiters.push(limiter)
    return limiter
  }
  const left = async (limiter: Limiter, plan: string): Promise<number | undefined> =>
    (await limiter.peek({ id: 'acme', plan })).limits.at(-1)?.remaining

  test('peek takes nothing', async () => {
    const limiter = made()
    await limiter.consume('acme')
    for (let i = 0; i < 3; i += 1) expect(await left(limiter, 'free')).toBe(1)
    expect(limiter.stats().inFlight).toBe(1)
    expect((await limiter.consume('acme')).allowed).toBe(true)
    expect(await limiter.peek('acme')).toMatchObject({ allowed: false, retryAfterMs: 1000 })
  })

  test('reset frees no slot of what runs', async () => {
    const limiter = made()
    const held = [await limiter.consume('acme'), await limiter.consume('acme')]
    await limiter.reset('acme')
    // Redis decides in the order of what this process sends.
    expect(await left(limiter, 'free')).toBe(0)
    expect((await limiter.consume('acme')).allowed).toBe(false)
    for (const decision of held) expect(decision.release()).toBe(true)
    await eventually(async () => expect(await left(limiter, 'free')).toBe(2))
  })

  test('a smaller limit stops nothing, and lets new requests run when fewer do', async () => {
    const limiter = made()
    const pro = { id: 'acme', plan: 'pro' }
    const held = []
    for (let i = 0; i < 4; i += 1) held.push(await limiter.consume(pro))
    limiter.setPlans({ ...plans, pro: '2 concurrent' }, { defaultPlan: 'free' })
    const denied = await limiter.consume(pro)
    expect(denied).toMatchObject({ allowed: false, limits: [{ quota: 2, remaining: 0, used: 2 }] })
    for (const decision of held.slice(0, 2)) decision.release()
    await eventually(async () => expect(await left(limiter, 'pro')).toBe(0))
    expect((await limiter.consume(pro)).allowed).toBe(false)
    held[2]?.release()
    await eventually(async () => expect((await limiter.consume(pro)).allowed).toBe(true))
  })

  test('what runs counts on another plan with such a limit', async () => {
    const limiter = made()
    for (let i = 0; i < 3; i += 1) await limiter.consume({ id: 'acme', plan: 'pro' })
    expect((await limiter.consume({ id: 'acme', plan: 'free' })).allowed).toBe(false)
    expect(await left(limiter, 'pro')).toBe(1)
  })

  test('what began on a plan without one is not counted', async () => {
    const limiter = made()
    const staff = await limiter.consume({ id: 'acme', plan: 'staff' })
    expect([staff.release(), await left(limiter, 'free'), limiter.stats().inFlight]).toEqual([false, 2, 0])
  })
})
