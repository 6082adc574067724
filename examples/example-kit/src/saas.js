// The same small SaaS API for each framework: who its tenants are, what they pay for, and what a client must see.
import { createLimiter } from '@tollgate/core'
import { check, eventually, makeStore, play, statuses } from './index.js'

export const plans = {
  guard: '100/min', // a client address, before anyone knows who it is
  free: '5/min',
  pro: ['20/s burst 40', '1000/h'],
}

const tenants = new Map([
  ['key-of-acme', { id: 'acme', plan: 'free' }],
  ['key-of-globex', { id: 'globex', plan: 'pro' }],
])

/** In an app of your own a look-up in your database. */
export const tenantOf = (key) => tenants.get(key)

/** One limiter for all places of the app. */
export function makeLimiter() {
  const { store, close } = makeStore()
  const limiter = createLimiter({ store, plans, defaultPlan: 'guard', deadlineMs: 1000 })
  return {
    limiter,
    close: async () => {
      await limiter.close()
      await close()
    },
  }
}

/** What a place of the app can say besides who pays. */
export const places = {
  search: { group: 'search' },
  export: { stacked: { export: '2/h' } },
  flaky: { refundWhen: ({ status }) => status >= 500 },
}

const KEYS = { acme: 'key-of-acme', globex: 'key-of-globex' }

async function drive(url) {
  const ask = (path, key, method = 'GET') =>
    fetch(url + path, { method, headers: key ? { 'x-api-key': key } : {} })
  const left = async (key) => {
    const { limits } = await (await ask('/whoami', key)).json()
    return limits.at(-1).remaining
  }
  check('health checks are not limited', await statuses(20, () => ask('/health')), { 200: 20 })
  check('acme is on free: 5 a minute', await statuses(7, () => ask('/items', KEYS.acme)), { 200: 5, 429: 2 })
  check('search has counters of its own', await statuses(7, () => ask('/search', KEYS.acme)), {
    200: 5,
    429: 2,
  })
  check(
    'two exports an hour, whatever the plan',
    await statuses(3, () => ask('/export', KEYS.globex, 'POST')),
    {
      200: 2,
      429: 1,
    },
  )
  const denied = await ask('/export', KEYS.globex, 'POST')
  check('it says which limit', (await denied.json())['violated-policies'], ['export.hour'])
  const before = await left(KEYS.globex)
  check('the third export took nothing of the plan', before, 1000 - 2 - 1)
  check('what fails', await statuses(3, () => ask('/flaky', KEYS.globex)), { 500: 3 })
  // Each look costs a unit, so the first that finds all units back is the next one less.
  let looks = 0
  const back = await eventually(async () => (await left(KEYS.globex)) + looks++, before - 1)
  check('costs nothing', back, before - 1)
  const flood = await statuses(120, () => ask('/items', 'made-up'))
  check('made-up keys are turned away, and then held off by address', flood[429] > 0 && flood[401] > 0, true)
}

/** Runs an app on the limiter of `makeLimiter`. */
export function playSaas(url, close) {
  const hint = [
    `curl -i ${url}/items -H 'x-api-key: key-of-acme'     # free: 5 a minute`,
    `curl -i ${url}/search -H 'x-api-key: key-of-acme'    # counted apart`,
    `curl -i -X POST ${url}/export -H 'x-api-key: key-of-globex'   # pro, and 2 exports an hour`,
    `curl -i ${url}/flaky -H 'x-api-key: key-of-globex'   # fails, and costs nothing`,
  ]
  return play({ url, drive, close, hint })
}
