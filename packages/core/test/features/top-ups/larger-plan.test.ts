// What a larger plan makes of units that a top-up has paid, in memory and on Redis: only a request that takes units on it says that it pays.
import { testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type Reservation,
  type Store,
} from '../../../src/index.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'

afterAll(closeBenches)

const clock = { now: 0 }
const now = (): number => clock.now

const stores: readonly [string, () => Store][] = [
  ['memory', () => memoryStore({ now })],
  ['Redis', () => redisStore(sharedRedis(), { prefix: testPrefix(), now })],
]

const [small, large] = [
  { id: 'acme', plan: 'small' },
  { id: 'acme', plan: 'large' },
]
const PACK = { limit: 'month', units: 5, for: '60d' } as const

/** What is done of the month before, on the larger plan of then. */
interface Before {
  readonly limiter: Limiter
  readonly decision: Decision
  readonly reservation: Reservation
}
const acts: readonly [string, (before: Before) => unknown, gained: number][] = [
  ['a refund', ({ limiter, decision }) => limiter.refund(decision), 0],
  ['a settled cost', ({ limiter, decision }) => limiter.settle(decision, 1), 0],
  ['a reservation that is cancelled', ({ reservation }) => reservation.cancel(), 0],
  ['a top-up that is repeated', ({ limiter }) => limiter.topUp(large, { ...PACK, key: 'a' }), 0],
  ['another top-up', ({ limiter }) => limiter.topUp(large, { ...PACK, key: 'b' }), 5],
  ['a denial', ({ limiter }) => limiter.consume(large, { cost: 20 }), 0],
  // The larger plan pays four of the five that the top-up paid, and the request.
  ['a request', ({ limiter }) => limiter.consume(large), 4],
]

describe.each(stores)('%s', (_, newStore) => {
  test.each(acts)('%s on the larger plan gives as many units as it should', async (_name, act, gained) => {
    clock.now = Date.UTC(2026, 0, 31, 20)
    const limiter = createLimiter({
      ...{ plans: { small: '4/month', large: '9/month' }, defaultPlan: 'small', store: newStore() },
      ...{ warnings: false, deadlineMs: 30_000, denials: false },
    } as LimiterOptions)
    const decision = await limiter.consume(large, { cost: 2 })
    const reservation = (await limiter.reserve(large, { cost: 1, for: '12h' })) as Reservation
    await limiter.topUp(large, { ...PACK, key: 'a' })
    clock.now = Date.UTC(2026, 1, 1, 2)
    const drain = async (): Promise<number> => {
      let passed = 0
      while ((await limiter.consume(small)).allowed) passed += 1
      return passed
    }
    // While a unit is reserved, it does not pass.
    const first = await drain()
    expect(first).toBe(8)
    clock.now += 1000
    await act({ limiter, decision, reservation })
    await reservation.cancel()
    expect(first + (await drain())).toBe(9 + gained)
    await limiter.close()
  })
})
