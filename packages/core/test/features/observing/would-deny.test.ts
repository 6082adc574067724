// What a limit says that it would have denied is what it denies once it is enforced, where no other limit denies.
import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import type { Decision, LimitOptions } from '../../../src/index.js'
import { benches, closeBenches, START_MS, type Bench } from '../../support/benches.js'
import { advance, forAll } from '../../support/schedules.js'
import { variants, type Variant } from '../../support/variants.js'

afterAll(closeBenches)

const WINDOW_MS = 1000
const QUOTA = 6

interface Step {
  readonly gapUs: number
  readonly cost: number
  readonly then: 'nothing' | 'refund' | 'settle'
}

const steps = fc.array(
  fc.record({
    gapUs: fc.oneof(fc.constantFrom(0, 0, 1, 999_999, 1_000_000), fc.integer({ min: 0, max: 400_000 })),
    cost: fc.constantFrom(1, 1, 1, 2, 5, 9),
    then: fc.constantFrom<Step['then'][]>('nothing', 'nothing', 'nothing', 'refund', 'settle'),
  }),
  { minLength: 1, maxLength: 40, size: 'max' },
)

/** Plays on a limiter. Returns for each request whether its limit would have denied it, or did. */
async function play(
  bench: Bench,
  limit: LimitOptions | readonly LimitOptions[],
  all: readonly Step[],
): Promise<boolean[]> {
  const clock = { now: START_MS }
  const limiter = bench.limiter({ limit: limit as LimitOptions }, clock)
  const denied: boolean[] = []
  for (const { gapUs, cost, then } of all) {
    advance(clock, gapUs)
    const decision = await limiter.consume('acme', { cost })
    denied.push(isDenied(decision))
    if (then === 'refund') await limiter.refund(decision)
    if (then === 'settle') await limiter.settle(decision, cost - 1)
  }
  await limiter.close()
  return denied
}

function isDenied({ allowed, observed }: Decision): boolean {
  return observed ? observed.some(({ wouldDeny }) => wouldDeny) : !allowed
}

/** A quota that never denies, with the burst that leaves the watched one as it is. */
function watching({ limit }: Variant): LimitOptions {
  const { burst, ...options } = limit(QUOTA, WINDOW_MS)
  return { ...options, quota: 100 * QUOTA, watch: QUOTA, ...(burst !== undefined && { burst: 100 * burst }) }
}

describe.each(benches)('on $store', (bench) => {
  test.each(variants)('$name', (variant) =>
    forAll(
      steps,
      async (all) => {
        const limit = variant.limit(QUOTA, WINDOW_MS)
        const wanted = await play(bench, limit, all)
        expect(await play(bench, { ...limit, mode: 'observe' }, all)).toEqual(wanted)
        expect(await play(bench, watching(variant), all)).toEqual(wanted)
      },
      cases(25, 250),
    ),
  )
})
