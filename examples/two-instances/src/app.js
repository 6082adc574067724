// One of several processes of an API. They share nothing but Redis.
// To copy: npm install @tollgate/express express ioredis. Start it as often as you like, each time with another PORT.
import { createLimiter, rateLimit, redisStore } from '@tollgate/express'
import express from 'express'
import { Redis } from 'ioredis'

const { PORT = '3000', REDIS_URL = 'redis://127.0.0.1:6379', OPERATOR_KEY } = process.env

const redis = new Redis(REDIS_URL, {
  autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
  retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again only seconds after it is back
})
const store = redisStore(redis)
const limiter = createLimiter({ limit: '100/min', store, onStoreFailure: 'closed' })

// In your app: a look-up in your database. A request with an unknown key counts against the client's address.
const tenants = new Map([
  ['key-of-acme', 'acme'],
  ['key-of-globex', 'globex'],
])

const app = express()
// Rules: each holds in this process at once, and in the others within about a second. In your app: your operators' log-in.
app.use('/operators', (req, res, next) => {
  if (OPERATOR_KEY && req.get('x-operator-key') === OPERATOR_KEY) next()
  else res.sendStatus(404)
})
app.post('/operators/block/:id', async (req, res) => {
  const { kind, of, until } = await limiter.block(req.params.id, { for: '1h', by: 'ops' })
  res.json({ kind, of, until })
})
app.post('/operators/double/:id', async (req, res) => {
  const { kind, of, until } = await limiter.override(req.params.id, { factor: 2, for: '1h', by: 'ops' })
  res.json({ kind, of, until })
})
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
