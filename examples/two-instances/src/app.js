// One of several processes of the same API. They share nothing but the Redis.
// To copy: npm install @tollgate/express express ioredis; run it with REDIS_URL, as often as you like, each with a PORT.
import { createLimiter, rateLimit, redisStore } from '@tollgate/express'
import express from 'express'
import { Redis } from 'ioredis'

const { PORT = '3000', REDIS_URL = 'redis://127.0.0.1:6379', REDIS_PREFIX = 'two-instances' } = process.env

const redis = new Redis(REDIS_URL, {
  autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
  retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again seconds after it is back
})
const store = redisStore(redis, { prefix: REDIS_PREFIX })
const limiter = createLimiter({ limit: '100/min', store, onStoreFailure: 'closed' })

// In an app of your own: a look-up in your database. An unknown key is nobody, and counts by the client's address.
const tenants = new Map([['key-of-acme', 'acme']])

const app = express()
app.use(rateLimit({ limiter, identify: (req) => tenants.get(req.get('x-api-key') ?? '') }))
app.get('/', (_req, res) => {
  res.json({ pid: process.pid })
})

const server = app.listen(Number(PORT), () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})

/** In this order: what is under way is answered, what is owed is charged, and then nothing needs Redis any more. */
async function close() {
  server.keepAliveTimeout = 1 // ms; else a client that keeps its connection would hold the process back
  await new Promise((resolve) => server.close(resolve))
  await limiter.close()
  redis.disconnect() // not quit(), which would wait for a Redis that hangs
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
