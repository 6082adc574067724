// The event `nearLimit` on Memcached: a mark is a limit like others, so this store needs nothing for it.
import { createLimiter, type Limiter } from '@tollgate/core'
import { eventually, startMemcached, type MemcachedServer } from '@tollgate/testing'
import { newPrefix, storeOfAnotherProcess } from './support.ts'

let server: MemcachedServer
beforeAll(async () => {
  server = await startMemcached()
})
afterAll(() => server.kill())

test('each share is told once, over several processes', async () => {
  const prefix = newPrefix()
  const heard: string[] = []
  const limiters = Array.from({ length: 3 }, (): Limiter => {
    const store = storeOfAnotherProcess(server.address, { prefix })
    const limiter = createLimiter({
      ...{ plans: { free: { limits: '20/d', warnAt: [0.5, 0.8, 1] } }, store },
      ...{ deadlineMs: 10_000, onStoreFailure: 'closed' },
    })
    limiter.on('nearLimit', ({ limit, share }) => void heard.push(`${limit} ${share}`))
    return limiter
  })
  for (let i = 0; i < 10; i += 1) {
    await Promise.all(limiters.map(async (limiter) => limiter.consume('acme')))
    await eventually(() => limiters.every((limiter) => limiter.stats().pending === 0))
  }
  expect(heard.toSorted()).toEqual(['day 0.5', 'day 0.8', 'day 1'])
  await Promise.all(limiters.map(async (limiter) => limiter.close()))
})
