// A SaaS API on Express: tenants on plans, a guard in front, and routes with limits of their own.
// To copy: npm install @tollgate/express express ioredis
import { byIp, createLimiter, memoryStore, rateLimit, redisStore } from '@tollgate/express'
import express from 'express'
import { Redis } from 'ioredis'

const { PORT = '3000', REDIS_URL, REDIS_PREFIX = 'saas', DEADLINE_MS = '100' } = process.env

// With a Redis all instances count together; without one each process counts by itself.
const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again seconds after it is back
    })
  : undefined
const store = redis ? redisStore(redis, { prefix: REDIS_PREFIX }) : memoryStore()
export const limiter = createLimiter({
  store,
  plans: {
    free: '5/min',
    starter: ['20/min', '500/d'],
    pro: ['2/s burst 40', '1000/h'],
  },
  defaultPlan: 'free',
  deadlineMs: Number(DEADLINE_MS),
})

// In an app of your own: a look-up in your database.
const tenants = new Map([
  ['key-of-acme', { id: 'acme', plan: 'free' }],
  ['key-of-initech', { id: 'initech', plan: 'starter' }],
  ['key-of-globex', { id: 'globex', plan: 'pro' }],
])

// Counts client addresses before anyone knows who calls, so that guessing keys is limited, too. The limit is
// above what any plan allows in a minute: it must not take what a tenant pays for. Clients are told nothing of it.
const guard = { group: 'guard', limit: '400/min', headers: false }

const limit = rateLimit({
  limiter,
  identify: (req) => req.tenant,
  // What fails on our side costs nobody a unit.
  refundWhen: ({ status = 0 }) => status >= 500,
})

const app = express()
app.get('/health', (_req, res) => res.send('ok'))
app.use(rateLimit({ limiter, identify: byIp(), ...guard }))
app.use((req, res, next) => {
  req.tenant = tenants.get(req.get('x-api-key') ?? '')
  if (req.tenant) next()
  else res.status(401).json({ error: 'unknown key' })
})
// Routes with limits of their own: above the limiter of all others, which does not count them again.
// Counters of its own: as much again as the plan says.
app.get('/search', limit.route({ group: 'search' }), (_req, res) => res.json({ found: 0 }))
// Within the plan, and no more than this of it.
app.post('/export', limit.route({ stacked: { export: '2/h' } }), (_req, res) => res.json({ exported: true }))
app.use(limit)
app.get('/items', (_req, res) => res.json({ items: [] }))
app.get('/flaky', (_req, res) => res.status(500).json({ error: 'not your fault' }))
app.get('/whoami', (req, res) => res.json(req.rateLimit))

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
