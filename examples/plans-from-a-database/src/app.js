// Plans from a database. A plan is looked up once and kept for a while, also while the database is down. An upgrade holds
// from the next request.
// To copy, with tenants.js: npm install @tollgate/express express ioredis sql.js
import { createLimiter, memoryStore, rateLimit, redisStore } from '@tollgate/express'
import express from 'express'
import { Redis } from 'ioredis'
import { Tenants } from './tenants.js'

const { PORT = '3000', REDIS_URL } = process.env

// With Redis all instances count together. Without it each process counts for itself.
const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again only seconds after it is back
    })
  : undefined
const store = redis ? redisStore(redis) : memoryStore()
const tenants = await Tenants.open()

const limiter = createLimiter({
  store,
  plans: { free: '3/min', pro: '100/min' },
  defaultPlan: 'free',
  planOf: async ({ id }) => tenants.planOf(id),
  // A plan is looked up again after 5 s. The old one serves meanwhile, and for an hour if the database is down.
  planCache: { ttlMs: 5000, staleMs: 3_600_000 },
})
limiter.on('planError', (error, { id }) => console.error(`planError of ${id}: ${error.message}`))

// In your app: a verified token, or another look-up. A request with an unknown key counts against the client's address.
const ids = new Map(['acme', 'globex', 'initech', 'closed'].map((id) => [`key-of-${id}`, id]))
const tenantOf = (req) => ids.get(req.get('x-api-key') ?? '')

const app = express()
app.post('/upgrade', (req, res) => {
  const id = tenantOf(req)
  if (!tenants.upgrade(id)) {
    res.status(404).json({ error: 'no such tenant' })
    return
  }
  // So that the next request is on the new plan, in all instances. In this one that is so even while Redis is down.
  limiter.forgetPlan(id, { everywhere: true }).catch((error) => console.error(error.message))
  res.json({ id, plan: 'pro' })
})
app.use(rateLimit({ limiter, identify: tenantOf }))
app.get('/', (req, res) => res.json({ plan: req.rateLimit.plan, limits: req.rateLimit.limits }))
// Express finds an error handler by its four arguments.
app.use((error, _req, res, _next) => res.status(503).json({ error: error.message }))

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})

/** The order matters: requests under way are answered, then what is owed is charged, and then Redis is not needed. */
async function close() {
  server.keepAliveTimeout = 1 // ms; or a client that keeps its connection open would keep the process alive
  await new Promise((resolve) => server.close(resolve))
  await limiter.close()
  redis?.disconnect() // quit() would wait for a Redis that hangs
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
