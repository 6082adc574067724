// Requests in flight: counted over all processes, given back when they end, on memory and on Redis.
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore, type Decision, type Limiter } from '../../../src/index.js'
import { closeBenches, redisOfAnotherProcess } from '../../support/benches.js'

const plans = { free: ['100/min', '3 concurrent'], small: '2 concurrent', wide: '1000/min' } as const
const limiters: Limiter[] = []

afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})
afterAll(closeBenches)

function made(store: Parameters<typeof createLimiter>[0]['store']): Limiter {
  const limiter = createLimiter({
    plans,
    ...(store && { store }),
    deadlineMs: 10_000,
    onStoreFailure: 'closed',
  })
  limiters.push(limiter)
  return limiter
}

/** A process, and another on the same store. */
const places = [
  {
    name: 'memory',
    pair: (): Limiter[] => {
      const one = made(memoryStore())
      return [one, one]
    },
  },
  {
    name: 'Redis',
    pair: (): Limiter[] => {
      const prefix = testPrefix()
      return [1, 2].map(() => made(redisStore(redisOfAnotherProcess(), { prefix })))
    },
  },
]

const acme = { id: 'acme', plan: 'free' }
const consume = async (limiter: Limiter | undefined): Promise<Decision> => (limiter as Limiter).consume(acme)

describe.each(places)('on $name', ({ pair }) => {
  test('as many run as the plan says, over all processes, and the next when one has ended', async () => {
    const [one, two] = pair()
    const held = [await consume(one), await consume(two), await consume(one)]
    expect(held.map(({ allowed }) => allowed)).toEqual([true, true, true])
    const denied = await consume(two)
    expect(denied).toMatchObject({ allowed: false, violated: ['concurrent'], reason: 'quota-exceeded' })
    expect(denied.retryAfterMs).toBe(1000)
    expect(held[1]?.release()).toBe(true)
    await eventually(async () => expect((await consume(one)).allowed).toBe(true))
    expect((await consume(two)).allowed).toBe(false)
  })

  test('a denied request takes no unit of the other limits, and no slot', async () => {
    const [one] = pair()
    const held = await Promise.all([consume(one), consume(one), consume(one)])
    for (let i = 0; i < 5; i += 1) expect((await consume(one)).allowed).toBe(false)
    const { limits } = await (one as Limiter).peek(acme)
    expect(limits.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['minute', 97],
      ['concurrent', 0],
    ])
    for (const decision of held) decision.release()
    await eventually(async () => {
      expect((await (one as Limiter).peek(acme)).limits[1]?.remaining).toBe(3)
    })
  })

  test('a slot goes back once, also by a copy; a denied request has none, nor has one without such a limit', async () => {
    const [one] = pair()
    const limiter = one as Limiter
    const held = await consume(limiter)
    const copy = { ...held }
    expect([copy.release(), held.release(), copy.release()]).toEqual([true, false, false])
    const wide = await limiter.consume({ id: 'w', plan: 'wide' })
    expect(wide.release()).toBe(false)
    const all = [await consume(limiter), await consume(limiter), await consume(limiter)]
    const denied = await consume(limiter)
    expect([denied.allowed, denied.release()]).toEqual([false, false])
    for (const decision of all) expect(decision.release()).toBe(true)
    expect(limiter.stats().inFlight).toBe(0)
  })

  test('a request takes one slot whatever it costs, and a refund or a settlement gives none back', async () => {
    const [one] = pair()
    const limiter = one as Limiter
    const held = await limiter.consume(acme, { cost: 40 })
    expect(held.limits.map(({ remaining }) => remaining)).toEqual([60, 2])
    expect(await limiter.settle(held, 50)).toBe(50)
    expect((await limiter.peek(acme)).limits.map(({ remaining }) => remaining)).toEqual([50, 2])
    const other = await limiter.consume(acme)
    expect(await limiter.refund(other)).toBe(true)
    expect((await limiter.peek(acme)).limits.map(({ remaining }) => remaining)).toEqual([50, 1])
    held.release()
    other.release()
    await eventually(async () => expect((await limiter.peek(acme)).limits[1]?.remaining).toBe(3))
  })

  test('several subjects: all have a slot, or none takes one', async () => {
    const [one, two] = pair() as [Limiter, Limiter]
    const users = ['u1', 'u2', 'u3'].map((id) => ({ id, plan: 'small' }))
    const [u1, u2] = users as [(typeof users)[0], (typeof users)[0]]
    const held = [await one.consume([acme, u1]), await two.consume([acme, u1])]
    const denied = await one.consume([acme, u1])
    expect(denied).toMatchObject({ allowed: false, violated: ['small.concurrent'] })
    expect((await one.consume([acme, u2])).allowed).toBe(true)
    expect((await one.consume([acme, u2])).violated).toEqual(['concurrent'])
    for (const decision of held) decision.release()
    await eventually(async () => expect((await one.peek(u1)).limits[0]?.remaining).toBe(2))
    expect((await two.peek(u2)).limits[0]?.remaining).toBe(1)
  })

  test('many at once never hold more than the limit', async () => {
    const [one, two] = pair() as [Limiter, Limiter]
    let running = 0
    let most = 0
    let done = 0
    const run = async (limiter: Limiter): Promise<void> => {
      const decision = await limiter.consume({ id: 'busy', plan: 'small' })
      if (!decision.allowed) return
      running += 1
      most = Math.max(most, running)
      await new Promise((resolve) => void setImmediate(resolve))
      running -= 1
      done += 1
      decision.release()
    }
    while (done <= 50) {
      await Promise.all(Array.from({ length: 20 }, (_, i) => run(i % 2 === 0 ? one : two)))
    }
    expect(most).toBe(2)
    await eventually(async () => {
      expect((await one.peek({ id: 'busy', plan: 'small' })).limits[0]?.remaining).toBe(2)
    })
  })
})
