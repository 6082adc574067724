// What the store still counts when nothing is in flight any more: all slots must be free soon, and the keys gone later.
import { setTimeout as sleep } from 'node:timers/promises'
import { createLimiter, redisStore, type Limiter } from '@tollgate/core'
import { connect } from '../app/client.mjs'
import { keysLeft } from '../keys-left.ts'
import { METER_PLANS, METERS } from './metered.ts'
import { PLACES, PLANS } from './subjects.ts'
import type { Servers } from './troubles.ts'

export interface Left {
  /** How long after the last end all slots were free, and the last key was gone, in ms. */
  readonly freeAfter: number
  readonly goneAfter: number
  readonly violations: readonly string[]
}

/**
 * Sooner than the store drops slots by itself: processes that live give all of theirs back, and the last kill was longer
 * ago. Reservations that were forgotten end by then, too.
 */
const FREE_WITHIN_MS = 8000
const GONE_WITHIN_MS = 30_000
const DEADLINE_MS = 10_000

/** Called when the last run has just ended. */
export async function whatIsLeft(servers: Servers): Promise<Left> {
  const client = await connect({ module: 'ioredis', ...servers.target })
  const limiter = createLimiter({
    plans: { ...PLANS, ...METER_PLANS },
    store: redisStore(client),
    onStoreFailure: 'closed',
    local: { instances: 1 },
    deadlineMs: DEADLINE_MS,
    warnings: false,
  })
  const port = await servers.port()
  try {
    const freeAfter = await untilNone(() => takenIn(limiter), FREE_WITHIN_MS)
    // Keys live on as long as slots are kept, and Redis removes some of them a little later.
    const goneAfter = await untilNone(() => keysOn(port), GONE_WITHIN_MS)
    return {
      freeAfter: freeAfter.ms,
      goneAfter: freeAfter.ms + goneAfter.ms,
      violations: [...freeAfter.left, ...goneAfter.left],
    }
  } finally {
    await limiter.close()
    client.disconnect()
  }
}

/** Asks until there is nothing, for so long at most. Returns how long it took, and what is left. */
async function untilNone(
  ask: () => Promise<readonly string[]>,
  mostMs: number,
): Promise<{ ms: number; left: readonly string[] }> {
  const begin = performance.now()
  let left = await ask()
  for (; left.length > 0 && performance.now() - begin < mostMs; left = await ask()) await sleep(20)
  return { ms: performance.now() - begin, left }
}

/** All slots and all units must be there again. */
async function takenIn(limiter: Limiter): Promise<string[]> {
  const all = [
    ...PLACES.map(({ id, plan, slots }) => ({ id, plan, most: slots })),
    ...METERS.map(({ id, plan, burst }) => ({ id, plan, most: burst })),
  ]
  const decisions = await Promise.all(all.map(({ id, plan }) => limiter.peek({ id, plan })))
  return all.flatMap(({ id, most }, i) => {
    const remaining = decisions[i]?.limits.at(-1)?.remaining ?? 0
    return remaining === most ? [] : [`leaked: ${remaining} of the ${most} of ${id} are free`]
  })
}

async function keysOn(port: number): Promise<string[]> {
  const left = await keysLeft(port)
  return left === 0 ? [] : [`${left} keys are left`]
}
