import { storeContract, testPrefix, testRedisUrl } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createLimiter, memoryStore, redisStore } from '../../src/index.js'
import { compileLimits } from '../../src/plans/limit-set.js'
import { parseLimit } from '../../src/plans/limit.js'
import type { StoreRequest } from '../../src/stores/contract.js'

const client = new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false })
afterAll(() => client.quit())

const set = compileLimits([parseLimit('5/min', 'limit')])
const request = (key: string, cost = 1): StoreRequest => ({
  shard: 0,
  parts: [{ key, set, cost }],
  grant: 'all',
})

storeContract('memory', () => ({ store: memoryStore(), request }))
storeContract('Redis', () => ({ store: redisStore(client, { prefix: testPrefix() }), request }))

test.each([0, -1, 1.5, Number.NaN, '5'])('maxSubjects of %p is refused at construction', (maxSubjects) => {
  expect(() => memoryStore({ maxSubjects: maxSubjects as number })).toThrow(
    expect.objectContaining({ path: 'maxSubjects' }),
  )
})

test('the memory store counts in µs, and follows the clock of the system when that is set', async () => {
  const limiter = createLimiter({ limit: '2/min', store: memoryStore() })
  const times = Array.from({ length: 20 }, () => {
    const [outcome] = memoryStore().consume([request('a')]) as readonly { at: number }[]
    return outcome?.at ?? 0
  })
  expect(Math.abs((times[0] as number) / 1000 - Date.now())).toBeLessThan(1000)
  expect(new Set(times.map((at) => at % 1000)).size).toBeGreaterThan(3)

  await limiter.consume('acme', { cost: 2 })
  const real = Date.now()
  const system = jest.spyOn(Date, 'now').mockReturnValue(real + 59_000)
  expect((await limiter.consume('acme')).allowed).toBe(false)
  system.mockReturnValue(real + 61_000)
  expect((await limiter.consume('acme')).allowed).toBe(true)
  system.mockRestore()
})
