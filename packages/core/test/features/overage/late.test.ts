// Units that are counted after the window in which they were used (law 11): what `local` let in before the end of a month is billed
// with it. The same numbers on memory and on Redis.
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore, type Store } from '../../../src/index.js'
import { failingStore } from '../../../src/testing.js'
import type { ChargeRequest, Outcome, StoreRequest } from '../../../src/stores/contract.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'
import { clock, datedStores, on } from '../../support/dated-stores.js'
import { closesWithTest } from '../../support/faults.js'

afterAll(closeBenches)

const FIXED = { quota: 10, window: '31d', algorithm: 'fixed-window', overage: true }

interface Case {
  readonly limit: object
  readonly anchor?: number
}
const cases: Readonly<Record<string, Case>> = {
  'a month': { limit: { quota: 10, window: 'month', overage: true } },
  'a billing day': { limit: { quota: 10, window: 'month', overage: true }, anchor: 1 },
}

describe.each(Object.entries(datedStores))('on %s', (_, makeStore) => {
  const make = ({ limit, anchor }: Case) => {
    const store = makeStore()
    const asked = jest.spyOn(store, 'consume')
    const limiter = createLimiter({ limit, store, warnings: false, deadlineMs: 30_000 } as never)
    closesWithTest(limiter)
    const acme = { id: 'acme', ...(anchor && { anchor }) }
    /** Charges units as used at a time. */
    const charge = async (...used: (readonly [units: number, at: string])[]): Promise<void> => {
      await limiter.usageOf(acme, { limit: limitName(limit) })
      const [[request]] = asked.mock.lastCall as [[StoreRequest]]
      const usages = used.map(([units, at]) => ({ units, ageUs: (clock.now - Date.parse(at)) * 1000 }))
      const parts = [{ ...request.parts[0], used: [limit].flat().map(() => usages) }]
      const charged = { shard: 0, grant: 'force', parts } as unknown as ChargeRequest
      const [answer] = await store.consume([charged])
      expect((answer as Outcome).limits).toHaveLength([limit].flat().length)
    }
    const usage = async (): Promise<readonly (number | undefined)[]> => {
      const { running, closed } = await limiter.usageOf(acme, { limit: limitName(limit) })
      return [running?.used ?? 0, closed?.used, closed?.over]
    }
    return { limiter, acme, charge, usage }
  }

  describe.each(Object.entries(cases))('%s', (__, one) => {
    test('late units join a window that nothing followed, and one that another followed', async () => {
      const { limiter, acme, charge, usage } = make(one)
      on('2030-01-01')
      await limiter.consume(acme, { cost: 8 })
      on('2030-02-02')
      await charge([1, '2030-01-20'], [4, '2030-01-31T12:00:00Z'])
      expect(await usage()).toEqual([0, 13, 3])
      await charge([1, '2030-01-22'])
      expect(await usage()).toEqual([0, 14, 4])
      await limiter.consume(acme, { cost: 2 })
      expect(await usage()).toEqual([2, 14, 4])
      await charge([5, '2030-01-31T13:00:00Z'], [1, '2030-02-01T13:00:00Z'])
      expect(await usage()).toEqual([3, 19, 9])
      // What is older than that window belongs to none.
      await charge([7, '2029-12-20'])
      expect(await usage()).toEqual([3, 19, 9])
    })

    test('late units alone make the window that they were used in', async () => {
      const { limiter, acme, charge, usage } = make(one)
      on('2030-02-03')
      await charge([9, '2030-01-02'], [4, '2030-01-31T12:00:00Z'])
      expect(await usage()).toEqual([0, 13, 3])
      await limiter.consume(acme)
      expect(await usage()).toEqual([1, 13, 3])
    })
  })

  test('in windows that begin with a request, late units join the one that is over', async () => {
    const { limiter, acme, charge, usage } = make({ limit: FIXED })
    on('2030-01-01')
    await limiter.consume(acme, { cost: 8 })
    on('2030-02-25')
    // The window ended with January. Units from then on begin another.
    await charge([1, '2030-01-20'], [4, '2030-01-31T12:00:00Z'])
    expect(await usage()).toEqual([0, 13, 3])
    await charge([5, '2030-01-31T23:59:59Z'], [2, '2030-02-01'], [6, '2030-02-20'])
    expect(await usage()).toEqual([8, 18, 8])
    await charge([1, '2030-01-21'], [1, '2030-02-21'])
    expect(await usage()).toEqual([9, 19, 9])
  })

  test('such units alone make a window', async () => {
    const { charge, usage } = make({ limit: FIXED })
    on('2030-02-25')
    await charge([9, '2030-01-02'], [4, '2030-01-28'], [3, '2030-02-10'])
    expect(await usage()).toEqual([3, 13, 3])
  })

  test('a cap beside it does not count them in another window either', async () => {
    const cap = { quota: 20, window: '31d', algorithm: 'fixed-window', name: 'cap' }
    const { limiter, acme, charge, usage } = make({ limit: [cap, FIXED] })
    on('2030-01-01')
    await limiter.consume(acme, { cost: 8 })
    on('2030-02-05')
    await charge([5, '2030-01-30'], [2, '2030-02-02'])
    expect(await usage()).toEqual([2, 13, 3])
    expect((await limiter.peek(acme)).limits).toMatchObject([{ name: 'cap', used: 2 }, { used: 2 }])
  })
})

test.each(Object.keys(datedStores))('an outage over the end of a window, on %s', async (name) => {
  const make = {
    memory: () => memoryStore(),
    Redis: () => redisStore(sharedRedis(), { prefix: testPrefix() }),
  }[name]
  const store = failingStore(make as () => Store)
  const window = { quota: 10, window: '2s', algorithm: 'fixed-window', overage: true }
  const limiter = createLimiter({ limit: window, store, warnings: false } as never)
  closesWithTest(limiter)
  await limiter.consume('acme')
  store.down()
  const alone = await Promise.all(
    Array.from({ length: 20 }, async () => (await limiter.consume('acme')).allowed),
  )
  expect(alone).toEqual(alone.map(() => true))
  // Another process would see that the window is over.
  await new Promise((resolve) => setTimeout(resolve, 2100))
  store.heal()
  await eventually(async () => {
    const { running, closed } = await limiter.usageOf('acme', { limit: '2-seconds' })
    expect((running?.used ?? 0) + (closed?.used ?? 0)).toBeGreaterThanOrEqual(21)
  })
})

function limitName(limit: object): string {
  return Array.isArray(limit) || 'algorithm' in limit ? '31-days' : 'month'
}
