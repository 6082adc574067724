// Tenants and their plans stand in a database. A plan is looked up once, is kept for a while, and holds while the database
// is down; an upgrade holds from the next request.
// To copy, with tenants.js: npm install @tollgate/express express ioredis sql.js
import { createLimiter, memoryStore, rateLimit, redisStore } from '@tollgate/express'
import express from 'express'
import { Redis } from 'ioredis'
import { Tenants } from './tenants.js'

const { PORT = '3000', REDIS_URL, REDIS_PREFIX = 'plans', DEADLINE_MS = '100' } = process.env

// With a Redis all instances count together; without one each process counts by itself.
const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again seconds after it is back
    })
  : undefined
const store = redis ? redisStore(redis, { prefix: REDIS_PREFIX }) : memoryStore()
// How long a plan holds without another look-up.
const { PLAN_TTL_MS = '5000' } = process.env

export const tenants = await Tenants.open()

export const limiter = createLimiter({
  store,
  plans: { free: '3/min', pro: '100/min' },
  defaultPlan: 'free',
  planOf: async ({ id }) => tenants.planOf(id),
  // Old answers serve for an hour while new ones are looked up, and while the database is down.
  planCache: { ttlMs: Number(PLAN_TTL_MS), staleMs: 3_600_000 },
  deadlineMs: Number(DEADLINE_MS),
})
limiter.on('planError', (error, { id }) => console.error(`planError of ${id}: ${error.message}`))

// In an app of your own: a verified token, or another look-up. An unknown key is nobody, and counts by the client's address.
const ids = new Map(['acme', 'globex', 'initech', 'closed'].map((id) => [`key-of-${id}`, id]))
const tenantOf = (req) => ids.get(req.get('x-api-key') ?? '')

const app = express()
app.post('/upgrade', (req, res) => {
  const id = tenantOf(req)
  if (!tenants.upgrade(id)) {
    res.status(404).json({ error: 'no such tenant' })
    return
  }
  limiter.forgetPlan(id) // so that the next request is on it
  res.json({ id, plan: 'pro' })
})
app.use(rateLimit({ limiter, identify: tenantOf }))
app.get('/', (req, res) => res.json({ plan: req.rateLimit.plan, limits: req.rateLimit.limits }))
// Express finds an error handler by its four arguments.
app.use((error, _req, res, _next) => res.status(503).json({ error: error.message }))

export const server = app.listen(Number(PORT), () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})

/** In this order: what is under way is answered, what is owed is charged, and then nothing needs Redis any more. */
export async function close() {
  server.keepAliveTimeout = 1 // ms; else a client that keeps its connection would hold the process back
  await new Promise((resolve) => server.close(resolve))
  await limiter.close()
  redis?.disconnect() // not quit(), which would wait for a Redis that hangs
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
