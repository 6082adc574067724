// A SaaS API on Fastify: tenants on plans, a guard by address, and routes with limits of their own.
// To copy: npm install @tollgate/fastify fastify ioredis
import { byIp, createLimiter, memoryStore, rateLimit, redisStore } from '@tollgate/fastify'
import Fastify from 'fastify'
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
  plans: {
    free: '5/min',
    starter: ['20/min', '500/d'],
    pro: ['2/s burst 40', '1000/h'],
  },
  defaultPlan: 'free',
})

// In your app: a look-up in your database.
const tenants = new Map([
  ['key-of-acme', { id: 'acme', plan: 'free' }],
  ['key-of-initech', { id: 'initech', plan: 'starter' }],
  ['key-of-globex', { id: 'globex', plan: 'pro' }],
])

// Counts by address before authentication, so that guessing keys is limited, too. Its limit is above every plan, since a
// tenant must get what it pays for. It sends no headers, since its numbers are nobody's plan.
const guard = { group: 'guard', limit: '400/min', headers: false }

// A request that fails on our side costs nothing.
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
  // With `identify` the plugin decides at `preHandler`, behind authentication.
  await api.register(rateLimit, { limiter, identify: (request) => request.tenant, refundWhen })
  api.get('/items', async () => ({ items: [] }))
  // Searches have counters of their own, with the limits of the plan.
  api.get('/search', { config: { rateLimit: { group: 'search' } } }, async () => ({ found: 0 }))
  // Exports count against the plan, and against a limit on top.
  const stacked = { export: '2/h' }
  api.post('/export', { config: { rateLimit: { stacked } } }, async () => ({ exported: true }))
  api.get('/flaky', (_request, reply) => reply.code(500).send({ error: 'not your fault' }))
  api.get('/whoami', async (request) => request.rateLimit)
})

await app.listen({ port: Number(PORT), host: '127.0.0.1' })
console.log(`Listening on http://127.0.0.1:${app.server.address().port}`)

/** The order matters: requests under way are answered, then what is owed is charged, and then Redis is not needed. */
async function close() {
  app.server.keepAliveTimeout = 1 // ms; or a client that keeps its connection open would keep the process alive
  await app.close()
  await limiter.close()
  redis?.disconnect() // quit() would wait for a Redis that hangs
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
