// Limits for an organisation, its user and the client's address. All must have room, or nothing is taken from any.
// To copy: npm install @tollgate/express express ioredis
import { byIp, createLimiter, memoryStore, rateLimit, redisStore } from '@tollgate/express'
import express from 'express'
import { Redis } from 'ioredis'

const { PORT = '3000', REDIS_URL } = process.env

// With Redis all instances count together. Without it each process counts for itself.
const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again only seconds after it is back
    })
  : undefined
const store = redis ? redisStore(redis) : memoryStore()
const limiter = createLimiter({
  store,
  plans: { team: '6/min', seat: '4/min', address: '9/min' },
  defaultPlan: 'address',
})
const byAddress = byIp({ plan: 'address' })

// In your app: authentication by a look-up or a verified token.
const users = new Map([
  ['key-of-ada', { org: 'acme', name: 'ada' }],
  ['key-of-bob', { org: 'acme', name: 'bob' }],
  ['key-of-carl', { org: 'globex', name: 'carl' }],
  ['key-of-dora', { org: 'globex', name: 'dora' }],
])

const app = express()
app.use((req, res, next) => {
  req.user = users.get(req.get('x-api-key') ?? '')
  if (req.user) next()
  else res.status(401).json({ error: 'unknown key' })
})
app.use(
  rateLimit({
    limiter,
    // All ids share one namespace, so each begins with its kind.
    identify: (req) => [
      { id: `org:${req.user.org}`, plan: 'team' },
      { id: `user:${req.user.name}`, plan: 'seat', label: 'user' },
      byAddress(req), // its limits are named by the plan: address.minute
    ],
  }),
)
app.get('/', (req, res) => {
  const left = req.rateLimit.limits.map(({ name, remaining }) => [name, remaining])
  res.json(Object.fromEntries(left))
})

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
