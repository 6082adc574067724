import { createServer } from 'node:http'
import {
  check,
  deadlineMs,
  eventually,
  isOnce,
  listen,
  makeStore,
  play,
  statuses,
} from '@tollgate/example-kit'
import { createLimiter, rateLimit } from '@tollgate/express'
import express from 'express'
import { Tenants } from './tenants.js'

const tenants = await Tenants.open()
let lookUps = 0

/** How long a plan holds without another look-up. */
const ttlMs = isOnce ? 200 : 5000

const { store, close } = makeStore()
const limiter = createLimiter({
  store,
  plans: { free: '3/min', pro: '100/min' },
  defaultPlan: 'free',
  planOf: async ({ id }) => {
    lookUps += 1
    return tenants.planOf(id)
  },
  // Old answers serve for an hour while new ones are looked up, and while the database is down.
  planCache: { ttlMs, staleMs: 3_600_000 },
  deadlineMs,
})
const failures = []
limiter.on('planError', (error, { id }) => {
  failures.push(`${id}: ${error.message}`)
  if (!isOnce) process.stdout.write(`planError of ${id}: ${error.message}\n`)
})

const app = express()
app.post('/upgrade', (req, res) => {
  const id = req.get('x-tenant')
  if (!tenants.upgrade(id)) {
    res.status(404).json({ error: 'no such tenant' })
    return
  }
  limiter.forgetPlan(id) // so that the next request is on it
  res.json({ id, plan: 'pro' })
})
// For trying it: a database that really fails, and comes back.
app.post('/database/down', (_req, res) => res.json({ isUp: tenants.close() }))
app.post('/database/up', (_req, res) => res.json({ isUp: tenants.reopen() }))
app.use(rateLimit({ limiter, identify: (req) => req.get('x-tenant') }))
app.get('/', (req, res) => res.json({ plan: req.rateLimit.plan, limits: req.rateLimit.limits }))
// Express finds an error handler by its four arguments.
app.use((error, _req, res, _next) => res.status(503).json({ error: error.message }))

async function drive(url) {
  const as = (tenant, path = '/', method = 'GET') =>
    fetch(url + path, { method, headers: { 'x-tenant': tenant } })
  const planOf = async (tenant) => (await (await as(tenant)).json()).plan
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

  check('acme is on free: 3 a minute', await statuses(5, () => as('acme')), { 200: 3, 429: 2 })
  check('and was looked up once', lookUps, 1)
  check('it buys an upgrade', (await as('acme', '/upgrade', 'POST')).status, 200)
  const { plan, limits } = await (await as('acme')).json()
  check('which holds at once, with what it has used', [plan, limits[0].remaining], ['pro', 96])
  check('whoever is not in the table cannot', (await as('nobody', '/upgrade', 'POST')).status, 404)

  await as('acme', '/database/down', 'POST')
  await sleep(ttlMs + 50)
  const before = lookUps
  check('the database is down, and the plan is due: acme keeps it', await planOf('acme'), 'pro')
  check('it was asked for, in vain', lookUps - before, 1)
  check('an upgrade fails, and says so', (await as('acme', '/upgrade', 'POST')).status, 503)
  check('initech was never seen, and is held to the default plan', await planOf('initech'), 'free')
  check('the limiter tells of both', failures, ['acme: Database closed', 'initech: Database closed'])

  await as('acme', '/database/up', 'POST')
  // A look-up that failed is not repeated for a second.
  await sleep(1100)
  check(
    'it is back, and initech on what it pays for',
    await eventually(() => planOf('initech'), 'pro'),
    'pro',
  )
  check('and acme still is', await planOf('acme'), 'pro')
}

const server = createServer(app)
const url = await listen(server)
await play({
  url,
  drive,
  hint: [
    `curl -i ${url}/ -H 'x-tenant: acme'                 # free: the fourth of a minute is denied`,
    `curl -X POST ${url}/upgrade -H 'x-tenant: acme'`,
    `curl -i ${url}/ -H 'x-tenant: acme'                 # pro, at once`,
    `curl -X POST ${url}/database/down`,
    `curl -i ${url}/ -H 'x-tenant: acme'                 # still pro; 'planError' is printed here once 5 s are over`,
    `curl -i ${url}/ -H 'x-tenant: initech'              # never looked up: the default plan, though it pays for pro`,
    `curl -X POST ${url}/database/up`,
  ],
  close: async () => {
    server.closeAllConnections()
    server.close()
    await limiter.close()
    await close()
  },
})
