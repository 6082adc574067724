import { eventually } from '@tollgate/testing'
import { createLimiter, redisStore, type Limiter } from '../../../src/index.js'
import { closesWithTest, connect, endFaults, server } from '../../support/faults.js'

afterEach(endFaults)

/** A limiter as another process has it. */
async function limiterOn(port: number, name?: string): Promise<Limiter> {
  const store = redisStore(connect(port), { prefix: 'fleet' })
  const options = { limit: '12/min', deadlineMs: 200, warnings: false, ...(name !== undefined && { name }) }
  const limiter = closesWithTest(createLimiter({ ...options, store }))
  await eventually(() => limiter.health().rules === 'current')
  return limiter
}

/** The share of a limit of 12 that each has, while the store is silent. */
async function sharesOf(limiters: readonly Limiter[]): Promise<number[]> {
  const decided = await Promise.all(limiters.map((limiter) => limiter.peek('acme')))
  return decided.map(({ localLimits }) => localLimits?.[0]?.quota ?? 0)
}

test('limiters of one name count each other without a request, and share a limit when Redis hangs', async () => {
  const redis = await server()
  const limiters = [
    await limiterOn(redis.port),
    await limiterOn(redis.port),
    await limiterOn(redis.port, 'other'),
  ]
  // The first hears of the second with its next report.
  await eventually(async () => {
    redis.pause()
    const shares = await sharesOf(limiters)
    redis.resume()
    expect(shares).toEqual([6, 6, 12])
    return true
  })
})

test('a limiter that has closed is counted no more', async () => {
  const redis = await server()
  const [first, second] = [await limiterOn(redis.port), await limiterOn(redis.port)]
  await second.close()
  await eventually(async () => {
    redis.pause()
    const shares = await sharesOf([first])
    redis.resume()
    expect(shares).toEqual([12])
    return true
  })
})

test('with a number of instances in the options, nothing is counted', async () => {
  const redis = await server()
  const store = redisStore(connect(redis.port), { prefix: 'fleet' })
  const limiter = closesWithTest(createLimiter({ limit: '12/min', store, local: { instances: 3 } }))
  await eventually(() => limiter.health().rules === 'current')
  expect(await connect(redis.port).keys('*!instances*')).toEqual([])
})
