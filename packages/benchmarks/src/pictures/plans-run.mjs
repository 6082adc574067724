// What plans.svg shows, by a real run: four clients and what Tollgate answers them, with a clock that stands still.
import { createLimiter, memoryStore } from '@tollgate/core'

export const PLANS = { free: '3/min', pro: '50/s' }
export const TENANTS = { acme: 'free', globex: 'pro' }
/** Each client's key and how many requests it sends. One has no key. */
export const CLIENTS = [
  { key: 'key-1', tenant: 'acme', requests: 4 },
  { key: 'no key', requests: 1 },
  { key: 'key-2', tenant: 'globex', requests: 9 },
  { key: 'key-3', tenant: 'globex', requests: 1 },
]
export const ADDRESS = '192.0.2.7'

/** @returns {Promise<{ key: string, who: string, plan: string, answer: string, detail: string }[]>} the last answer of each client */
export async function runPlans() {
  const limiter = createLimiter({
    plans: PLANS,
    defaultPlan: 'free',
    store: memoryStore({ now: () => Date.UTC(2030, 0, 1, 12) }),
  })
  const answers = []
  for (const { key, tenant, requests } of CLIENTS) {
    const subject = tenant ? { id: tenant, plan: TENANTS[tenant] } : { id: ADDRESS, kind: 'ip' }
    let decision
    for (let i = 0; i < requests; i += 1) decision = await limiter.consume(subject)
    const { allowed, plan, retryAfterMs, limits } = decision
    const detail = allowed ? `${limits[0].remaining} left` : `in ${Math.ceil(retryAfterMs / 1000)} s`
    answers.push({ key, who: tenant ?? ADDRESS, plan, answer: allowed ? '200' : '429', detail })
  }
  await limiter.close()
  return answers
}
