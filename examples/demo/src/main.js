// npm start: an API that sells three plans, real traffic against it, and who got through.
import { once } from 'node:events'
import { createLimiter, redisStore } from '@tollgate/express'
import { Redis } from 'ioredis'
import { createApp, createFixedWindowApp, plans } from './app.js'
import { findFaults, mostInAnyWindow } from './check.js'
import { watch } from './screen.js'
import { Tenant } from './tenant.js'
import { createTenants, drive } from './traffic.js'

const MINUTE_MS = 8000
const {
  HOST: host = '127.0.0.1',
  PORT: port = '3000',
  REDIS_URL: redisUrl,
  TOLLGATE_DEMO_TRAFFIC: traffic,
} = process.env
const isOnce = process.argv.includes('--once')
const say = (text = '') => process.stdout.write(`${text}\n`)

const redis = redisUrl ? connect(redisUrl) : undefined
const limiter = createLimiter({
  plans: plans(MINUTE_MS),
  defaultPlan: 'free',
  ...(redis && { store: redisStore(redis) }),
})
tellOfFaults()

const api = await listen(
  createApp(limiter, { trustProxy: process.env.TRUST_PROXY === '1' }),
  isOnce ? 0 : Number(port),
)
introduce()
const ok = traffic === 'off' || (await showTraffic())
if (isOnce) {
  await stop()
  process.exitCode = ok ? 0 : 1
} else {
  tryIt()
  process.once('SIGINT', stop).once('SIGTERM', stop)
}

function connect(url) {
  const client = new Redis(url)
  client.on('error', () => {}) // the limiter says when it matters
  return client
}

/** Once, until the store answers again: an outage is not an error a request. */
function tellOfFaults() {
  let isTold = false
  limiter.on('storeError', (error) => {
    if (!isTold) say(`  Redis does not answer (${error.message}): requests pass unlimited until it does.`)
    isTold = true
  })
}

async function listen(app, wanted) {
  const server = app.listen(wanted, host)
  try {
    await once(server, 'listening')
    return server
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error
    say(`Port ${wanted} is taken, so a free one is used.`)
    return listen(app, 0)
  }
}

function urlOf(server) {
  return `http://127.0.0.1:${server.address().port}/`
}

function introduce() {
  say()
  say(
    'Tollgate demo: an API that sells plans, free 100/min, starter 3000/min, pro 50/s burst 100 and a month.',
  )
  say(`Counts are kept ${redisUrl ? `in Redis (${new URL(redisUrl).host})` : "in this process's memory"}.`)
  say(`It listens on ${urlOf(api)}; a minute of this demo lasts ${MINUTE_MS / 1000} s.`)
}

/** Resolves with whether every tenant got what its plan says. */
async function showTraffic() {
  const fixed = await listen(createFixedWindowApp(MINUTE_MS), 0)
  const tenants = createTenants({ api: urlOf(api), fixed: urlOf(fixed) })
  say()
  say(
    'Real requests now. free tries the trick that breaks fixed windows: 100 at second 59, 100 at second 01.',
  )
  say()
  const stopWatching = watch(Object.values(tenants))
  const got = await drive(tenants, MINUTE_MS)
  stopWatching()
  fixed.close()
  explain(tenants, got)
  const faults = findFaults(tenants, got, MINUTE_MS)
  for (const fault of faults) say(`  WRONG: ${fault}`)
  if (faults.length === 0) say('Every tenant got what its plan says: no more in any window, and no less.')
  return faults.length === 0
}

function explain({ free, starter, pro, fixed }, got) {
  const most = (tenant) => mostInAnyWindow(tenant.log, MINUTE_MS)
  say()
  say(
    `free     ${got.free.before} passed before the seam, ${got.free.after} of 100 after it: ${most(free)} in its worst minute.`,
  )
  say(
    `         A fixed window let ${got.fixed.before} and ${got.fixed.after} pass: ${most(fixed)} in one minute.`,
  )
  say(`starter  ${starter.allowed} passed, ${starter.limited} limited: it stayed below its plan.`)
  say(
    `pro      ${got.pro.burst} of 140 at once passed (a burst of 100, and 50 a second), then ${pro.allowed - got.pro.burst} at its rate.`,
  )
  say()
}

function tryIt() {
  const url = urlOf(api)
  say()
  say('Try it:')
  say(`  curl -i ${url} -H 'x-api-key: demo-free'`)
  say(
    `  curl -i ${url}report -H 'x-api-key: demo-free'     # costs 60 of its 100: the second within ${MINUTE_MS / 1000} s gets a 429`,
  )
  say(`  curl -i ${url} -H 'x-api-key: demo-pro'`)
  say(`  curl -i ${url}                                     # no key: counted by IP, on the free plan`)
  say('Ctrl-C stops it.')
}

async function stop() {
  Tenant.disconnect()
  api.closeAllConnections()
  api.close()
  await limiter.close()
  redis?.disconnect()
}
