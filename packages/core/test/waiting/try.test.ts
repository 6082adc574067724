import { startRedis, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createLimiter, redisStore } from '../../src/index.js'

let server: RedisServer
beforeAll(async () => { server = await startRedis() })
afterAll(async () => { await server.stop() })

test.each(['memory', 'redis'])('%s', async (kind) => {
  const client = kind === 'redis' ? new Redis(server.port, '127.0.0.1') : undefined
  const limiter = createLimiter({ plans: { p: { limits: '10/s burst 3', wait: { maxDelay: '1s' } } }, ...(client && { store: redisStore(client) }) })
  const log: unknown[] = []
  limiter.on('waiting', (c) => log.push([c.kind, c.delayMs]))
  const t = Date.now()
  const all = await Promise.all(Array.from({ length: 16 }, async (_, i) => { const d = await limiter.consume('a'); return [i, d.allowed, d.source, d.retryAfterMs, d.waitedMs, Date.now() - t] }))
  console.log(JSON.stringify(all), JSON.stringify(log), JSON.stringify(limiter.stats().waiting))
  const r = await limiter.reserve('b', { cost: 3, for: '1s' })
  console.log(r.decision, await limiter.peek('b'))
  console.log(await r.commit(1), await r.commit(2), await r.cancel(), await limiter.peek('b'))
  const r2 = await limiter.reserve('b', { cost: 2, for: '1s' })
  console.log(r2.allowed, await r2.commit(5), await limiter.peek('b'), limiter.stats().reservations)
  await limiter.close()
  client?.disconnect()
})
