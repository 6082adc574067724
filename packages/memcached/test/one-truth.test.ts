// Law 5 on Memcached: requests one after another are decided as the memory store decides them, in whatever process.
import { createLimiter, memoryStore, type Decision, type Limiter } from '@tollgate/core'
import { cases, eventually, startMemcached, type MemcachedServer } from '@tollgate/testing'
import fc from 'fast-check'
import { newPrefix, storeOfAnotherProcess } from './support.ts'

let server: MemcachedServer
beforeAll(async () => {
  server = await startMemcached()
})
afterAll(() => server.kill())

const PLANS = {
  one: { quota: 10, window: '1 min', algorithm: 'sliding-window' },
  three: [
    { quota: 6, window: '10 s', algorithm: 'sliding-window' },
    { quota: 15, window: '1 min', algorithm: 'sliding-window' },
    '12/month',
  ],
  twice: [
    { quota: 9, window: '1 min', algorithm: 'sliding-window', name: 'a' },
    { quota: 12, window: '1 min', algorithm: 'sliding-window', name: 'b' },
  ],
} as const
type Plan = keyof typeof PLANS

type Step =
  | { readonly do: 'consume' | 'peek'; readonly id: string; readonly plan: Plan; readonly cost: number }
  | { readonly do: 'both'; readonly plan: Plan; readonly cost: number }
  | { readonly do: 'refund' | 'settle'; readonly nth: number; readonly cost: number }
  | { readonly do: 'by key' | 'reset'; readonly id: string; readonly plan: Plan; readonly cost: number }
  | { readonly do: 'pass'; readonly ms: number }

const id = fc.constantFrom('acme', 'globex')
const plan = fc.constantFrom<Plan>('one', 'three', 'twice')
const cost = fc.integer({ min: 1, max: 7 })
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom('consume', 'peek'), id, plan, cost }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('both'), plan, cost }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('refund', 'settle'), nth: fc.nat(50), cost }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('by key', 'reset'), id, plan, cost }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.integer({ min: 1000, max: 40_000 }) }),
  },
) as fc.Arbitrary<Step>
/** Which of three processes does it. */
const schedule = fc.array(fc.tuple(fc.nat(2), step), { minLength: 5, maxLength: 60 })

/** Does a step, and tells what became of it. Decisions are kept, to be refunded. */
async function play(
  limiter: Limiter,
  one: Exclude<Step, { do: 'pass' }>,
  kept: Decision[],
): Promise<unknown> {
  switch (one.do) {
    case 'consume':
    case 'both': {
      const who = one.do === 'both' ? ['acme', 'globex'] : [one.id]
      const decision = await limiter.consume(
        who.map((name) => ({ id: name, plan: one.plan })),
        { cost: one.cost },
      )
      kept.push(decision)
      return told(decision, one.do === 'both')
    }
    case 'peek':
      return told(await limiter.peek({ id: one.id, plan: one.plan }, { cost: one.cost }), false)
    case 'refund': {
      const decision = kept[one.nth % Math.max(kept.length, 1)]
      return decision && limiter.refund(decision)
    }
    case 'settle': {
      const decision = kept[one.nth % Math.max(kept.length, 1)]
      return decision && limiter.settle(decision, one.cost)
    }
    case 'by key':
      return limiter.refund({ id: one.id, plan: one.plan }, one.cost)
    case 'reset':
      await limiter.reset(one.id)
      return undefined
  }
}

/** Of several subjects a denial tells only those that were asked, and these are asked in another order here. */
function told({ allowed, limits, retryAfterMs }: Decision, isOfSeveral: boolean): unknown {
  return isOfSeveral && !allowed ? { allowed } : { allowed, limits, retryAfterMs }
}

test('three processes decide as the memory store does, for any schedule', async () => {
  await fc.assert(
    fc.asyncProperty(schedule, async (steps) => {
      // The middle of a month. Every step takes a second, so that what other processes gave back has been read.
      let now = Date.UTC(2026, 9, 14, 12, 30)
      const clock = { prefix: newPrefix(), now: () => now }
      const options = { plans: PLANS, defaultPlan: 'one', deadlineMs: 20_000 } as const
      const memory = createLimiter({ ...options, store: memoryStore({ now: () => now }) })
      const three = [0, 1, 2].map(() =>
        createLimiter({ ...options, store: storeOfAnotherProcess(server.address, clock) }),
      )
      const [kept, expected]: [Decision[][], Decision[]] = [[[], [], []], []]
      const by: number[] = []
      const ofBoth: boolean[] = []
      try {
        for (const [process, one] of steps) {
          if (one.do === 'pass') {
            now += one.ms
            continue
          }
          now += 1001
          // To settle over several subjects is not one step where each is asked for itself.
          if (one.do === 'settle' && ofBoth[one.nth % Math.max(expected.length, 1)]) continue
          // A decision is refunded by the process that made it.
          const isOld = one.do === 'refund' || one.do === 'settle'
          const nth = isOld ? one.nth % Math.max(expected.length, 1) : 0
          const own = isOld ? (by[nth] ?? 0) : process
          const ofOwn = isOld ? by.slice(0, nth).filter((other) => other === own).length : 0
          const asked = isOld ? { ...one, nth: ofOwn } : one
          const right = await play(memory, isOld ? { ...one, nth } : one, expected)
          const got = await play(three[own] as Limiter, asked, kept[own] as Decision[])
          if (one.do === 'consume' || one.do === 'both') {
            by.push(own)
            ofBoth.push(one.do === 'both')
          }
          expect([one, got]).toEqual([one, right])
          if (one.do !== 'both' || kept[own]?.at(-1)?.allowed) continue
          // What the first subject had been asked for goes back behind the answer.
          await eventually(async () => {
            const both = await Promise.all(
              [memory, three[own] as Limiter].map((limiter) => limiter.peek({ id: 'acme', plan: one.plan })),
            )
            expect(both[1]?.limits).toEqual(both[0]?.limits)
          })
        }
      } finally {
        await Promise.all([memory, ...three].map((limiter) => limiter.close()))
      }
    }),
    { numRuns: cases(30, 200) },
  )
})
