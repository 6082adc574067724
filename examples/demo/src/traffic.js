// The three tenants, what each of them does, and the burst around the seam of a minute.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { slidingLog, tokenBucket } from './check.js'
import { Tenant } from './tenant.js'

/** What the price list promises. Written again, not read from the plans, so that a wrong plan is found. */
const promisesOf = (minuteMs) => ({
  free: slidingLog({ quota: 100, windowMs: minuteMs }),
  // Above a quota of 128 a sliding log counts in 128 slots, and gives units back up to one slot late.
  starter: slidingLog({ quota: 300, windowMs: minuteMs, lateMs: minuteMs / 128 }),
  pro: tokenBucket({ perSecond: 50, burst: 100 }),
})

/**
 * Tenants of this run alone: several demos on one Redis must not count each other's.
 *
 * @param urls of the API, and of the same behind a fixed window
 */
export function createTenants(urls, minuteMs) {
  const run = randomUUID().slice(0, 8)
  const promises = promisesOf(minuteMs)
  const tenant = (plan, name) =>
    new Tenant({ name, plan, url: urls.api, key: `${plan}-${run}`, promise: promises[plan] })
  return {
    free: tenant('free', 'free     100/min'),
    fixed: new Tenant({ name: ' in a fixed window', url: urls.fixed, key: `free-${run}` }),
    starter: tenant('starter', 'starter  300/min'),
    pro: tenant('pro', 'pro      50/s burst 100'),
  }
}

/**
 * Plays for two minutes of the demo and a little; resolves with what passed at the moments that matter.
 *
 * @param tell called with the name of a moment of `story.js` when it begins
 */
export async function drive({ free, fixed, starter, pro }, minuteMs, tell) {
  // It opens the fixed window, which has begun when the answer is there: the clock starts then.
  await Promise.all([free.burst(1), fixed.burst(1)])
  const started = performance.now()
  const second = minuteMs / 60
  const until = (seconds) => sleep(Math.max(started + seconds * second - performance.now(), 0))
  const [seam, flood, rush] = await Promise.all([
    attackSeam([free, fixed], until, tell),
    runAway(starter, minuteMs),
    rushIn(pro, minuteMs, until),
  ])
  return { ...seam, ...flood, ...rush }
}

/** One request has opened the minute. The rest of its 100 come at its very end, 100 more right after. */
async function attackSeam(tenants, until, tell) {
  const each = (count) => Promise.all(tenants.map((tenant) => tenant.burst(count)))
  await until(56)
  const started = performance.now()
  const before = await each(99)
  await until(61)
  const after = await each(100)
  const ms = performance.now() - started
  await until(66)
  tell('asking')
  for (let second = 66; second <= 114; second += 4) {
    await until(second)
    await each(1)
  }
  await until(124)
  tell('returning')
  const later = await each(100)
  const [free, fixed] = tenants.map((_, i) => ({ before: before[i], after: after[i], later: later[i], ms }))
  return { free, fixed }
}

/** Two thirds of its plan for a minute, then nearly three times its plan. */
async function runAway(starter, minuteMs) {
  await starter.steady((200 * 1000) / minuteMs, minuteMs)
  const polite = { sent: starter.log.length, limited: starter.limited }
  await starter.steady((800 * 1000) / minuteMs, minuteMs)
  return { polite }
}

/** More than its burst at once, half of its rate for the rest of the minute, then twice its rate. */
async function rushIn(pro, minuteMs, until) {
  await until(8)
  const burst = await pro.burst(140)
  await until(30)
  const limitedBefore = pro.limited
  await pro.steady(25, minuteMs / 2)
  const limitedAtHalf = pro.limited - limitedBefore
  await pro.steady(100, minuteMs)
  return { pro: { burst, limitedAtHalf } }
}

/** Customers who go on after that, so that the dashboard has something to show. They stop by themselves. */
const CUSTOMERS = [
  ['acme', 'free', 9],
  ['initech', 'free', 15],
  ['globex', 'starter', 20],
  ['hooli', 'pro', 40],
]
const GO_ON_MS = 600_000

/** @param tenants the customers of the API, by key */
export async function goOn(url, tenants) {
  for (const [id, plan] of CUSTOMERS) tenants.set(`demo-${id}`, { id, plan })
  const all = CUSTOMERS.map(([id, , perSecond]) =>
    new Tenant({ name: id, url, key: `demo-${id}` }).steady(perSecond, GO_ON_MS),
  )
  await Promise.all(all)
}
