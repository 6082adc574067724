// Law 1 where processes serve units on lease: what they truly use is never over, whatever is lost.
import { testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import { memoryStore, redisStore, type Store } from '../../src/index.js'
import { closeBenches, sharedRedis, START_MS, type Clock } from '../support/benches.js'
import { LeasingProcesses, leaseSteps, type LeaseStep } from '../support/leasing-processes.js'
import { forAll, mostInAnyWindow } from '../support/schedules.js'
import { setOf } from '../support/store-requests.js'
import { variants, windowOf, type Variant } from '../support/variants.js'

afterAll(closeBenches)

const STORES: readonly (readonly [name: string, make: (clock: Clock) => Store])[] = [
  ['memory', (clock) => memoryStore({ now: () => clock.now })],
  ['Redis', (clock) => redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clock.now })],
]

interface Play {
  readonly quotas: readonly number[]
  readonly steps: readonly LeaseStep[]
}

/** For each limit: the most units used in a true window, and the most that law 1 allows. */
async function play(
  make: (clock: Clock) => Store,
  some: readonly Variant[],
  { quotas, steps }: Play,
): Promise<number[][]> {
  const clock = { now: START_MS }
  const set = setOf(
    ...some.map((variant, i) => ({ ...variant.limit(quotas[i] ?? 1, 1000), name: `limit ${i}` })),
  )
  const processes = new LeasingProcesses(make(clock), clock, set)
  await processes.play(steps)
  return some.map((variant, i) => [
    mostInAnyWindow(processes.used, windowOf(variant, 1000)),
    variant.worstCase(quotas[i] ?? 1),
  ])
}

const plays = fc.record({
  quotas: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 2 }),
  steps: leaseSteps,
})

describe.each(STORES)('law 1 with leases, in %s', (_, make) => {
  test.each(variants)('$name', async (variant) => {
    await forAll(plays, async (given) => {
      for (const [most = 0, worst] of await play(make, [variant], given))
        expect(most).toBeLessThanOrEqual(worst as number)
    })
  })

  test('two limits', async () => {
    const pairs = fc.tuple(fc.constantFrom(...variants), fc.constantFrom(...variants))
    await forAll(fc.tuple(pairs, plays), async ([some, given]) => {
      for (const [most = 0, worst] of await play(make, some, given))
        expect(most).toBeLessThanOrEqual(worst as number)
    })
  })

  test('the processes get leases and serve all that a limit has', async () => {
    const [log] = variants as [Variant]
    const given = fc.sample(plays, { numRuns: 200, seed: 3 })
    const ends = await Promise.all(given.map((one) => play(make, [log], one)))
    expect(ends.filter((tops) => tops.every(([most, worst]) => most === worst)).length).toBeGreaterThan(20)
  })
})
