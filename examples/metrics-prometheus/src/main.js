// Tries the example. The order matters: the kit says which port and counters are the example's.
import { check, play, statuses } from '@tollgate/example-kit'
import * as app from './app.js'

/** The sum of the samples of a metric that have these labels, as Prometheus would read them. */
async function read(url, name, labels = {}) {
  const text = await (await fetch(`${url}/metrics`)).text()
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .filter((line) => Object.entries(labels).every(([key, value]) => line.includes(`${key}="${value}"`)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

async function drive(url) {
  const ask = (path, key) => fetch(url + path, { headers: { 'x-api-key': key } })
  const sum = (name, labels) => read(url, `tollgate_${name}`, labels)
  const of = (plan, result) => ({ tollgate_plan_name: plan, tollgate_decision_result: result })

  const ready = await fetch(`${url}/ready`)
  check('it is ready', [ready.status, (await ready.json()).limiter], [200, 'ok'])

  check('acme is on free', await statuses(8, () => ask('/items', 'key-of-acme')), { 200: 5, 429: 3 })
  check('globex is on pro', await statuses(12, () => ask('/items', 'key-of-globex')), { 200: 12 })
  check('and asks for reports', await statuses(3, () => ask('/report', 'key-of-globex')), { 200: 3 })

  check('decisions: free, allowed', await sum('decisions_total', of('free', 'allowed')), 5)
  check('decisions: free, denied', await sum('decisions_total', of('free', 'denied')), 3)
  check('decisions: pro, allowed', await sum('decisions_total', of('pro', 'allowed')), 15)
  check('units: pro, reports at 10', await sum('units_total', of('pro', 'allowed')), 42)
  check(
    'the limit that denied',
    await sum('limit_violations_total', { tollgate_plan_name: 'free', tollgate_limit_name: 'minute' }),
    3,
  )
  check('nothing waits', await sum('request_pending'), 0)
  check('the breaker is closed', await sum('breaker_status', { tollgate_breaker_state: 'closed' }), 1)
  check('and not open', await sum('breaker_status', { tollgate_breaker_state: 'open' }), 0)
  check('the limiter is well', await sum('limiter_status', { tollgate_limiter_state: 'ok' }), 1)

  await ask('/items', 'key-of-typo')
  check(
    'a plan that does not exist',
    await sum('unknown_plan_requests_total', { tollgate_plan_name: 'free' }),
    1,
  )
  const text = await (await fetch(`${url}/metrics`)).text()
  check('no tenant is told, and no name that is no plan', /acme|globex|typo|por"/.test(text), false)
  check(
    'how the metrics look',
    text.match(/^# TYPE tollgate_decisions.*$/m)?.[0],
    '# TYPE tollgate_decisions_total counter',
  )

  await app.limiter.close()
  const closed = await fetch(`${url}/ready`)
  check(
    'without its limiter it is not ready',
    [closed.status, (await closed.json()).limiter],
    [503, 'closed'],
  )
  check('which metrics say, too', await sum('limiter_status', { tollgate_limiter_state: 'closed' }), 1)
}

const hint = (url) => [
  `curl -i ${url}/items -H 'x-api-key: key-of-acme'      # free: 5 a minute`,
  `curl -i ${url}/report -H 'x-api-key: key-of-globex'   # pro, 10 units each`,
  `curl -s ${url}/metrics | grep ^tollgate`,
  `curl -i ${url}/ready`,
]

await play(app, { drive, hint })
