// Limiters with a lease of which most is idle, on stores whose answers a test holds up, loses or breaks.
import { setImmediate as turn } from 'node:timers/promises'
import { testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Consumer,
  type Limiter,
  type LimiterOptions,
  type Store,
  type Subjects,
} from '../../../src/index.js'
import { sharedRedis, START_MS } from '../../support/benches.js'
import { inFirst } from '../../support/shards.js'
import { asyncStore } from '../../support/stores.js'

export const QUOTA = 1000
export const clock = { now: START_MS }
const now = (): number => clock.now
const limiters: Limiter[] = []

export async function closeLimiters(): Promise<void> {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
}

const PLANS = {
  big: { limits: `${QUOTA}/h`, lease: { maxShare: 1 } },
  plain: `${QUOTA}/h`,
  line: { limits: `${QUOTA}/s burst ${QUOTA}`, wait: { maxDelay: 500 } },
} as const

export interface World {
  readonly limiter: Limiter
  /** What its store was asked: the grant of each request, or `wish` for a lease that was asked for. */
  readonly asked: string[]
  /** Called before each batch is decided. */
  onBatch: (grants: readonly string[]) => unknown
  /** Called before it is answered. */
  onAnswers: (grants: readonly string[]) => unknown
}

export const stores: Readonly<Record<string, () => Store>> = {
  memory: () => memoryStore({ now }),
  Redis: () => redisStore(sharedRedis(), { prefix: testPrefix(), now }),
}

export function start(
  store: Store,
  options: Partial<LimiterOptions> = {},
  abilities: Partial<Store> = {},
): World {
  const asked: string[] = []
  const change: Partial<Store> = {
    ...abilities,
    testClock: now,
    consume: async (batch) => {
      const grants = batch.map(({ grant, order }) => (grant === 'lease' && order?.wish ? 'wish' : grant))
      asked.push(...grants)
      await world.onBatch(grants)
      const answers = await store.consume(inFirst(batch))
      await world.onAnswers(grants)
      return answers
    },
    peek: async (batch) => store.peek(inFirst(batch)),
    refund: async (batch) => store.refund(inFirst(batch)),
  }
  const limiter = createLimiter({
    plans: PLANS,
    defaultPlan: 'big',
    store: asyncStore(change, store),
    deadlineMs: 10_000,
    denials: { recheckMs: 20_000 },
    onStoreFailure: 'closed',
    local: { instances: 1 },
    warnings: false,
    ...options,
  } as LimiterOptions)
  limiters.push(limiter)
  const world: World = { limiter, asked, onBatch: () => {}, onAnswers: () => {} }
  return world
}

export function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}

/** Asks until a lease answers. Returns the units that were taken. */
export async function untilLeased(consumer: Consumer, who: Subjects): Promise<number> {
  for (let taken = 1; taken < QUOTA / 2; taken += 1) {
    const { source } = await consumer.consume(who)
    await turn()
    clock.now += 1
    if (source === 'lease') return taken
  }
  throw new Error('no lease')
}

export const remaining = async (limiter: Limiter, who: Subjects = 'acme'): Promise<number | undefined> =>
  (await limiter.peek(who)).limits[0]?.remaining
