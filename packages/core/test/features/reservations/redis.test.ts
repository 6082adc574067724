// Reservations and places on a real Redis, over several limiters, and with answers that are lost on the way.
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, redisStore, type Limiter, type LimiterOptions } from '../../../src/index.js'
import { LossyProxy } from '../../roads/lossy-proxy.js'
import { closesWithTest, connect, endFaults, server } from '../../support/faults.js'

const proxies: LossyProxy[] = []
afterEach(async () => {
  for (const proxy of proxies.splice(0)) proxy.close()
  await endFaults()
})

const PLANS = {
  pro: '1000/h',
  line: { limits: '1000/h', wait: { maxDelay: '1min', maxWaiting: 1000 } },
}

async function start(port: number, prefix: string, options: Partial<LimiterOptions> = {}): Promise<Limiter> {
  const limiter = createLimiter({
    plans: PLANS,
    defaultPlan: 'pro',
    store: redisStore(connect(port), { prefix }),
    onStoreFailure: 'closed',
    deadlineMs: 500,
    warnings: false,
    ...options,
  })
  closesWithTest(limiter)
  await eventually(async () => (await limiter.peek('warm')).source === 'store')
  return limiter
}

const leftOf = async (limiter: Limiter): Promise<number> =>
  (await limiter.peek('acme')).limits[0]?.remaining ?? -1

test('of two limiters, each holds what the other cannot take, and what is committed counts for both', async () => {
  const { port } = await server()
  const prefix = testPrefix()
  const [one, two] = [await start(port, prefix), await start(port, prefix)]
  const held = await Promise.all(
    Array.from({ length: 30 }, (_, i) => (i % 2 ? one : two).reserve('acme', { cost: 50, for: '1min' })),
  )
  expect(held.filter(({ allowed }) => allowed)).toHaveLength(20)
  expect(await leftOf(two)).toBe(0)
  const counted = await Promise.all(held.map((one_, i) => one_.commit(i)))
  const used = counted.reduce((sum, units) => sum + units, 0)
  expect(used).toBeGreaterThan(0)
  expect([await leftOf(one), await leftOf(two)]).toEqual([1000 - used, 1000 - used])
})

test('answers that are lost at random: what was committed counts once, and nothing stays held', async () => {
  const { port } = await server()
  const prefix = testPrefix()
  const proxy = await LossyProxy.start(port, 0)
  proxies.push(proxy)
  const [limiter, other] = [await start(proxy.port, prefix), await start(port, prefix)]
  const held = await Promise.all(
    Array.from({ length: 20 }, () => limiter.reserve('acme', { cost: 50, for: '1min' })),
  )
  expect(held.every(({ allowed }) => allowed)).toBe(true)
  proxy.way = 'swallow'
  const counted = []
  for (const [i, one] of held.entries()) counted.push(i % 2 ? await one.commit(10) : await one.cancel())
  proxy.way = 'pass'
  expect(proxy.met).toBeGreaterThan(0)
  expect(counted.filter((units) => units === 10)).toHaveLength(10)
  // What got no answer is repeated, once the connection and the breaker are whole again.
  await eventually(async () => expect(await leftOf(other)).toBe(900))
})

test('reservations and places whose answers were lost come back', async () => {
  const { port } = await server()
  const prefix = testPrefix()
  const proxy = await LossyProxy.start(port, 0)
  proxies.push(proxy)
  const [limiter, other] = [await start(proxy.port, prefix), await start(port, prefix)]
  proxy.way = 'swallow'
  const open = []
  for (let i = 0; i < 10; i += 1) open.push(await limiter.reserve('acme', { cost: 20, for: '1h' }))
  proxy.way = 'pass'
  expect(proxy.met).toBeGreaterThan(0)
  await Promise.all(open.map((one) => one.cancel()))
  await eventually(async () => expect(await leftOf(other)).toBe(1000))
})
