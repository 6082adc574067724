// Units that go back by the subject alone, where no decision is at hand.
import { eventually } from '@tollgate/testing'
import { createLimiter, memoryStore, type Limiter, type Subject } from '../../src/index.js'
import type { RefundRequest } from '../../src/store.js'
import { benches, closeBenches, jointBenches, START_MS, type Clock } from '../support/benches.js'
import { endFaults } from '../support/faults.js'
import { start } from '../support/outage.js'
import { asyncStore } from '../support/stores.js'
import { variants } from '../support/variants.js'

afterEach(endFaults)
afterAll(closeBenches)

const left = async (place: Pick<Limiter, 'peek'>, subject: Subject | string = 'acme'): Promise<unknown> =>
  (await place.peek(subject)).limits.map(({ remaining }) => remaining)

describe.each(jointBenches)('on $store', (bench) => {
  const make = (clock: Clock = { now: START_MS }): Limiter =>
    bench.limiter({ plans: { free: ['9/min', '20/h'], staff: 'unlimited' }, defaultPlan: 'free' }, clock)

  test('up to so many units of every limit, never below 0 used', async () => {
    const limiter = make()
    expect(await limiter.refund('acme', 1)).toBe(false)
    await limiter.consume('acme', { cost: 5 })
    expect([await limiter.refund('acme', 2), await left(limiter)]).toEqual([true, [6, 17]])
    expect([await limiter.refund('acme', 100), await left(limiter)]).toEqual([true, [9, 20]])
    expect([await limiter.refund('acme', 1), await left(limiter)]).toEqual([false, [9, 20]])
  })

  test('in a scope its own counters, with stacked limits; on the limiter the common ones', async () => {
    const limiter = make()
    const search = limiter.scope({ group: 'search', stacked: { export: '7/min' } })
    await limiter.consume('acme', { cost: 3 })
    await search.consume('acme', { cost: 3 })
    expect([await search.refund('acme', 2), await left(search)]).toEqual([true, [8, 19, 6]])
    expect(await left(limiter)).toEqual([6, 17])
    expect([await limiter.refund('acme', 2), await left(limiter)]).toEqual([true, [8, 19]])
  })

  test('of limits that the subject brings, and none of a plan without limits', async () => {
    const limiter = make()
    const own = (): Subject => ({ id: 'own', limits: ['5/min'] })
    await limiter.consume(own(), { cost: 4 })
    expect([await limiter.refund(own(), 3), await left(limiter, own())]).toEqual([true, [4]])
    expect(await limiter.refund({ id: 'ops', plan: 'staff' }, 3)).toBe(false)
  })

  test('a denial that was remembered ends', async () => {
    const limiter = make()
    await limiter.consume('acme', { cost: 9 })
    expect((await limiter.consume('acme')).allowed).toBe(false)
    await limiter.refund('acme', 1)
    expect((await limiter.consume('acme')).allowed).toBe(true)
  })
})

describe.each(benches)('which units, on $store', (bench) => {
  test.each(variants)('$name: what was taken since goes back by its decision', async (variant) => {
    const clock = { now: START_MS }
    const limiter = bench.limiter({ limit: variant.limit(30, 60_000) }, clock)
    const room = (await left(limiter)) as number[]
    await limiter.consume('acme', { cost: 1 })
    clock.now += 1
    const second = await limiter.consume('acme', { cost: 2 })
    expect(await limiter.refund('acme', 1)).toBe(true)
    expect(await limiter.refund(second)).toBe(true)
    expect(await left(limiter)).toEqual(room)
  })

  test('a log gives its oldest units back, so later windows count all that was used', async () => {
    const clock = { now: START_MS }
    const limiter = bench.limiter({ limit: '10/s' }, clock)
    for (const cost of [2, 3, 4]) {
      await limiter.consume('acme', { cost })
      clock.now += 300
    }
    await limiter.refund('acme', 4)
    expect(await left(limiter)).toEqual([5])
    clock.now = START_MS + 1299
    expect(await left(limiter)).toEqual([5])
    clock.now += 1
    expect(await left(limiter)).toEqual([6])
  })

  test('two counters give back of the window before, whose units weigh less', async () => {
    const clock = { now: START_MS - (START_MS % 60_000) }
    const limiter = bench.limiter({ limit: { quota: 20, window: 'min', algorithm: 'sliding-window' } }, clock)
    await limiter.consume('acme', { cost: 8 })
    clock.now += 90_000
    await limiter.consume('acme', { cost: 6 })
    expect(await left(limiter)).toEqual([10])
    await limiter.refund('acme', 4)
    expect(await left(limiter)).toEqual([12])
    await limiter.refund('acme', 6)
    expect(await left(limiter)).toEqual([16])
  })

  test('a bucket gives back what drains first, so what is behind drains earlier', async () => {
    const clock = { now: START_MS }
    const limiter = bench.limiter({ limit: '1/s burst 10' }, clock)
    await limiter.consume('acme', { cost: 5 })
    const behind = await limiter.consume('acme', { cost: 2 })
    await limiter.refund('acme', 5)
    clock.now += 1000
    await limiter.consume('acme', { cost: 3 })
    expect(await left(limiter)).toEqual([6])
    // One of its two units has drained by now.
    expect([await limiter.refund(behind), await left(limiter)]).toEqual([true, [7]])
  })

  test('requests in flight stay', async () => {
    const limiter = bench.limiter({ limit: ['9/min', '2 concurrent'] }, { now: START_MS })
    await limiter.consume('acme')
    expect([await limiter.refund('acme', 5), await left(limiter)]).toEqual([true, [9, 1]])
  })
})

test.each<[what: string, give: (limiter: Limiter) => unknown, code: string, message: string]>([
  [
    'no units',
    (limiter) => limiter.refund('acme', 0),
    'COST',
    'units: got 0, expected a whole number of units from 1',
  ],
  ['half a unit', (limiter) => limiter.refund('acme', 0.5), 'COST', 'units: got 0.5'],
  ['units left out', (limiter) => limiter.refund('acme' as never), 'COST', 'units: got undefined'],
  [
    'a subject without units',
    (limiter) => limiter.refund({ id: 'acme' } as never),
    'COST',
    'units: got undefined',
  ],
  ['nobody', (limiter) => limiter.refund('', 2), 'SUBJECT', "subject: got ''"],
  ['several', (limiter) => limiter.refund(['a', 'b'] as never, 2), 'SUBJECT', 'subject: got'],
  [
    'wrong limits',
    (limiter) => limiter.refund({ id: 'acme', limits: '4/mn' }, 2),
    'SUBJECT',
    'subject.limits',
  ],
])('%s is refused', async (_, give, code, message) => {
  const limiter = createLimiter({ limit: '5/min' })
  await expect(give(limiter)).rejects.toMatchObject({
    code: `ERR_TOLLGATE_${code}`,
    message: expect.stringContaining(message),
  })
})

describe('while the store fails', () => {
  test('units go back once, as soon as it answers, though its first reply was lost', async () => {
    const inner = memoryStore()
    const asked: RefundRequest[] = []
    let isLost = true
    const store = asyncStore(
      {
        refund: async (batch) => {
          asked.push(...batch)
          const answers = await inner.refund(batch)
          if (isLost) throw new Error('lost')
          return answers
        },
      },
      inner,
    )
    const limiter = createLimiter({ limit: '9/min', store, local: { instances: 1 } })
    await limiter.consume('acme', { cost: 5 })
    expect(await limiter.refund('acme', 2)).toBe(false)
    isLost = false
    await eventually(() => expect(asked.length).toBeGreaterThan(1))
    expect(new Set(asked.map(({ id }) => id)).size).toBe(1)
    expect(await left(limiter)).toEqual([6])
    await limiter.close()
    expect(await limiter.refund('acme', 2)).toBe(false)
  })

  test('a Redis that hangs gives them back when it goes on', async () => {
    const { redis, limiter, left: remaining } = await start()
    await limiter.consume('acme', { cost: 5 })
    redis.pause()
    expect(await limiter.refund('acme', 2)).toBe(false)
    redis.resume()
    await eventually(async () => expect(await remaining('acme')).toBe(17))
  })
})
