// npm start: an API that sells three plans, real traffic against it, and who got through.
import { createLimiter, redisStore } from '@tollgate/express'
import { Redis } from 'ioredis'
import { createAdmin } from './admin.js'
import { createApp, createFixedWindowApp, plans } from './app.js'
import { findFaults } from './check.js'
import { Screen } from './screen.js'
import { close, listen, urlOf } from './server.js'
import { announce, conclude, explain, introduce, moments, tryIt } from './story.js'
import { Tenant } from './tenant.js'
import { createTenants, drive, goOn } from './traffic.js'

const minuteMs = 8000
const {
  HOST: host = '127.0.0.1',
  PORT,
  REDIS_URL,
  TRUST_PROXY,
  TOLLGATE_DEMO_TRAFFIC,
  ADMIN_PASSWORD,
} = process.env
const isOnce = process.argv.includes('--once')
const screen = new Screen()
const tenants = new Map(
  ['free', 'starter', 'pro'].map((plan) => [`demo-${plan}`, { id: `demo-${plan}`, plan }]),
)

const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again only seconds after it is back
    })
  : undefined
const limiter = createLimiter({
  plans: plans(minuteMs),
  defaultPlan: 'free',
  onStoreFailure: 'open',
  ...(redis && { store: redisStore(redis) }),
  // The clients of the demo live in the same process: while they work, an answer of Redis waits to be read.
  deadlineMs: 1000,
})
const { guard, admin } = createAdmin(limiter, ADMIN_PASSWORD)
const dashboard = guard ? [guard, admin] : [admin]
const app = createApp({ limiter, tenants, trustProxy: Number(TRUST_PROXY ?? 0), dashboard })
let undecided = 0
const api = await start()
for (const signal of ['SIGINT', 'SIGTERM']) {
  // A run with --once that is cut short has not shown anything.
  process.on(signal, () => stop().then(() => process.exit(isOnce ? 130 : 0)))
}

const url = urlOf(api)
const store = redis ? `Redis (${redis.options.host}:${redis.options.port})` : "this process's memory"
screen.say(...introduce({ url, minuteMs, store }))
await greetStore()
if (!isOnce) screen.say(...tryIt({ url, minuteMs, token: admin.token }))
const isRight = TOLLGATE_DEMO_TRAFFIC === 'off' || (await showTraffic())
if (isOnce) {
  await stop()
  process.exitCode = isRight ? 0 : 1
} else {
  screen.say('', `The API stays up at ${url} for the curl lines and the dashboard. Ctrl-C stops it.`)
  if (TOLLGATE_DEMO_TRAFFIC !== 'off') await goOn(url, tenants)
}

async function start() {
  const port = Number(PORT ?? 3000)
  const onTaken = () => screen.say(`Port ${port} is taken, so the demo uses a free one.`)
  try {
    return await listen(app, { host, port, onTaken })
  } catch (error) {
    screen.say(`The demo cannot listen on HOST ${host}, PORT ${PORT ?? 3000}: ${error.message}`)
    process.exit(1)
  }
}

/** Asks the store before the first request does, so that a wrong REDIS_URL is told at the top. */
async function greetStore() {
  let silentUntil = 0
  limiter.on('storeError', ({ message }, requests) => {
    undecided += requests
    if (performance.now() < silentUntil) return
    silentUntil = performance.now() + 10_000
    screen.say(`Redis does not answer, so requests pass unlimited until it does: ${message}`)
  })
  await limiter.peek('greeting')
  undecided = 0
}

/** Resolves with whether every tenant got what its plan promises. */
async function showTraffic() {
  const fixedWindow = createFixedWindowApp({ quota: 100, windowMs: minuteMs, tenants })
  const fixedServer = await listen(fixedWindow, { host: '127.0.0.1', port: 0 })
  const clients = createTenants({ api: url, fixed: urlOf(fixedServer) }, minuteMs)
  const customers = Object.values(clients).filter(({ plan }) => plan)
  for (const { key, plan } of customers) tenants.set(key, { id: key, plan })

  screen.say(...announce())
  screen.watch(Object.values(clients), minuteMs)
  const seen = await drive(clients, minuteMs, (moment) => screen.say(moments[moment]))
  screen.unwatch()
  Tenant.disconnect()
  await Promise.all([close(fixedServer), forget(customers)])

  const faults = findFaults(Object.values(clients))
  screen.say(...explain(clients, seen, minuteMs), ...conclude(faults, undecided))
  return faults.length === 0
}

/** pro counts by the month, and its key would stay in Redis as long. */
async function forget(customers) {
  for (const { key } of customers) {
    tenants.delete(key)
    await limiter.reset(key).catch(() => {}) // told as a storeError
  }
}

async function stop() {
  Tenant.disconnect()
  await close(api)
  await limiter.close()
  if (redis?.status === 'ready') await redis.quit()
  else redis?.disconnect()
}
