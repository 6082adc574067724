// Law 1 where processes serve units on lease: what they truly use is never over, whatever is lost.
import { cases, testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import { memoryStore, redisStore, type Store } from '../../../src/index.js'
import { closeBenches, sharedRedis, START_MS, type Clock } from '../../support/benches.js'
import { LeasingProcesses, leaseSteps, type LeaseStep } from '../../support/leasing-processes.js'
import { forAll, mostInAnyWindow } from '../../support/schedules.js'
import { setOf } from '../../support/store-requests.js'
import { variants, windowOf, type Variant } from '../../support/variants.js'

afterAll(closeBenches)

const STORES: readonly (readonly [name: string, make: (clock: Clock) => Store])[] = [
  ['memory', (clock) => memoryStore({ now: () => clock.now })],
  ['Redis', (clock) => redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clock.now })],
]

interface Play {
  readonly quotas: readonly number[]
  readonly steps: readonly LeaseStep[]
}

/** Of a limit: the most units used in a true window, and the most that law 1 allows. */
interface Top {
  readonly most: number
  readonly worst: number
}

async function play(
  make: (clock: Clock) => Store,
  some: readonly Variant[],
  { quotas, steps }: Play,
): Promise<Top[]> {
  const clock = { now: START_MS }
  const limits = some.map((variant, i) => ({ ...variant.limit(quotas[i] ?? 1, 1000), name: `limit ${i}` }))
  const processes = new LeasingProcesses(make(clock), clock, setOf(...limits))
  await processes.play(steps)
  return some.map((variant, i) => ({
    most: mostInAnyWindow(processes.used, windowOf(variant, 1000)),
    worst: variant.worstCase(quotas[i] ?? 1),
  }))
}

async function holdsFor<T>(given: fc.Arbitrary<T>, play: (given: T) => Promise<Top[]>): Promise<void> {
  const holds = async (one: T): Promise<void> =>
    expect((await play(one)).filter(({ most, worst }) => most > worst)).toEqual([])
  await forAll(given, holds, cases(25, 250))
}

const plays = fc.record({
  quotas: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 2 }),
  steps: leaseSteps,
})

describe.each(STORES)('law 1 with leases, in %s', (_, make) => {
  test.each(variants)('$name', async (variant) => {
    await holdsFor(plays, (given) => play(make, [variant], given))
  })

  test('two limits', async () => {
    const pairs = fc.tuple(fc.constantFrom(...variants), fc.constantFrom(...variants))
    await holdsFor(fc.tuple(pairs, plays), ([some, given]) => play(make, some, given))
  })

  test('the processes get leases and serve all that a limit has', async () => {
    const [log] = variants as [Variant]
    const given = fc.sample(plays, { numRuns: 200, seed: 3 })
    const tops = (await Promise.all(given.map((one) => play(make, [log], one)))).flat()
    expect(tops.filter(({ most, worst }) => most === worst).length).toBeGreaterThan(20)
  })
})
