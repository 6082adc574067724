import { createLimiter, memoryStore, type Decision, type PlanInput } from '@tollgate/core'

/** How many of all requests a plan lets in when each is decided at once and alone, as without leases and processes. */
export async function idealOf(plan: PlanInput, rates: readonly number[], seconds: number): Promise<number> {
  let now = Date.now()
  const limiter = createLimiter({ plans: { big: plan }, store: memoryStore({ now: () => now }) })
  const begin = now
  const times = rates.flatMap((rate) =>
    Array.from({ length: Math.floor(rate * seconds) }, (_, i) => (1000 * i) / rate),
  )
  let admitted = 0
  for (const time of times.toSorted((a, b) => a - b)) {
    now = begin + time
    const decision = limiter.consume({ id: 'tenant', plan: 'big' }) as Decision
    if (decision.allowed) admitted += 1
  }
  await limiter.close()
  return admitted
}
