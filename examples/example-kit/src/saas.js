// The same small SaaS API for each framework: who its tenants are, what they pay for, and what a client must see.
import { createLimiter } from '@tollgate/core'
import { check, deadlineMs, eventually, makeStore, play, statuses } from './index.js'

/** Above the most that a plan allows in a minute, search included: it must not take what a tenant pays for. */
const GUARD = 400
const EXPORTS = 2

export const plans = {
  free: '5/min',
  starter: ['20/min', '500/d'],
  pro: ['2/s burst 40', '1000/h'],
}

const tenants = new Map([
  ['key-of-acme', { id: 'acme', plan: 'free' }],
  ['key-of-initech', { id: 'initech', plan: 'starter' }],
  ['key-of-globex', { id: 'globex', plan: 'pro' }],
])

/** In an app of your own a look-up in your database. */
export const tenantOf = (key) => tenants.get(key)

/** One limiter for all places of the app. */
export function makeLimiter() {
  const { store, close } = makeStore()
  const limiter = createLimiter({ store, plans, defaultPlan: 'free', deadlineMs })
  return {
    limiter,
    close: async () => {
      await limiter.close()
      await close()
    },
  }
}

/** What fails on our side costs nobody a unit. */
export const refundWhen = ({ status }) => status >= 500

/** What a place of the app can say besides who pays. */
export const places = {
  // By client address, before anyone knows who it is: counters and a limit of its own, and nothing that clients see.
  guard: { group: 'guard', limit: `${GUARD}/min`, headers: false },
  search: { group: 'search' },
  export: { stacked: { export: `${EXPORTS}/h` } },
}

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

/** Runs an app on the limiter of `makeLimiter`. */
export function playSaas(url, close) {
  const hint = [
    `curl -i ${url}/items -H 'x-api-key: key-of-acme'              # free: 5 a minute, then 429`,
    `curl -i ${url}/items -H 'x-api-key: key-of-initech'           # starter: 20 a minute`,
    `curl -i ${url}/search -H 'x-api-key: key-of-acme'             # counted apart`,
    `curl -i -X POST ${url}/export -H 'x-api-key: key-of-globex'   # pro, and 2 exports an hour`,
    `curl -i ${url}/flaky -H 'x-api-key: key-of-globex'            # fails, and costs nothing`,
    `curl -i ${url}/items -H 'x-api-key: made-up'                  # 401, and 429 after ${GUARD} a minute`,
    `curl -i ${url}/health                                         # not limited`,
  ]
  return play({ url, drive, close, hint })
}
