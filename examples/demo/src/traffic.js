// The three tenants, and the burst at second 59 and second 01.
import { setTimeout as sleep } from 'node:timers/promises'
import { Tenant } from './tenant.js'

/**
 * Tenants of this run alone, so that two replicas on one Redis do not count each other's.
 *
 * @param urls of the API, and of the same behind a fixed window
 */
export function createTenants(urls) {
  const run = process.pid
  return {
    free: new Tenant('free    100/min', urls.api, `free-${run}`),
    starter: new Tenant('starter 3000/min', urls.api, `starter-${run}`),
    pro: new Tenant('pro     50/s burst 100', urls.api, `pro-${run}`),
    fixed: new Tenant('the same on a fixed window', urls.fixed, `free-${run}`),
  }
}

/**
 * Plays for a little more than a minute of the demo, and resolves with what each tenant got at the moments that
 * matter.
 */
export async function drive({ free, starter, pro, fixed }, minuteMs) {
  const second = minuteMs / 60
  const [, bursts, rush] = await Promise.all([
    starter.steady(25, minuteMs + 4 * second),
    seam([free, fixed], minuteMs, second),
    rushHour(pro, minuteMs),
  ])
  return { ...bursts, ...rush }
}

/** One request opens the window; 99 come at second 58, 100 more at second 62 of it. */
async function seam(tenants, minuteMs, second) {
  const opened = performance.now()
  const at = (seconds) => sleep(Math.max(opened + seconds * second - performance.now(), 0))
  const each = async (count) => Promise.all(tenants.map((tenant) => tenant.burst(count)))
  const first = await each(1)
  await at(58)
  const before = await each(99)
  await at(62)
  const after = await each(100)
  const [free, fixed] = tenants.map((_, i) => ({ before: first[i] + before[i], after: after[i] }))
  return { free, fixed }
}

/** The whole burst and 40 more at once; then what its rate allows. */
async function rushHour(pro, minuteMs) {
  await sleep(1000)
  const started = performance.now()
  const burst = await pro.burst(140)
  const burstMs = performance.now() - started
  await sleep(2500)
  await pro.steady(40, minuteMs - 4000)
  return { pro: { burst, burstMs } }
}
