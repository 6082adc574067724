// Laws 2, 3 and 7 with requests in flight, by random schedules over two processes, in memory and on Redis.
import fc from 'fast-check'
import { eventually, testPrefix, cases } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type Store,
} from '../../../src/index.js'
import { closeBenches, redisOfAnotherProcess, sharedRedis } from '../../support/benches.js'

afterAll(closeBenches)

const MOST = { small: 2, large: 4 } as const
type Plan = keyof typeof MOST
const QUOTA = 30

const act = fc.record({
  plan: fc.constantFrom<Plan>('small', 'large', 'large'),
  cost: fc.constantFrom(1, 1, 2, 5),
  process: fc.nat({ max: 1 }),
  /** How many requests end first, the oldest ones. */
  ends: fc.constantFrom(0, 0, 0, 1, 3),
  /** How many more the plans let run from now on. */
  more: fc.constantFrom(undefined, undefined, undefined, -1, 0, 2),
})

function plansWith(more: number): Record<Plan, string[]> {
  const of = (plan: Plan): string[] => [`${QUOTA}/day`, `${Math.max(MOST[plan] + more, 1)} concurrent`]
  return { small: of('small'), large: of('large') }
}

const places: readonly (readonly [string, () => readonly [Store, Store]])[] = [
  [
    'memory',
    () => {
      const store = memoryStore()
      // In another process it would have the same keys, and so a store of its own on them.
      return [store, { ...bound(store), space: {} }]
    },
  ],
  [
    'Redis',
    () => {
      const prefix = testPrefix()
      return [sharedRedis(), another()].map((client) => redisStore(client, { prefix })) as [Store, Store]
    },
  ],
]

let second: ReturnType<typeof redisOfAnotherProcess> | undefined
const another = (): ReturnType<typeof redisOfAnotherProcess> => (second ??= redisOfAnotherProcess())

function bound(store: Store): Store {
  return {
    synchronous: true,
    atomic: true,
    slots: true,
    consume: (batch) => store.consume(batch),
    peek: (batch) => store.peek(batch),
    refund: (batch) => store.refund(batch),
    reset: (keys, shard) => store.reset(keys, shard),
  }
}

/** Plays a schedule, and knows at every step what must be left of both limits. */
async function play(
  stores: readonly [Store, Store],
  acts: readonly (typeof act extends fc.Arbitrary<infer T> ? T : never)[],
): Promise<void> {
  const options = {
    plans: plansWith(0),
    deadlineMs: 10_000,
    onStoreFailure: 'closed',
    local: { instances: 1 },
  } as const
  const limiters = stores.map((store) => createLimiter({ ...options, store })) as [Limiter, Limiter]
  const running: Decision[] = []
  let [used, more] = [0, 0]
  const isLeft = async (plan: Plan): Promise<void> => {
    const wanted = [QUOTA - used, Math.max(Math.max(MOST[plan] + more, 1) - running.length, 0)]
    await eventually(async () => {
      const { limits } = await limiters[0].peek({ id: 'acme', plan })
      expect(limits.map(({ remaining }) => remaining)).toEqual(wanted)
    })
  }
  for (const { plan, cost, process, ends, more: next } of acts) {
    for (const ended of running.splice(0, ends)) expect(ended.release()).toBe(true)
    if (next !== undefined) {
      more = next
      for (const limiter of limiters) limiter.setPlans(plansWith(more))
    }
    await isLeft(plan)
    const fits = used + cost <= QUOTA && running.length < Math.max(MOST[plan] + more, 1)
    const decision = await (limiters[process] as Limiter).consume({ id: 'acme', plan }, { cost })
    expect(decision.allowed).toBe(fits)
    if (fits) used += cost
    if (fits) running.push(decision)
    await isLeft(plan)
  }
  for (const ended of running.splice(0)) ended.release()
  await isLeft('small')
  await Promise.all(limiters.map((limiter) => limiter.close()))
}

test.each(places)('on %s, exactly those run that fit, also when the plans change', async (_, make) => {
  const schedules = fc.array(act, { minLength: 1, maxLength: 14 })
  await fc.assert(
    fc.asyncProperty(schedules, async (acts) => play(make(), acts)),
    { numRuns: cases(10, 40), endOnFailure: true },
  )
})
