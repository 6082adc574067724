// An organisation, a user of it, and the client's address: all must have room, or nothing is taken of any.
// To copy: npm install @tollgate/express express ioredis
import { byIp, createLimiter, memoryStore, rateLimit, redisStore } from '@tollgate/express'
import express from 'express'
import { Redis } from 'ioredis'

const { PORT = '3000', REDIS_URL, REDIS_PREFIX = 'several-subjects', DEADLINE_MS = '100' } = process.env

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
  plans: { team: '6/min', seat: '4/min', address: '9/min' },
  defaultPlan: 'address',
  deadlineMs: Number(DEADLINE_MS),
})
const byAddress = byIp({ plan: 'address' })

// In an app of your own: authentication, by a look-up or a verified token.
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
    // Ids are one namespace, so each says what it is of.
    identify: (req) => [
      { id: `org:${req.user.org}`, plan: 'team' },
      { id: `user:${req.user.name}`, plan: 'seat', label: 'user' },
      byAddress(req), // called by its plan: address.minute
    ],
  }),
)
app.get('/', (req, res) => {
  const left = req.rateLimit.limits.map(({ name, remaining }) => [name, remaining])
  res.json(Object.fromEntries(left))
})

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
