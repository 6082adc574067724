// Requests that a route asks more for: their slots, leases and places in line.
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type Store,
} from '../../src/index.js'
import { acme, amend, inMemory, left, onRedis, type Route } from '../support/amend.js'
import { closeBenches, redisOfAnotherProcess } from '../support/benches.js'
import { endFaults } from '../support/faults.js'
import { asyncStore } from '../support/stores.js'
import { WaitingBench } from './waiting/waiting-bench.js'

afterEach(endFaults)
afterAll(closeBenches)

describe.each([
  ['memory', inMemory],
  ['Redis', onRedis],
])('requests in flight, on %s', (_, limiterOf) => {
  const inFlight = (limiter: Limiter, expected: number): Promise<void> =>
    eventually(() => expect(limiter.stats().inFlight).toBe(expected))

  test('take one slot, though the route asks again, and free it once', async () => {
    const limiter = limiterOf({ limit: ['20/min', '1 concurrent'] })
    const first = await limiter.consume(acme)
    const decision = await amend(limiter, first, { cost: 10 })
    expect(decision.limits).toMatchObject([{ remaining: 10 }, { name: 'concurrent', remaining: 0 }])
    expect((await limiter.consume(acme)).violated).toEqual(['concurrent'])
    expect([decision.release(), decision.release(), first.release()]).toEqual([true, false, false])
    await inFlight(limiter, 0)
    expect((await limiter.consume(acme)).allowed).toBe(true)
  })

  test('of which the route asks for another limit only, keep their slot', async () => {
    const limiter = limiterOf({ limit: ['20/min', '1 concurrent'] })
    const first = await limiter.consume(acme)
    const decision = await amend(limiter, first, { stacked: { export: ['5/min', '2 concurrent'] } })
    expect(decision.limits.map(({ remaining }) => remaining)).toEqual([19, 0, 4, 1])
    // One of each of its keys.
    await inFlight(limiter, 2)
    expect((await limiter.consume(acme)).allowed).toBe(false)
    expect([decision.release(), decision.release()]).toEqual([true, false])
    await inFlight(limiter, 0)
    // A process tells of its free slots a moment later.
    const stacked = { export: ['5/min', '2 concurrent'] }
    await eventually(async () => expect(await left(limiter, { stacked })).toEqual([19, 1, 4, 2]))
  })

  test('of a limit on top hold its slot until they end', async () => {
    const limiter = limiterOf({ limit: '20/min' })
    const route: Route = { stacked: { export: '1 concurrent' } }
    const asks = async (): Promise<Decision> => amend(limiter, await limiter.consume(acme), route)
    const first = await asks()
    expect((await asks()).violated).toEqual(['export.concurrent'])
    expect([first.release(), first.release()]).toEqual([true, false])
    await inFlight(limiter, 0)
    expect((await asks()).allowed).toBe(true)
  })

  test.each<[string, Route]>([
    ['the cost does not fit', { cost: 20 }],
    ['the limit on top is full', { stacked: { export: '1 concurrent' } }],
    ['its group is full', { group: 'exports', limit: '1 concurrent' }],
  ])('that are denied since %s hold no slot', async (_, route) => {
    const limiter = limiterOf({ limit: ['20/min', '3 concurrent'] })
    const { cost: _cost, ...scope } = route
    await limiter.scope(scope).consume(acme)
    const [before, running] = [await left(limiter), limiter.stats().inFlight]
    const first = await limiter.consume(acme)
    expect((await amend(limiter, first, route)).allowed).toBe(false)
    await inFlight(limiter, running)
    await eventually(async () => expect(await left(limiter)).toEqual(before))
  })
})

test('the slot of a limit on top is known from the request that took it', async () => {
  const inner = memoryStore()
  const told: string[] = []
  const consume: Store['consume'] = async (batch) => {
    told.push(...batch.map(({ grant }) => grant))
    return inner.consume(batch)
  }
  const store = asyncStore({ consume }, inner)
  const limiter = createLimiter({ limit: '20/min', store, local: { instances: 1 } })
  const route: Route = { stacked: { export: '1 concurrent' } }
  const decision = await amend(limiter, await limiter.consume(acme), route)
  decision.release()
  await limiter.close()
  expect(told).toEqual(['all', 'all', 'release'])
})

test('a slot of the limit on top that the store gives too late goes back', async () => {
  const inner = memoryStore()
  let answer: (() => void) | undefined
  const consume: Store['consume'] = async (batch) => {
    const isLate = batch.some(
      ({ grant, parts }) => grant === 'all' && parts.some(({ set }) => set.inFlightIndex !== undefined),
    )
    if (isLate && !answer) await new Promise<void>((resolve) => (answer = resolve))
    return inner.consume(batch)
  }
  const store = asyncStore({ consume }, inner)
  const limiter = createLimiter({
    limit: '20/min',
    store,
    deadlineMs: 50,
    warnings: false,
    local: { instances: 1 },
  })
  const route: Route = { stacked: { export: '1 concurrent' } }
  const late = await amend(limiter, await limiter.consume(acme), route)
  expect(late).toMatchObject({ allowed: true, source: 'local' })
  late.release()
  answer?.()
  await eventually(async () => expect(await left(limiter, route)).toEqual([20, 1]))
  expect(limiter.stats().inFlight).toBe(0)
  await limiter.close()
})

describe('leases', () => {
  test('a request that a lease served asks the lease for more, and gives back all', async () => {
    const prefix = testPrefix()
    const plans = { pro: { limits: '100000/min', lease: true } }
    const made = (): Limiter =>
      createLimiter({ plans, store: redisStore(redisOfAnotherProcess(), { prefix }), deadlineMs: 10_000 })
    const [limiter, other] = [made(), made()]
    const decided: Decision[] = []
    await eventually(async () => {
      decided.push(await limiter.consume(acme))
      return decided.at(-1)?.source === 'lease'
    }, 'a lease serves')
    const decision = await amend(limiter, decided.at(-1) as Decision, { cost: 3 })
    expect(decision).toMatchObject({ allowed: true, cost: 3 })
    const refunded = await amend(limiter, await limiter.consume(acme), { cost: 2 })
    await limiter.refund(refunded)
    await limiter.close()
    expect(await left(other)).toEqual([100_000 - decided.length - 2])
    await other.close()
  })
})

describe('waiting', () => {
  const plans = { batch: { limits: '10/s burst 4', wait: { maxDelay: '400ms' } } }

  test('what does not fit waits in line, with all that it asks for', async () => {
    const limiter = inMemory({ plans })
    const first = await limiter.consume(acme, { cost: 2 })
    const decision = await amend(limiter, first, { cost: 4 })
    expect(decision).toMatchObject({ allowed: true, cost: 4 })
    const full = await limiter.consume(acme)
    const waited = await amend(limiter, full, { cost: 4 })
    expect(waited).toMatchObject({ allowed: true, cost: 4, source: 'place' })
    await limiter.close()
  })

  test('no longer in all than the plan says, however often it is asked', async () => {
    const bench = new WaitingBench()
    const limiter = bench.limiter({ limits: '10/s burst 4', wait: { maxDelay: 400 } })
    const waited = async (id: string): Promise<Decision> => {
      await limiter.consume(id, { cost: 4 })
      const first = limiter.consume(id, { cost: 3 })
      bench.pass(300)
      return first
    }
    const of = (id: string): Route => ({ subjects: [{ id }], cost: 4 })
    const inTime = amend(limiter, await waited('acme'), of('acme'))
    await eventually(() => expect(limiter.stats().waiting.now).toBe(1))
    bench.pass(100)
    expect(await inTime).toMatchObject({ allowed: true, source: 'place', waitedMs: 400 })
    const full = await waited('globex')
    // Behind this one, the four units would be there 200 ms later.
    const other = limiter.consume('globex')
    expect(await amend(limiter, full, of('globex'))).toMatchObject({ allowed: false, source: 'store' })
    bench.pass(100)
    expect(await other).toMatchObject({ allowed: true })
    await bench.end()
  })

  test('a client that leaves meanwhile has taken nothing', async () => {
    const limiter = inMemory({ plans: { batch: { limits: '4/min burst 4', wait: { maxDelay: '60s' } } } })
    await limiter.consume(acme, { cost: 3 })
    const first = await limiter.consume(acme)
    const leaving = new AbortController()
    const asked = amend(limiter, first, { cost: 4, signal: leaving.signal })
    await eventually(() => expect(limiter.stats().waiting.now).toBe(1))
    leaving.abort()
    await expect(asked).rejects.toThrow('abort')
    await eventually(async () => expect(await left(limiter)).toEqual([1]))
    await limiter.close()
  })
})
