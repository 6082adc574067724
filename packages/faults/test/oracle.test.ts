import { Oracle, type LetIn } from '../src/soak/oracle.ts'
import { PLANS, SOAK_TENANTS } from '../src/soak/plans.ts'
import { Random } from '@tollgate/testing/random'

const bounds = [
  { windowMs: 100, units: 2 },
  { windowMs: 1000, units: 5 },
]
const make = (): Oracle => new Oracle(() => bounds)
const letIn = (at: number, more: Partial<LetIn> = {}): LetIn => ({
  tenant: 'acme',
  by: 'store',
  from: at,
  to: at,
  ...more,
})
const violated = (given: readonly LetIn[], losses: readonly (readonly [number, number])[] = []): number => {
  const oracle = make()
  for (const each of given) oracle.add(each)
  for (const [from, to] of losses) oracle.lose(from, to)
  oracle.judge(Infinity)
  return oracle.violated
}
const at = (...times: number[]): LetIn[] => times.map((time) => letIn(time))

describe('a window', () => {
  test.each<[what: string, given: LetIn[], violations: number]>([
    ['nothing', [], 0],
    ['within the bound', at(0, 10, 200, 210, 400), 0],
    ['one over the shorter', at(0, 10, 20), 1],
    ['one over the longer', at(0, 10, 200, 210, 400, 410), 1],
    ['in any order', at(20, 0, 10), 1],
    ['of another tenant', [...at(0, 10), letIn(20, { tenant: 'globex' })], 0],
    ['by another process alone', [...at(0, 10), letIn(20, { by: 'process 0 (local)' })], 0],
    ['that may have been decided after it', [...at(0, 10), letIn(20, { to: 120 })], 0],
  ])('%s', (_, given, violations) => {
    expect(violated(given)).toBe(violations)
  })

  test('may have a quota before a loss and one after it, only then', () => {
    expect(violated(at(0, 10, 20, 30), [[15, 18]])).toBe(0)
    expect(violated(at(0, 5, 10, 20, 30), [[15, 18]])).toBe(1)
    expect(violated(at(0, 10, 20), [[500, 600]])).toBe(1)
    expect(violated(at(0, 10, 20), [[-20, -10]])).toBe(1)
  })

  test('of a local limiter gets nothing more when the store loses counts', () => {
    const local = at(0, 10, 20).map((each) => ({ ...each, by: 'process 0 (local)' }))
    expect(violated(local, [[15, 18]])).toBe(1)
  })
})

test('a violation names the tenant, the units and the bound', () => {
  const oracle = make()
  for (const each of at(0, 10, 20)) oracle.add(each)
  oracle.judge(Infinity)
  expect(oracle.violations).toEqual(['acme was let in 3 times by store in 100 ms from 0 on, bound 2'])
})

test('it holds units of the longest window only, and reports a few violations only', () => {
  const oracle = make()
  for (let ms = 0; ms < 100_000; ms += 10) {
    oracle.add(letIn(ms))
    oracle.judge(ms)
  }
  expect(oracle.mostHeld).toBeLessThanOrEqual(102)
  expect(oracle.violated).toBeGreaterThan(9000)
  expect(oracle.violations).toHaveLength(20)
})

test('windows are judged once they are over, including units that were added late', () => {
  const oracle = make()
  for (const each of at(0, 20)) oracle.add(each)
  oracle.judge(500)
  expect(oracle.judged).toBe(0)
  oracle.add(letIn(10))
  oracle.judge(1100)
  expect(oracle.violated).toBe(1)
})

test('every plan of the soak has bounds, and tenants', () => {
  for (const [plan, { bounds: own }] of Object.entries(PLANS)) {
    expect(own.length).toBeGreaterThan(0)
    expect(SOAK_TENANTS.filter((tenant) => tenant.plan === plan)).toHaveLength(10)
    expect(SOAK_TENANTS.every(({ id, plan: its }) => id.startsWith(`${its}-`))).toBe(true)
  }
})

test('the same seed gives the same faults', () => {
  const draw = (seed: number): number[] => {
    const random = new Random(seed)
    return Array.from({ length: 1000 }, () => random.next())
  }
  expect(draw(7)).toEqual(draw(7))
  expect(draw(7)).not.toEqual(draw(8))
  expect(draw(7).every((number) => number >= 0 && number < 1)).toBe(true)
  const mean = draw(7).reduce((sum, number) => sum + number, 0) / 1000
  expect(mean).toBeCloseTo(0.5, 1)
})
