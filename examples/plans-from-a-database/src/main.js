// Tries the example. The order matters: the kit says which port and counters are the example's.
import { createServer } from 'node:http'
import { check, eventually, isOnce, play, statuses, urlOf } from '@tollgate/example-kit'

// Long enough for the first requests on a busy machine.
const ttlMs = 2000
if (isOnce) process.env.PLAN_TTL_MS = String(ttlMs)
const app = await import('./app.js')

let lookUps = 0
const planOf = app.tenants.planOf.bind(app.tenants)
app.tenants.planOf = (id) => {
  lookUps += 1
  return planOf(id)
}
const failures = []
app.limiter.on('planError', (error, { id }) => failures.push(`${id}: ${error.message}`))

async function drive(url) {
  const as = (tenant, path = '/', method = 'GET') =>
    fetch(url + path, { method, headers: { 'x-api-key': `key-of-${tenant}` } })
  const planOf = async (tenant) => (await (await as(tenant)).json()).plan
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

  check('acme is on free: 3 a minute', await statuses(5, () => as('acme')), { 200: 3, 429: 2 })
  check('and was looked up once', lookUps, 1)
  check('it buys an upgrade', (await as('acme', '/upgrade', 'POST')).status, 200)
  const { plan, limits } = await (await as('acme')).json()
  check('which holds at once, with what it has used', [plan, limits[0].remaining], ['pro', 96])
  check('whoever is not in the table cannot', (await as('closed', '/upgrade', 'POST')).status, 404)

  app.tenants.close()
  await sleep(ttlMs + 50)
  const before = lookUps
  check('the database is down, and the plan is due: acme keeps it', await planOf('acme'), 'pro')
  check('it was asked for, in vain', lookUps - before, 1)
  check('an upgrade fails, and says so', (await as('acme', '/upgrade', 'POST')).status, 503)
  check('initech was never seen, and is held to the default plan', await planOf('initech'), 'free')
  check('the limiter tells of both', failures, [
    'acme: planOf failed: Database closed',
    'initech: planOf failed: Database closed',
  ])

  app.tenants.reopen()
  // A look-up that failed is not repeated for a second.
  await sleep(1100)
  check(
    'it is back, and initech on what it pays for',
    await eventually(() => planOf('initech'), 'pro'),
    'pro',
  )
  check('and acme still is', await planOf('acme'), 'pro')
}

/** A database that really goes down and comes back, by hand: on a port of its own, since it is no part of the example. */
async function serveSwitch() {
  const server = createServer((req, res) => {
    if (req.url === '/down') app.tenants.close()
    else app.tenants.reopen()
    res.end(`the database is ${req.url === '/down' ? 'down' : 'up'}\n`)
  })
  return urlOf(server.listen(0, '127.0.0.1').unref())
}

const database = isOnce ? '' : await serveSwitch()
const hint = (url) => [
  `curl -i ${url}/ -H 'x-api-key: key-of-acme'                 # free: the fourth of a minute is denied`,
  `curl -X POST ${url}/upgrade -H 'x-api-key: key-of-acme'`,
  `curl -i ${url}/ -H 'x-api-key: key-of-acme'                 # pro, at once`,
  `curl -X POST ${database}/down`,
  `curl -i ${url}/ -H 'x-api-key: key-of-acme'                 # still pro; 'planError' is printed here once 5 s are over`,
  `curl -i ${url}/ -H 'x-api-key: key-of-initech'              # never looked up: the default plan, though it pays for pro`,
  `curl -X POST ${database}/up`,
]

await play(app, { drive, hint })
