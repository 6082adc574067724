// Laws 2, 3 and 4 where units are reserved and requests wait in line.
import { cases, testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import { memoryStore, redisStore, type Store } from '../../../src/index.js'
import type { Outcome, StoreRequest } from '../../../src/stores/contract.js'
import { closeBenches, sharedRedis, START_MS, type Clock } from '../../support/benches.js'
import { HoldingProcesses, holdSteps, isTaken, type HoldStep } from '../../support/holding-processes.js'
import { advance, forAll } from '../../support/schedules.js'
import { outcomeOf, requestOf, setOf, waiting } from '../../support/store-requests.js'
import { variants } from '../../support/variants.js'

afterAll(closeBenches)

const STORES: readonly (readonly [name: string, make: (clock: Clock) => Store])[] = [
  ['memory', (clock) => memoryStore({ now: () => clock.now })],
  ['Redis', (clock) => redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clock.now })],
]

const plays = fc.record({
  some: fc.array(fc.constantFrom(...variants), { minLength: 1, maxLength: 2 }),
  quotas: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 2 }),
  steps: holdSteps,
  bothWait: fc.boolean(),
})
type Play = typeof plays extends fc.Arbitrary<infer T> ? T : never

/** Plays a case up to its last step. */
async function played(
  make: (clock: Clock) => Store,
  { some, quotas, steps, bothWait }: Play,
): Promise<{ store: Store; clock: Clock; request: StoreRequest }> {
  const clock = { now: START_MS }
  const store = make(clock)
  const limits = some.map((variant, i) => ({ ...variant.limit(quotas[i] ?? 1, 1000), name: `limit ${i}` }))
  const set = setOf(...limits)
  const processes = new HoldingProcesses(store, clock, [waiting(set), bothWait ? waiting(set) : set])
  await processes.play(steps.slice(0, -1))
  const last = steps.at(-1) as HoldStep
  return { store, clock, request: processes.requestOf({ ...last, kind: 'place' }) }
}

/** Judges random cases. Resolves with how many were what the law speaks of. */
async function judged(judge: (given: Play) => Promise<boolean>): Promise<number> {
  let met = 0
  const holds = async (given: Play): Promise<void> => {
    if (await judge(given)) met += 1
  }
  await forAll(plays, holds, cases(100, 150))
  return met
}

/** All that a key can be asked: what each cost would be answered. */
async function look(store: Store, { parts }: StoreRequest): Promise<Outcome[]> {
  const costs = [1, 2, 5, 12]
  const requests = parts.flatMap(({ key, set }) => costs.map((cost) => requestOf(key, set, cost)))
  return (await store.peek(requests)) as Outcome[]
}

describe.each(STORES)('with reservations and places, in %s', (_, make) => {
  test('law 2: a request that is denied changes nothing', async () => {
    const denied = await judged(async (given) => {
      const { store, request } = await played(make, given)
      const before = await look(store, request)
      if (isTaken(await outcomeOf(store, request))) return false
      expect(await look(store, request)).toEqual(before)
      return true
    })
    expect(denied).toBeGreaterThan(cases(5, 20))
  })

  test('law 2: a place or a reservation is held in all keys that can hold it', async () => {
    const held = await judged(async (given) => {
      const { store, request } = await played(make, given)
      const before = await look(store, request)
      const { hold } = await outcomeOf(store, request)
      if (!hold || hold.endsInUs === 0) return false
      const after = await look(store, request)
      const changed = request.parts.map((_part, i) => !isSame(before[4 * i], after[4 * i]))
      expect(changed).toEqual(request.parts.map(() => true))
      return true
    })
    expect(held).toBeGreaterThan(cases(5, 20))
  })

  test('law 3: as many requests pass as remaining says', async () => {
    const some = await judged(async (given) => {
      const wide = { ...given, quotas: given.quotas.map((quota) => 5 * quota) }
      const { store, request } = await played(make, wide)
      const { key = '', set = setOf('1/s') } = request.parts[0] ?? {}
      const { limits } = await outcomeOf(store, requestOf(key, set), 'peek')
      const left = Math.min(...limits.map(({ remaining }) => remaining))
      const next = Array.from({ length: left }, () => requestOf(key, set))
      const answers = left > 0 ? ((await store.consume(next)) as Outcome[]) : []
      expect(answers.filter(isTaken)).toHaveLength(left)
      return left > 0 && limits.some(({ leased = 0 }) => leased > 0)
    })
    expect(some).toBeGreaterThan(cases(1, 10))
  })

  test('law 4: who waits as long as told is admitted', async () => {
    const waited = await judged(async (given) => {
      const { store, clock, request } = await played(make, given)
      const { key = '', set = setOf('1/s'), cost = 1 } = request.parts[0] ?? {}
      const { limits } = await outcomeOf(store, requestOf(key, set, cost))
      const waits = limits.map(({ wait }) => wait)
      if (Math.max(...waits) <= 0 || waits.includes(-1)) return false
      // A bucket rounds its level to a part where a place ends, which can be a µs.
      const isBucket = set.limits.some(({ algorithm }) => algorithm === 'token-bucket')
      advance(clock, Math.max(...waits) + (isBucket ? 1 : 0))
      expect(isTaken(await outcomeOf(store, requestOf(key, set, cost)))).toBe(true)
      return limits.some(({ leased = 0 }) => leased > 0)
    })
    expect(waited).toBeGreaterThan(cases(2, 10))
  })
})

function isSame(a: Outcome | undefined, b: Outcome | undefined): boolean {
  return JSON.stringify(a?.limits) === JSON.stringify(b?.limits)
}
