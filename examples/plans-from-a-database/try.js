// Runs the example; with --once it also asks it and checks the answers.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { check, eventually, play, statuses } from '../example-kit/src/index.js'
import { Tenants } from './src/tenants.js'

/** How long a plan is kept in this run: long enough for the first requests on a busy machine. */
const ttlMs = 2000

// The example's database, which this takes down and brings back.
let isDown = false
let lookUps = 0
const { planOf, upgrade } = Tenants.prototype
function whileUp(question, tenants, id) {
  if (isDown) throw new Error('the database is down')
  return question.call(tenants, id)
}
Tenants.prototype.planOf = function (id) {
  lookUps += 1
  return whileUp(planOf, this, id)
}
Tenants.prototype.upgrade = function (id) {
  return whileUp(upgrade, this, id)
}

async function drive(url, [limiter]) {
  const failures = []
  limiter.on('planError', (error, { id }) => failures.push(`${id}: ${error.message}`))
  const as = (tenant, path = '/', method = 'GET') =>
    fetch(url + path, { method, headers: { 'x-api-key': `key-of-${tenant}` } })
  const planAs = async (tenant) => (await (await as(tenant)).json()).plan

  check('5 requests of acme, on a plan of 3 a minute', await statuses(5, () => as('acme')), {
    200: 3,
    429: 2,
  })
  check('look-ups of its plan', lookUps, 1)
  check('acme buys an upgrade', (await as('acme', '/upgrade', 'POST')).status, 200)
  const { plan, limits } = await (await as('acme')).json()
  check('its next request: plan, and what is left of 100', [plan, limits[0].remaining], ['pro', 96])
  check(
    'an upgrade of a tenant that is not in the table',
    (await as('closed', '/upgrade', 'POST')).status,
    404,
  )

  isDown = true
  await sleep(ttlMs + 50)
  const before = lookUps
  check('the plan of acme while the database is down', await planAs('acme'), 'pro')
  check('look-ups meanwhile', lookUps - before, 1)
  check('an upgrade meanwhile', (await as('acme', '/upgrade', 'POST')).status, 503)
  check('the plan of initech, which was never looked up: the default', await planAs('initech'), 'free')
  check('the events of failed look-ups', failures, [
    'acme: planOf failed: the database is down',
    'initech: planOf failed: the database is down',
  ])

  isDown = false
  // A look-up that failed is not repeated for a second.
  await sleep(1100)
  check('the plan of initech after that', await eventually(() => planAs('initech'), 'pro'), 'pro')
  check('the plan of acme', await planAs('acme'), 'pro')
}

/** Takes the database down and brings it back by hand, on a port of its own. */
async function serveSwitch() {
  const server = createServer((req, res) => {
    isDown = req.url === '/down'
    res.end(`the database is ${isDown ? 'down' : 'up'}\n`)
  })
  server.listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  return `http://127.0.0.1:${server.address().port}`
}

const database = await serveSwitch()
const hint = (url) => [
  `curl -i ${url}/ -H 'x-api-key: key-of-acme'                 # free: the fourth in a minute is denied`,
  `curl -X POST ${url}/upgrade -H 'x-api-key: key-of-acme'`,
  `curl -i ${url}/ -H 'x-api-key: key-of-acme'                 # pro, at once`,
  `curl ${database}/down`,
  `curl -i ${url}/ -H 'x-api-key: key-of-acme'                 # still pro; after 5 s the failed look-up is printed here`,
  `curl -i ${url}/ -H 'x-api-key: key-of-initech'              # never looked up: the default plan`,
  `curl ${database}/up`,
]

const limiter = { planCache: { ttlMs, staleMs: 3_600_000 } }
await play(new URL('src/app.js', import.meta.url).href, { drive, hint, limiter })
