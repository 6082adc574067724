import { createServer } from 'node:http'
import { check, listen, makeStore, play, statuses } from '@tollgate/example-kit'
import { createLimiter, rateLimit } from '@tollgate/express'
import express from 'express'
import initSqlJs from 'sql.js'

// A real SQLite, in memory: a file, or PostgreSQL, would be asked in the same way.
const { Database } = await initSqlJs()
const db = new Database()
db.run('CREATE TABLE tenants (id TEXT PRIMARY KEY, plan TEXT NOT NULL)')
db.run("INSERT INTO tenants VALUES ('acme', 'free'), ('globex', 'pro')")
let isDown = false
let lookUps = 0

async function planOf({ id }) {
  lookUps += 1
  if (isDown) throw new Error('the database is down')
  const [rows] = db.exec('SELECT plan FROM tenants WHERE id = ?', [id])
  return rows?.values[0][0]
}

const { store, close } = makeStore()
const limiter = createLimiter({
  store,
  plans: { free: '3/min', pro: '100/min' },
  defaultPlan: 'free',
  planOf,
  // Old answers serve for an hour while new ones are looked up, and while the database is down.
  planCache: { ttlMs: 60_000, staleMs: 3_600_000 },
  deadlineMs: 1000,
})
const failed = []
limiter.on('planError', (error, { id }) => failed.push(`${id}: ${error.message}`))

const app = express()
app.post('/upgrade', (req, res) => {
  const id = req.get('x-tenant')
  db.run("UPDATE tenants SET plan = 'pro' WHERE id = ?", [id])
  limiter.forgetPlan(id) // so that the next request is on it
  res.json({ id, plan: 'pro' })
})
app.use(rateLimit({ limiter, identify: (req) => req.get('x-tenant') }))
app.get('/', (req, res) => res.json({ plan: req.rateLimit.plan, limits: req.rateLimit.limits }))

const server = createServer(app)
await play({
  url: await listen(server),
  hint: [
    "curl -i localhost:3000/ -H 'x-tenant: acme'              # free, four times: the fourth is denied",
    "curl -X POST localhost:3000/upgrade -H 'x-tenant: acme'",
    "curl -i localhost:3000/ -H 'x-tenant: acme'              # pro, at once",
  ],
  drive: async (url) => {
    const as = (tenant, path = '/', method = 'GET') =>
      fetch(url + path, { method, headers: { 'x-tenant': tenant } })
    check('acme is on free: 3 a minute', await statuses(5, () => as('acme')), { 200: 3, 429: 2 })
    check('and was looked up once', lookUps, 1)
    await as('acme', '/upgrade', 'POST')
    const upgraded = await as('acme')
    const { plan, limits } = await upgraded.json()
    check('after the upgrade it is on pro, with what it has used', [plan, limits[0].remaining], ['pro', 96])
    isDown = true
    check('the database is down: who was known keeps the plan', (await (await as('acme')).json()).plan, 'pro')
    check('and who was not is on the default one', (await (await as('globex')).json()).plan, 'free')
    check('the limiter tells', failed, ['globex: the database is down'])
  },
  close: async () => {
    server.closeAllConnections()
    server.close()
    await limiter.close()
    await close()
    db.close()
  },
})
