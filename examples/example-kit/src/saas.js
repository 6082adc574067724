// What a client sees of the SaaS API, the same on each framework.
import { check, eventually, play, statuses } from './index.js'

/** What the examples allow an address a minute, and a tenant in exports an hour. */
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
  check(`${many} health checks, which are not limited`, await statuses(many, () => ask('/health')), {
    200: many,
  })
  check('7 requests of acme, on a plan of 5 a minute', await statuses(7, () => ask('/items', KEYS.acme)), {
    200: 5,
    429: 2,
  })
  check(
    '22 requests of initech, on a plan of 20 a minute',
    await statuses(22, () => ask('/items', KEYS.initech)),
    { 200: 20, 429: 2 },
  )
  check(
    '7 searches of acme, which have counters of their own',
    await statuses(7, () => ask('/search', KEYS.acme)),
    { 200: 5, 429: 2 },
  )
  await checkDenial(await ask('/items', KEYS.acme))
  await checkExports(ask)

  const before = await leftOfHour()
  check('left of 1000 an hour: denied exports took nothing', before, 1000 - EXPORTS - 1)
  check('3 requests that fail on our side', await statuses(3, () => ask('/flaky', KEYS.globex)), { 500: 3 })
  // Units come back after the response. Each look costs one.
  let looks = 0
  const back = await eventually(async () => (await leftOfHour()) + looks++, before - 1)
  check('left of the hour: the failed requests cost nothing', back, before - 1)
  await checkGuard(ask, () => GUARD - guarded)
}

async function checkExports(ask) {
  const exports = await statuses(EXPORTS + 1, () => ask('/export', KEYS.globex, 'POST'))
  check(`${EXPORTS + 1} exports, of which ${EXPORTS} an hour are allowed`, exports, { 200: EXPORTS, 429: 1 })
  const denied = await (await ask('/export', KEYS.globex, 'POST')).json()
  check('the limit that the denial names', denied['violated-policies'], ['export.hour'])
}

/** The guard by address holds strangers off, and everyone else on their address. */
async function checkGuard(ask, left) {
  const stranger = await ask('/items', 'made-up')
  check('status of an unknown key', stranger.status, 401)
  check('headers of the guard on that answer: none', stranger.headers.get('ratelimit'), null)
  const most = left()
  check(
    `${most + 10} more unknown keys, until the guard of ${GUARD} a minute is used up`,
    await statuses(most + 10, () => ask('/items', 'made-up')),
    { 401: most, 429: 10 },
  )
  check('a tenant on that address is held off, too', (await ask('/items', KEYS.globex)).status, 429)
}

async function checkDenial({ status, headers }) {
  check('a denial: status and policy', [status, headers.get('ratelimit-policy')], [429, '"minute";q=5;w=60'])
  const wait = Number(headers.get('retry-after'))
  check('its Retry-After is within the minute', wait >= 1 && wait <= 60, true)
  check('caches must not keep it', headers.get('cache-control'), 'no-store')
}

/** Runs one of the three. */
export function playSaas(program) {
  const hint = (url) => [
    `curl -i ${url}/items -H 'x-api-key: key-of-acme'              # free: 5 a minute, then 429`,
    `curl -i ${url}/items -H 'x-api-key: key-of-initech'           # starter: 20 a minute`,
    `curl -i ${url}/search -H 'x-api-key: key-of-acme'             # has counters of its own`,
    `curl -i -X POST ${url}/export -H 'x-api-key: key-of-globex'   # pro, and ${EXPORTS} exports an hour`,
    `curl -i ${url}/flaky -H 'x-api-key: key-of-globex'            # fails, and costs nothing`,
    `curl -i ${url}/items -H 'x-api-key: made-up'                  # 401, and 429 after ${GUARD} a minute`,
    `curl -i ${url}/health                                         # not limited`,
  ]
  return play(program, { drive, hint })
}
