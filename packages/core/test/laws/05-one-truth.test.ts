import fc from 'fast-check'
import type { Decision, Limiter, LimitInput } from '../../src/index.js'
import { benches, closeBenches, START_MS, type Bench } from '../support/benches.js'
import { advance, forAll } from '../support/schedules.js'
import { variants, type Variant } from '../support/variants.js'

afterAll(closeBenches)

/** What can happen to a subject, `gapUs` after the last act. `refund` is of the decision made `back` decisions ago. */
type Act =
  | {
      readonly kind: 'consume' | 'peek'
      readonly gapUs: number
      readonly cost: number
      readonly plan: string
    }
  | { readonly kind: 'refund'; readonly gapUs: number; readonly back: number }
  | { readonly kind: 'plans'; readonly gapUs: number; readonly quota: number }

const gapUs = fc.oneof(
  fc.constantFrom(0, 1, 999_999, 1_000_000, 1_000_001, -1, -250_000, -2_000_000),
  fc.integer({ min: 0, max: 400_000 }),
  fc.integer({ min: 0, max: 5_000_000 }),
)

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 6, arbitrary: consumption('consume') },
  { weight: 1, arbitrary: consumption('peek') },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('refund' as const), gapUs, back: fc.nat({ max: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('plans' as const),
      gapUs,
      quota: fc.integer({ min: 1, max: 400 }),
    }),
  },
)

function consumption(kind: 'consume' | 'peek'): fc.Arbitrary<Act> {
  const cost = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 30 }))
  return fc.record({ kind: fc.constant(kind), gapUs, cost, plan: fc.constantFrom('a', 'b', 'c') })
}

function plansOf(chosen: readonly Variant[], quota: number): Record<string, LimitInput[]> {
  const limits = chosen.map((variant, i) => ({
    ...variant.limit(quota + 7 * i, 1000 * (i + 1)),
    name: `limit ${i}`,
  }))
  const apart = chosen.map((variant) => ({ ...variant.limit(quota, 1500), name: 'apart' }))
  return { a: limits, b: [...limits].reverse().slice(0, 2), c: [...apart.slice(0, 1), ...limits.slice(-1)] }
}

/** Plays a history on one store, and resolves with all its answers. */
async function replay(bench: Bench, chosen: readonly Variant[], acts: readonly Act[]): Promise<unknown[]> {
  const clock = { now: START_MS }
  const limiter = bench.limiter({ plans: plansOf(chosen, 20), defaultPlan: 'a' }, clock)
  const decisions: Decision[] = []
  const said: unknown[] = []
  for (const next of acts) {
    advance(clock, next.gapUs)
    said.push(await perform(limiter, next, decisions, chosen))
  }
  return said
}

async function perform(
  limiter: Limiter,
  next: Act,
  decisions: Decision[],
  chosen: readonly Variant[],
): Promise<unknown> {
  if (next.kind === 'plans') return limiter.setPlans(plansOf(chosen, next.quota), { defaultPlan: 'a' })
  if (next.kind === 'refund') {
    const decision = decisions.at(-1 - next.back)
    return decision && limiter.refund(decision)
  }
  const decision = await limiter[next.kind]({ id: 'acme', plan: next.plan }, { cost: next.cost })
  decisions.push(decision)
  return { ...decision }
}

describe('law 5, one truth: Lua and TypeScript give the same answers to any history', () => {
  const [memory, redis] = benches as [Bench, Bench]

  test.each(variants)('$name', async (variant) => {
    await forAll(fc.array(act, { minLength: 1, maxLength: 25 }), async (acts) => {
      expect(await replay(redis, [variant], acts)).toEqual(await replay(memory, [variant], acts))
    })
  })

  test('several limits of different algorithms in one plan', async () => {
    const chosen = fc.array(fc.constantFrom(...variants), { minLength: 2, maxLength: 4 })
    await forAll(fc.tuple(chosen, fc.array(act, { minLength: 1, maxLength: 25 })), async ([some, acts]) => {
      expect(await replay(redis, some, acts)).toEqual(await replay(memory, some, acts))
    })
  })

  test('a denial that is written because one of its limits is ahead of the clock', async () => {
    const some = variants.filter(({ name }) =>
      ['sliding-log', 'token-bucket with a burst of 3'].includes(name),
    )
    const consume = (plan: string, gap: number, cost: number): Act => ({
      kind: 'consume',
      plan,
      gapUs: gap,
      cost,
    })
    const acts = [
      consume('c', 0, 1),
      consume('a', -2_000_000, 1),
      consume('c', 74, 2),
      consume('a', 1, 1),
      consume('a', 0, 1),
    ]
    expect(await replay(redis, some, acts)).toEqual(await replay(memory, some, acts))
  })

  test('scopes, several subjects, settled costs and resets', async () => {
    const chosen = fc.tuple(fc.constantFrom(...variants), fc.constantFrom(...variants))
    await forAll(
      fc.tuple(chosen, fc.array(wideAct, { minLength: 1, maxLength: 20 })),
      async ([some, acts]) => {
        expect(await replayWide(redis, some, acts)).toEqual(await replayWide(memory, some, acts))
      },
    )
  })
})

/** What can happen to several subjects on two routes of an application. */
const wideAct = fc.record({
  kind: fc.constantFrom('consume', 'consume', 'consume', 'peek', 'refund', 'settle', 'reset'),
  gapUs,
  place: fc.constantFrom(0, 1),
  who: fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
  cost: fc.integer({ min: 1, max: 9 }),
  back: fc.nat({ max: 3 }),
})

async function replayWide(
  bench: Bench,
  [plain, routed]: readonly Variant[],
  acts: readonly (typeof wideAct extends fc.Arbitrary<infer T> ? T : never)[],
): Promise<unknown[]> {
  const clock = { now: START_MS }
  const plans = { p: (plain as Variant).limit(12, 1000), q: (routed as Variant).limit(20, 2500) }
  const limiter = bench.limiter({ plans, defaultPlan: 'p' }, clock)
  const route = (routed as Variant).limit(15, 1000)
  const places = [limiter, limiter.scope({ group: 'g', stacked: { r: route } })] as const
  const decisions: Decision[] = []
  const said: unknown[] = []
  for (const { kind, gapUs: gap, place, who, cost, back } of acts) {
    advance(clock, gap)
    const subjects = who.map((id) => ({ id, plan: id === 'c' ? 'q' : 'p' }))
    const decision = decisions.at(-1 - back)
    if (kind === 'consume') {
      const made = await places[place].consume(subjects, { cost })
      decisions.push(made)
      said.push({ ...made })
    } else if (kind === 'peek') said.push({ ...(await places[place].peek(subjects, { cost })) })
    else if (kind === 'reset') await places[place].reset(who[0] as string)
    else if (decision) {
      said.push(await (kind === 'refund' ? limiter.refund(decision) : limiter.settle(decision, cost - 1)))
    }
  }
  return said
}
