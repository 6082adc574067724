// One of several processes of an API. They share nothing but Redis.
// To copy: npm install @tollgate/express express ioredis. Start it as often as you like, each time with another PORT.
import { createLimiter, rateLimit, redisStore } from '@tollgate/express'
import express from 'express'
import { Redis } from 'ioredis'

const { PORT = '3000', REDIS_URL = 'redis://127.0.0.1:6379' } = process.env

const redis = new Redis(REDIS_URL, {
  autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
  retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again seconds after it is back
})
const store = redisStore(redis)
const limiter = createLimiter({ limit: '100/min', store, onStoreFailure: 'closed' })

// In your app: a look-up in your database. A request with an unknown key counts against the client's address.
const tenants = new Map([['key-of-acme', 'acme']])

const app = express()
app.use(rateLimit({ limiter, identify: (req) => tenants.get(req.get('x-api-key') ?? '') }))
app.get('/', (_req, res) => {
  res.json({ pid: process.pid })
})

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})

/** The order matters: requests under way are answered, then what is owed is charged, and then Redis is not needed. */
async function close() {
  server.keepAliveTimeout = 1 // ms; or a client that keeps its connection open would keep the process alive
  await new Promise((resolve) => server.close(resolve))
  await limiter.close()
  redis.disconnect() // quit() would wait for a Redis that hangs
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
