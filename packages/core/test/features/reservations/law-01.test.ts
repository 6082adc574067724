// Law 1 where requests reserve units and wait in line: what is truly used is never over, at the worst times of use.
import { cases, testPrefix } from '@tollgate/testing'
import fc from 'fast-check'
import { memoryStore, redisStore, type Store } from '../../../src/index.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import { closeBenches, sharedRedis, START_MS, type Clock } from '../../support/benches.js'
import { HoldingProcesses, holdSteps, type HoldStep } from '../../support/holding-processes.js'
import { forAll, mostInAnyWindow } from '../../support/schedules.js'
import { setOf, waiting } from '../../support/store-requests.js'
import { variants, windowOf, type Variant } from '../../support/variants.js'

afterAll(closeBenches)

const STORES: readonly (readonly [name: string, make: (clock: Clock) => Store])[] = [
  ['memory', (clock) => memoryStore({ now: () => clock.now })],
  ['Redis', (clock) => redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clock.now })],
]
const LONGEST_SLACK_US = 100_000

interface Play {
  readonly quotas: readonly number[]
  readonly steps: readonly HoldStep[]
  /** Whether the plan of the second key waits, too. */
  readonly bothWait: boolean
}

/** Of a limit: the most units used in a true window, the most that law 1 allows, and how many requests waited. */
interface Top {
  readonly most: number
  readonly worst: number
  readonly waited: number
}

/** The places of a bucket are used up to their slack late: a window holds what drains in one that is longer by it. */
function worstOf({ algorithm, worstCase }: Variant, quota: number): number {
  const drained = algorithm === 'token-bucket' ? Math.floor((quota * LONGEST_SLACK_US) / 1_000_000) : 0
  return worstCase(quota) + drained
}

async function play(
  make: (clock: Clock) => Store,
  some: readonly Variant[],
  { quotas, steps, bothWait }: Play,
): Promise<Top[]> {
  const clock = { now: START_MS }
  const limits = some.map((variant, i) => ({ ...variant.limit(quotas[i] ?? 1, 1000), name: `limit ${i}` }))
  const set = setOf(...limits)
  const sets: [LimitSet, LimitSet] = [waiting(set), bothWait ? waiting(set) : set]
  const processes = new HoldingProcesses(make(clock), clock, sets)
  await processes.play(steps)
  return processes.used.flatMap((used) =>
    some.map((variant, i) => ({
      most: mostInAnyWindow(used, windowOf(variant, 1000)),
      worst: worstOf(variant, quotas[i] ?? 1),
      waited: processes.waited,
    })),
  )
}

async function holdsFor<T>(given: fc.Arbitrary<T>, play: (given: T) => Promise<Top[]>): Promise<void> {
  const holds = async (one: T): Promise<void> =>
    expect((await play(one)).filter(({ most, worst }) => most > worst)).toEqual([])
  await forAll(given, holds, cases(25, 200))
}

const plays = fc.record({
  quotas: fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 2 }),
  steps: holdSteps,
  bothWait: fc.boolean(),
})

describe.each(STORES)('law 1 with reservations and places, in %s', (_, make) => {
  test.each(variants)('$name', async (variant) => {
    await holdsFor(plays, (given) => play(make, [variant], given))
  })

  test('two limits', async () => {
    const pairs = fc.tuple(fc.constantFrom(...variants), fc.constantFrom(...variants))
    await holdsFor(fc.tuple(pairs, plays), ([some, given]) => play(make, some, given))
  })

  test('requests wait in line, and use all that a limit has', async () => {
    const [log] = variants as [Variant]
    const given = fc.sample(plays, { numRuns: 200, seed: 3 })
    const tops = (await Promise.all(given.map((one) => play(make, [log], one)))).flat()
    expect(tops.filter(({ most, worst, waited }) => most === worst && waited > 3).length).toBeGreaterThan(20)
  })
})
