import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, redisStore } from '../../src/index.js'
import { closesWithTest, connect, DEADLINE_MS, endFaults, recovers, server } from '../support/faults.js'
import { consume, start } from '../support/outage.js'

afterEach(endFaults)

test('a subject whose key is damaged does not keep others from being charged', async () => {
  const { redis, limiter } = await start()
  const client = connect(redis.port)
  await limiter.consume('hurt')
  const [key = ''] = await client.keys('*/hurt')
  await client.multi().del(key).lpush(key, 'x').exec()
  redis.pause()
  await consume(limiter, 'hurt', 4)
  for (let i = 0; i < 300; i += 1) await limiter.consume(`other-${i}`, { cost: 5 })
  redis.resume()
  // More if this process was held up before the pause: then the first request was charged, too.
  await eventually(() => limiter.stats().reconciled.units >= 1500)
  expect((await client.keys('*/other-*')).length).toBe(300)
  expect(limiter.health().status).toBe('ok')
})

test('close charges owed units if Redis answers again, even before a probe has noticed', async () => {
  const { redis, limiter, client: own } = await start()
  await redis.kill()
  await consume(limiter, 'acme', 7)
  await eventually(async () => {
    await limiter.consume('other')
    return limiter.health().status === 'degraded'
  })
  await server({ port: redis.port })
  const client = connect(redis.port)
  await eventually(() => own.status === 'ready')
  await limiter.close()
  expect(limiter.stats().reconciled.dropped).toBe(0)
  expect((await client.keys('*/acme')).length).toBe(1)
})

test('close lets a running reconciliation finish', async () => {
  const { redis, limiter } = await start()
  const client = connect(redis.port)
  redis.pause()
  for (let i = 0; i < 2000; i += 1) await limiter.consume(`subject-${i}`)
  const isHalfOpen = new Promise<void>((resolve) => {
    limiter.on('breaker', ({ state }) => state === 'half-open' && resolve())
  })
  redis.resume()
  await isHalfOpen
  await limiter.close()
  expect((await client.keys('*/subject-*')).length).toBe(2000)
  expect(limiter.stats().reconciled).toEqual({ units: 2000, dropped: 0 })
})

test('close answers pending requests, charges owed units, and leaves no timer', async () => {
  const { redis, limiter } = await start()
  const decision = limiter.consume('acme')
  await limiter.close()
  expect((await decision).source).toBe('store')
  expect(limiter.health().status).toBe('closed')
  expect((await limiter.consume('acme')).source).toBe('local')

  const store = redisStore(connect(redis.port), { prefix: testPrefix() })
  const other = createLimiter({
    limit: '20/min',
    store,
    deadlineMs: DEADLINE_MS,
    local: { instances: 1 },
    warnings: false,
  })
  await recovers(other)
  redis.pause()
  await consume(other, 'late', 6)
  redis.resume()
  await other.close()
  const again = closesWithTest(createLimiter({ limit: '20/min', store, deadlineMs: 5000 }))
  await eventually(async () => (await again.peek('late')).limits[0]?.remaining === 14)
})

test('owed units are reported as dropped when the limiter is closed in an outage', async () => {
  const { redis, limiter } = await start()
  redis.pause()
  await consume(limiter, 'acme', 7)
  const told: unknown[] = []
  limiter.on('reconciliation', (reconciled) => told.push(reconciled))
  await limiter.close()
  redis.resume()
  expect(told).toEqual([{ units: 0, dropped: 7 }])
  expect(limiter.stats().reconciled).toEqual({ units: 0, dropped: 7 })
})
