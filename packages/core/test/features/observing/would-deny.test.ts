// What a limit says that it would have denied is what it denies once it is enforced, where no other limit denies.
import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import { createLimiter, type Decision, type LimiterOptions, type LimitOptions } from '../../../src/index.js'
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

describe('limits that observe the same window', () => {
  const observing = (quota: number): object => ({
    ...{ quota, window: 'min', name: `${quota}`, mode: 'observe' },
  })

  test.each<[string, readonly unknown[]]>([
    ["'80' and '60'", ['100/min', observing(80), observing(60)]],
    ["'minute-watch' and '80'", [{ quota: 100, window: 'min', watch: 60 }, observing(80)]],
    ["'60' and '40'", [observing(80), observing(60), observing(40)]],
  ])('two beside a larger one would count the same units: %s are refused', (names, limit) => {
    expect(() => createLimiter({ limit } as LimiterOptions)).toThrow(
      `limit: ${names} both observe the same window beside a larger limit: only one can, so leave the other out`,
    )
  })

  test.each<[readonly unknown[], Readonly<Record<string, boolean>>]>([
    [['100/min', observing(80)], { 80: false }],
    [[observing(80), observing(60)], { 80: false, 60: true }],
    [['100/min', observing(80), { ...observing(60), window: '2min' }], { 80: false, 60: true }],
    [
      ['100/min', observing(80), observing(60)].map((one) =>
        typeof one === 'string'
          ? { ...observing(100), mode: 'enforce', algorithm: 'token-bucket' }
          : { ...one, algorithm: 'token-bucket' },
      ),
      { 80: false, 60: true },
    ],
  ])('others count apart: %j', async (limit, expected) => {
    const limiter = createLimiter({ limit } as LimiterOptions)
    for (let i = 0; i < 70; i += 1) await limiter.consume('acme')
    const { observed = [] } = await limiter.consume('acme')
    expect(Object.fromEntries(observed.map(({ name, wouldDeny }) => [name, wouldDeny]))).toEqual(expected)
  })
})
