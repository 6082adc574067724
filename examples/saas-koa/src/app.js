// A SaaS API on Koa: tenants on plans, a guard by address, and routes with limits of their own.
// To copy: npm install @tollgate/koa koa @koa/router ioredis
import Router from '@koa/router'
import { byIp, createLimiter, memoryStore, rateLimit, redisStore } from '@tollgate/koa'
import { Redis } from 'ioredis'
import Koa from 'koa'

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

const limit = rateLimit({
  limiter,
  identify: (ctx) => ctx.state.tenant,
  // A request that fails on our side costs nothing.
  refundWhen: ({ status = 0 }) => status >= 500,
})

const open = new Router().get('/health', (ctx) => (ctx.body = 'ok'))
// Routes with limits of their own go above the limiter of all others, which does not count them again.
const ofTheirOwn = new Router()
  // Searches have counters of their own, with the limits of the plan.
  .get('/search', limit.route({ group: 'search' }), (ctx) => (ctx.body = { found: 0 }))
  // Exports count against the plan, and against a limit on top.
  .post('/export', limit.route({ stacked: { export: '2/h' } }), (ctx) => (ctx.body = { exported: true }))
const api = new Router()
  .get('/items', (ctx) => (ctx.body = { items: [] }))
  .get('/flaky', (ctx) => {
    ctx.status = 500
    ctx.body = { error: 'not your fault' }
  })
  .get('/whoami', (ctx) => (ctx.body = ctx.state.rateLimit))

const app = new Koa()
app.use(open.routes())
app.use(rateLimit({ limiter, identify: byIp(), ...guard }))
app.use(async (ctx, next) => {
  ctx.state.tenant = tenants.get(ctx.get('x-api-key'))
  ctx.assert(ctx.state.tenant, 401, 'unknown key')
  await next()
})
app.use(ofTheirOwn.routes())
app.use(limit)
app.use(api.routes())

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
