// What a client must see of the SaaS API, on each framework alike.
import { check, eventually, play, statuses } from './index.js'

/** What the examples say of a client's address, and of exports an hour. */
const GUARD = 400
const EXPORTS = 2

const KEYS = { acme: 'key-of-acme', initech: 'key-of-initech', globex: 'key-of-globex' }

async function drive(url) {
  let guarded = 0
  const ask = (path, key, method = 'GET') => {
    if (path !== '/health') guarded += 1
    return fetch(url + path, { method, headers: key ? { 'x-api-key': key } : {} })
  }
  const leftOfHour = async () => {
    const { limits } = await (await ask('/whoami', KEYS.globex)).json()
    return limits.find(({ name }) => name === 'hour').remaining
  }

  const many = GUARD + 10
  check('health checks are not limited', await statuses(many, () => ask('/health')), { 200: many })
  check('acme is on free: 5 a minute', await statuses(7, () => ask('/items', KEYS.acme)), { 200: 5, 429: 2 })
  check('initech is on starter: 20 a minute', await statuses(22, () => ask('/items', KEYS.initech)), {
    200: 20,
    429: 2,
  })
  check('search has counters of its own', await statuses(7, () => ask('/search', KEYS.acme)), {
    200: 5,
    429: 2,
  })
  checkDenial(await ask('/items', KEYS.acme))

  check(
    `${EXPORTS} exports an hour, whatever the plan`,
    await statuses(EXPORTS + 1, () => ask('/export', KEYS.globex, 'POST')),
    { 200: EXPORTS, 429: 1 },
  )
  const denied = await ask('/export', KEYS.globex, 'POST')
  check('it says which limit', (await denied.json())['violated-policies'], ['export.hour'])
  const before = await leftOfHour()
  check('exports that were denied took nothing of the plan', before, 1000 - EXPORTS - 1)
  check('what fails', await statuses(3, () => ask('/flaky', KEYS.globex)), { 500: 3 })
  // Units come back after the answer. Each look costs one, so what is expected sinks with the looks.
  let looks = 0
  const back = await eventually(async () => (await leftOfHour()) + looks++, before - 1)
  check('costs nothing', back, before - 1)

  await checkGuard(ask, () => GUARD - guarded)
}

/** Strangers are held off by address, and everyone on that address with them. */
async function checkGuard(ask, left) {
  const stranger = await ask('/items', 'made-up')
  const seen = [stranger.status, stranger.headers.get('ratelimit')]
  check('a guard that lets pass says nothing', seen, [401, null])
  const most = left()
  check(
    'made-up keys are turned away, and held off once the address has used its guard',
    await statuses(most + 10, () => ask('/items', 'made-up')),
    { 401: most, 429: 10 },
  )
  check('which holds off its tenants, too', (await ask('/items', KEYS.globex)).status, 429)
}

/** A denial tells a client what it is held to, and when to come back. */
function checkDenial({ status, headers }) {
  check('a denial names the plan', [status, headers.get('ratelimit-policy')], [429, '"minute";q=5;w=60'])
  const wait = Number(headers.get('retry-after'))
  check('and when to come back', wait >= 1 && wait <= 60, true)
  check('and is not kept by caches', headers.get('cache-control'), 'no-store')
}

/** Tries one of the three. */
export function playSaas(app) {
  const hint = (url) => [
    `curl -i ${url}/items -H 'x-api-key: key-of-acme'              # free: 5 a minute, then 429`,
    `curl -i ${url}/items -H 'x-api-key: key-of-initech'           # starter: 20 a minute`,
    `curl -i ${url}/search -H 'x-api-key: key-of-acme'             # counted apart`,
    `curl -i -X POST ${url}/export -H 'x-api-key: key-of-globex'   # pro, and ${EXPORTS} exports an hour`,
    `curl -i ${url}/flaky -H 'x-api-key: key-of-globex'            # fails, and costs nothing`,
    `curl -i ${url}/items -H 'x-api-key: made-up'                  # 401, and 429 after ${GUARD} a minute`,
    `curl -i ${url}/health                                         # not limited`,
  ]
  return play(app, { drive, hint })
}
