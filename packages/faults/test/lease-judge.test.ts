import { highestLevel, judge, longestWithout, mostInWindow, type Break } from '../src/leases/judge.ts'
import { leasedPlans, scaled } from '../src/leases/plans.ts'
import { KIND, readRecord, Recorder, type Seen } from '../src/leases/record.ts'

const letIn = (at: number, more: Partial<Seen> = {}): Seen => ({
  ...{ kind: KIND.lease, from: at, to: at, by: 0 },
  ...more,
})
const at = (...times: number[]): Seen[] => times.map((time) => letIn(time))
const numbers = (...given: number[]): Float64Array => Float64Array.from(given)

describe('the most in a window', () => {
  test.each<[what: string, froms: number[], tos: number[], most: number]>([
    ['nothing', [], [], 0],
    ['all of it', [0, 10, 20], [0, 10, 20], 3],
    ['without the one at its end', [0, 10, 100], [0, 10, 100], 2],
    ['the fullest', [0, 200, 210, 290, 400], [0, 200, 210, 290, 400], 3],
    ['without one that may have been later', [0, 10], [0, 120], 1],
    ['several at once', [50, 50, 50], [50, 50, 50], 3],
  ])('%s', (_, froms, tos, most) => {
    expect(mostInWindow(numbers(...froms), numbers(...tos), 100)).toBe(most)
  })
})

describe('the highest level', () => {
  test.each<[what: string, times: number[], level: number]>([
    ['nothing', [], 0],
    ['one', [7], 1],
    ['three at once', [0, 0, 0], 3],
    ['what drained is not in it', [0, 0, 20], 2],
    ['it never drains below nothing', [0, 0, 1000, 1000, 1000], 3],
    ['rising little by little', [0, 5, 10, 15], 2.5],
  ])('%s', (_, times, level) => {
    expect(highestLevel(numbers(...times), numbers(...times), 0.1)).toBeCloseTo(level, 9)
  })
})

describe('a verdict', () => {
  const bound = { windowUs: 100, units: 2 }
  const loss: Break = { from: 12, to: 14, more: 1 }
  const violated = (seen: readonly Seen[], breaks: readonly Break[] = []): number =>
    judge(seen, [bound], breaks).violations.length

  test('is about what was let in, by whom and from where ever', () => {
    expect(violated([letIn(0), letIn(10, { by: 1, kind: KIND.store })])).toBe(0)
    expect(violated([letIn(0), letIn(10, { by: 1, kind: KIND.store }), letIn(20, { by: 2 })])).toBe(2)
    expect(violated([letIn(0), letIn(10), letIn(20, { kind: KIND.denied })])).toBe(0)
  })

  test('allows the bound before a loss and once more after it', () => {
    expect(violated(at(0, 10, 20, 30), [loss])).toBe(0)
    expect(violated(at(0, 5, 10, 20), [loss])).toBe(1)
    expect(violated(at(0, 20, 30, 40), [loss])).toBe(1)
    expect(violated(at(0, 5, 13, 20, 30), [loss])).toBe(1)
  })

  test('holds a smaller plan once all know it', () => {
    const smaller: Break = { from: 12, to: 14, more: 0, after: [{ windowUs: 100, units: 1 }] }
    expect(violated(at(0, 10, 150), [smaller])).toBe(0)
    expect(violated(at(0, 10, 150, 160), [smaller])).toBe(1)
  })

  test('tells how near the bound is', () => {
    expect(judge(at(0), [bound, { windowUs: 100, units: 8 }], []).nearest).toBe(0.5)
  })
})

test('a process is without while others serve leases, from its denial until it is let in', () => {
  const ms = (time: number, more: Partial<Seen> = {}): Seen => letIn(1000 * time, more)
  const denied = { by: 1, kind: KIND.denied }
  const seen = [ms(5), ms(10, denied), ms(15), ms(30), ms(40, { by: 1 }), ms(90)]
  expect(longestWithout(seen, 2)).toEqual([0, 15_000])
  // Nobody serves for a while: then none held a lease.
  expect(longestWithout([ms(10, denied), ms(15), ms(30), ms(200), ms(210)], 2)).toEqual([0, 15_000])
  const byStore = seen.map((one) => (one.kind === KIND.lease ? { ...one, kind: KIND.store } : one))
  expect(longestWithout(byStore, 2)).toEqual([0, 0])
})

test('a record is read as it was written, however long', () => {
  const recorder = new Recorder()
  for (let i = 0; i < 10_000; i += 1) recorder.add(i % 4, i, i + 0.5)
  const read = readRecord(recorder.numbers, 3)
  expect(read).toHaveLength(10_000)
  expect(read[9999]).toEqual({ kind: 3, from: 9999, to: 9999.5, by: 3 })
})

test('every plan is leased and has a bound for each limit, of which a smaller plan has less', () => {
  for (const plan of leasedPlans(1000)) {
    expect(plan.plan.lease).toBeTruthy()
    expect(plan.bounds).toHaveLength((plan.plan.limits as readonly unknown[]).length)
    const units = plan.bounds.map((bound) => ('burst' in bound ? bound.burst : bound.units))
    const half = scaled(plan, 0.5).bounds.map((bound) => ('burst' in bound ? bound.burst : bound.units))
    expect(half.every((less, i) => less < (units[i] ?? 0))).toBe(true)
  }
})
