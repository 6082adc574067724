// A SaaS API on Fastify: tenants on plans, a guard in front, and routes with limits of their own.
// To copy: npm install @tollgate/fastify fastify ioredis
import { byIp, createLimiter, memoryStore, rateLimit, redisStore } from '@tollgate/fastify'
import Fastify from 'fastify'
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

// What fails on our side costs nobody a unit.
const refundWhen = ({ status = 0 }) => status >= 500

const app = Fastify()
app.get('/health', async () => 'ok')
await app.register(async (api) => {
  await api.register(rateLimit, { limiter, identify: byIp(), ...guard })
  api.decorateRequest('tenant')
  api.addHook('onRequest', async (request, reply) => {
    request.tenant = tenants.get(String(request.headers['x-api-key']))
    if (!request.tenant) return reply.code(401).send({ error: 'unknown key' })
  })
  // With an `identify` it decides at `preHandler`, behind authentication.
  await api.register(rateLimit, { limiter, identify: (request) => request.tenant, refundWhen })
  api.get('/items', async () => ({ items: [] }))
  // Counters of its own: as much again as the plan says.
  api.get('/search', { config: { rateLimit: { group: 'search' } } }, async () => ({ found: 0 }))
  // Within the plan, and no more than this of it.
  const stacked = { export: '2/h' }
  api.post('/export', { config: { rateLimit: { stacked } } }, async () => ({ exported: true }))
  api.get('/flaky', (_request, reply) => reply.code(500).send({ error: 'not your fault' }))
  api.get('/whoami', async (request) => request.rateLimit)
})

export const { server } = app
await app.listen({ port: Number(PORT) })
console.log(`Listening on http://127.0.0.1:${server.address().port}`)

/** In this order: what is under way is answered, what is owed is charged, and then nothing needs Redis any more. */
export async function close() {
  server.keepAliveTimeout = 1 // ms; else a client that keeps its connection would hold the process back
  await app.close()
  await limiter.close()
  redis?.disconnect() // not quit(), which would wait for a Redis that hangs
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
