// Runs the example; with --once it also asks it and checks the answers.
import { check, play, statuses } from '../example-kit/src/index.js'

/** The sum of the samples of a metric that have these labels, as Prometheus would read them. */
async function read(url, name, labels = {}) {
  const text = await (await fetch(`${url}/metrics`)).text()
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`))
    .filter((line) => Object.entries(labels).every(([key, value]) => line.includes(`${key}="${value}"`)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

async function drive(url, [limiter]) {
  const ask = (path, key) => fetch(url + path, { headers: { 'x-api-key': key } })
  const sum = (name, labels) => read(url, `tollgate_${name}`, labels)

  const ready = await fetch(`${url}/ready`)
  check('the readiness probe', [ready.status, (await ready.json()).limiter], [200, 'ok'])

  check(
    '8 requests of acme, on a plan of 5 a minute',
    await statuses(8, () => ask('/items', 'key-of-acme')),
    { 200: 5, 429: 3 },
  )
  check('12 requests of globex, on a larger plan', await statuses(12, () => ask('/items', 'key-of-globex')), {
    200: 12,
  })
  check('3 reports of globex, at 10 units each', await statuses(3, () => ask('/report', 'key-of-globex')), {
    200: 3,
  })

  check(
    '7 requests of initech, on a plan whose requests wait in line',
    await statuses(7, () => ask('/items', 'key-of-initech')),
    {
      200: 7,
    },
  )

  await checkCounts(sum)
  await checkNames(url, ask, sum)
  await driveClosed(url, limiter, sum)
}

async function checkCounts(sum) {
  const of = (plan, result) => ({ tollgate_plan_name: plan, tollgate_decision_result: result })
  check('metric: decisions on free that were allowed', await sum('decisions_total', of('free', 'allowed')), 5)
  check('metric: decisions on free that were denied', await sum('decisions_total', of('free', 'denied')), 3)
  check('metric: decisions on pro that were allowed', await sum('decisions_total', of('pro', 'allowed')), 15)
  check('metric: units on pro, with the reports', await sum('units_total', of('pro', 'allowed')), 42)
  check(
    'metric: denials by the limit of a minute',
    await sum('limit_violations_total', { tollgate_plan_name: 'free', tollgate_limit_name: 'minute' }),
    3,
  )
  check(
    'metric: the time of each request that waited in line',
    await sum('request_wait_time_count'),
    await sum('decisions_total', { tollgate_decision_source: 'place' }),
  )
  check(
    'metric: decisions of the limiter by its name',
    await sum('decisions_total', { tollgate_limiter_name: 'api' }),
    30,
  )
  check('metric: requests that wait for the store', await sum('request_pending'), 0)
  check('metric: the breaker is closed', await sum('breaker_status', { tollgate_breaker_state: 'closed' }), 1)
  check('metric: the breaker is open', await sum('breaker_status', { tollgate_breaker_state: 'open' }), 0)
  check('metric: the limiter is ok', await sum('limiter_status', { tollgate_limiter_state: 'ok' }), 1)
}

async function checkNames(url, ask, sum) {
  await ask('/items', 'key-of-typo')
  check(
    'metric: requests that named a plan which does not exist',
    await sum('unknown_plan_requests_total', { tollgate_plan_name: 'free' }),
    1,
  )
  const text = await (await fetch(`${url}/metrics`)).text()
  check(
    'metrics name a tenant, or a plan that does not exist',
    /acme|globex|initech|typo|por"/.test(text),
    false,
  )
  check(
    'the type of a counter in the metrics',
    text.match(/^# TYPE tollgate_decisions.*$/m)?.[0],
    '# TYPE tollgate_decisions_total counter',
  )
}

async function driveClosed(url, limiter, sum) {
  await limiter.close()
  const closed = await fetch(`${url}/ready`)
  check(
    'the readiness probe after the limiter was closed',
    [closed.status, (await closed.json()).limiter],
    [503, 'closed'],
  )
  check('metric: the limiter is closed', await sum('limiter_status', { tollgate_limiter_state: 'closed' }), 1)
}

const hint = (url) => [
  `curl -i ${url}/items -H 'x-api-key: key-of-acme'      # free: 5 a minute`,
  `curl -i ${url}/report -H 'x-api-key: key-of-globex'   # pro, 10 units each`,
  `curl -s ${url}/metrics | grep ^tollgate`,
  `curl -i ${url}/ready`,
]

await play(new URL('src/app.js', import.meta.url).href, { drive, hint })
