import { setImmediate as turn } from 'node:timers/promises'
import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import type { Decision, Limiter, ScopeOptions } from '../../src/index.js'
import { acme, amend } from '../support/amend.js'
import { advance, forAll, play, schedule } from '../support/schedules.js'
import { closeBenches, jointBenches, START_MS } from '../support/benches.js'
import { variants, type Variant } from '../support/variants.js'

afterAll(closeBenches)

const COUNT = cases(50, 500)

const told = ({ allowed, cost, limits, violated, retryAfterMs, reason, plan }: Decision): object => ({
  ...{ allowed, cost, limits, violated, retryAfterMs, reason, plan },
})

/**
 * Times of a decision as those of its twin where they differ by 1 ms: of a bucket whose units went back and were taken again, µs
 * are rounded twice.
 */
function near(given: unknown, twin: unknown): unknown {
  if (Array.isArray(given)) return given.map((one, i) => near(one, (twin as unknown[])[i]))
  if (typeof given !== 'object' || given === null) return given
  const others = (twin ?? {}) as Record<string, unknown>
  const entries = Object.entries(given).map(([name, value]) => {
    const isTime = name === 'resetMs' || name === 'retryAfterMs'
    const isNear = isTime && Math.abs(Number(value) - Number(others[name])) <= 1
    return [name, isNear ? others[name] : near(value, others[name])]
  })
  return Object.fromEntries(entries)
}

/** @param used the algorithms of the limits */
function expectAlike(given: unknown, twin: unknown, ...used: readonly Variant[]): void {
  const hasBucket = used.some(({ name }) => name.startsWith('token-bucket'))
  expect(hasBucket ? near(given, twin) : given).toEqual(twin)
}

const scopes: readonly ScopeOptions[] = [
  {},
  {},
  { stacked: { export: '7/2s' } },
  { stacked: { bulk: ['5/2s', '9/min'] } },
  { group: 'search' },
  { group: 'login', limit: '6/3s' },
  { group: 'search', stacked: { export: '7/2s' } },
]

// In a log with precision, units that went back may return up to one slot late, so it cannot be compared exactly.
const exact = variants.filter(({ name }) => !name.includes('precision'))

const requests = fc.integer({ min: 2, max: 10 }).chain((quota) =>
  fc.record({
    quota: fc.constant(quota),
    variant: fc.constantFrom(...exact),
    other: fc.constantFrom(...exact),
    steps: schedule(quota, 1000),
    cost: fc.integer({ min: 1, max: 4 }),
    route: fc.record({
      cost: fc.integer({ min: 1, max: quota + 2 }),
      scope: fc.constantFrom(...scopes),
    }),
    /** A route within it. */
    inner: fc.record({
      cost: fc.integer({ min: 1, max: quota + 2 }),
      scope: fc.constantFrom(...scopes.slice(0, 4)),
    }),
    settled: fc.integer({ min: 0, max: quota + 4 }),
    gapUs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 1_500_000 })),
    between: fc.integer({ min: 1, max: quota }),
  }),
)

describe.each(jointBenches)('requests that a route decides anew, on $store', (bench) => {
  test('laws 2, 3 and 4: are decided as if they had asked for all at once', async () => {
    await forAll(
      requests,
      async ({ quota, variant, other, steps, cost, route, settled }) => {
        const clock = { now: START_MS }
        const limit = [
          { ...variant.limit(quota, 1000), name: 'first' },
          { ...other.limit(quota + 3, 3000), name: 'second' },
        ]
        const [limiter, twin] = [bench.limiter({ limit }, clock), bench.limiter({ limit }, clock)]
        await play(limiter, clock, steps.slice(0, -1))
        clock.now = START_MS
        await play(twin, clock, steps.slice(0, -1))
        const first = await limiter.consume(acme, { cost })
        if (!first.allowed) return
        const decision = await amend(limiter, first, { ...route.scope, cost: route.cost })
        const expected = await twin.scope(route.scope).consume(acme, { cost: route.cost })
        expectAlike(told(decision), told(expected), variant, other)
        await turn()
        const look = async (of: Limiter): Promise<object> =>
          Promise.all(
            [of.peek(acme), of.scope(route.scope).peek(acme)].map(async (one) => (await one).limits),
          )
        expectAlike(await look(limiter), await look(twin), variant, other)
        expect(await limiter.settle(decision, settled)).toBe(await twin.settle(expected, settled))
        await turn()
        expectAlike(await look(limiter), await look(twin), variant, other)
        // Its units are in the other decision, or have gone back.
        if (decision !== first) expect(await limiter.refund(first)).toBe(false)
      },
      COUNT,
    )
  })

  test('law 2: what is denied after others have asked has taken nothing, and its denial is the one of all', async () => {
    let denied = 0
    await forAll(
      requests,
      async ({ quota, variant, steps, cost, route, gapUs, between }) => {
        const clock = { now: START_MS }
        const limit = { ...variant.limit(quota, 1000), name: 'only' }
        const [limiter, twin] = [bench.limiter({ limit }, clock), bench.limiter({ limit }, clock)]
        const before = async (of: Limiter): Promise<Decision> => {
          clock.now = START_MS
          await play(of, clock, steps.slice(-1))
          const first = await of.consume(acme, { cost })
          advance(clock, gapUs)
          await of.consume(acme, { cost: between })
          return first
        }
        const first = await before(limiter)
        if (!first.allowed) return
        const decision = await amend(limiter, first, { ...route.scope, cost: route.cost })
        if (decision.allowed) return
        denied += 1
        await twin.refund(await before(twin))
        const expected = await twin.scope(route.scope).consume(acme, { cost: route.cost })
        expectAlike(told(decision), told(expected), variant)
        await turn()
        expectAlike((await limiter.peek(acme)).limits, (await twin.peek(acme)).limits, variant)
      },
      COUNT,
    )
    expect(denied).toBeGreaterThan(0)
  })

  test('law 2: routes within routes add up to one decision, which goes back as a whole', async () => {
    await forAll(
      requests,
      async ({ quota, variant, cost, route, inner, settled }) => {
        const clock = { now: START_MS }
        const limit = { ...variant.limit(quota + 4, 1000), name: 'only' }
        const [limiter, twin] = [bench.limiter({ limit }, clock), bench.limiter({ limit }, clock)]
        const first = await limiter.consume(acme, { cost })
        const outer = first.allowed
          ? await amend(limiter, first, { ...route.scope, cost: route.cost })
          : first
        if (!outer.allowed) return
        const scope = {
          ...route.scope,
          ...((inner.scope.stacked ?? route.scope.stacked) && {
            stacked: { ...route.scope.stacked, ...inner.scope.stacked },
          }),
        }
        const options = { cost: inner.cost }
        const decision = await amend(limiter, outer, { ...inner.scope, ...options, within: [route.scope] })
        const expected = await twin.scope(scope).consume(acme, options)
        expectAlike(told(decision), told(expected), variant)
        expect(await limiter.settle(decision, settled)).toBe(await twin.settle(expected, settled))
        await turn()
        const look = async (of: Limiter): Promise<object> => (await of.scope(scope).peek(acme)).limits
        expectAlike(await look(limiter), await look(twin), variant)
        expectAlike((await limiter.peek(acme)).limits, (await twin.peek(acme)).limits, variant)
      },
      COUNT,
    )
  })
})
