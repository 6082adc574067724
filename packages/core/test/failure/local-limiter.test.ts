import fc from 'fast-check'
import { LocalLimiter } from '../../src/failure/local/local-limiter.js'
import { usageOf } from '../../src/failure/local/owed-levels.js'
import { memoryStore } from '../../src/index.js'
import type { LimitSet } from '../../src/plans/limit/limit-set.js'
import { type LimitInput, createLimitSet } from '../../src/plans/limit/limit.js'
import type { Outcome, Store, StoreRequest } from '../../src/stores/contract.js'
import { START_MS } from '../support/benches.js'
import { CASES } from '../support/schedules.js'
import { HOUR_MS, variants } from '../support/variants.js'

const WINDOW_MS = 1000
const KEY = 'acme'

const setOf = (...limits: LimitInput[]): LimitSet => createLimitSet(...limits)

const asked = (set: LimitSet, cost: number, key = KEY): StoreRequest => ({
  shard: 0,
  parts: [{ key, set, cost }],
  grant: 'all',
})

/** The units owed of each limit of a plan. */
const unitsOwed = (local: LocalLimiter): number[] =>
  local
    .takeOwed(() => true, 10)
    .flatMap(({ used }) => used.entries.map((limit) => limit.reduce((sum, { units }) => sum + units, 0)))

/** Processes that share a store, which can be unreachable (`isAway`). */
class Fleet {
  nowMs = START_MS
  readonly store: Store = memoryStore({ now: () => this.nowMs })
  readonly locals: readonly LocalLimiter[]
  readonly #set: LimitSet
  readonly admitted: { atMs: number; cost: number }[] = []

  constructor(set: LimitSet, instances: number) {
    this.#set = set
    this.locals = Array.from({ length: instances }, () => {
      const local = new LocalLimiter(100, {
        nowMs: () => this.nowMs,
        behindMs: () => 0,
        elapsedUs: () => this.nowMs * 1000,
      })
      local.share = 1 / instances
      return local
    })
  }

  /** Sends a request to one of them. Returns whether it passes. */
  consume(instance: number, cost: number, isAway: boolean): boolean {
    const local = this.locals[instance] as LocalLimiter
    const request = asked(this.#set, cost)
    const outcome = isAway
      ? local.consume(request, request.parts)
      : (this.store.consume([request]) as Outcome[])[0]
    if (!isAway) local.note(request, outcome as Outcome, this.nowMs)
    const isAllowed = (outcome as Outcome).limits.every(({ wait }) => wait === 0)
    if (isAllowed) this.admitted.push({ atMs: this.nowMs, cost })
    return isAllowed
  }

  /** Charges the store for what was admitted without it. */
  reconcile(): void {
    for (const local of this.locals) {
      const owed = local.takeOwed(() => true, 100)
      void this.store.consume(
        owed.map((one) => ({
          shard: 0,
          grant: 'force',
          parts: [{ key: one.key, set: one.used.set, cost: 1, used: usageOf(one, local.elapsedUs()) }],
        })),
      )
      for (const one of owed) local.confirm(one)
    }
  }

  left(): number[] {
    const [{ limits }] = this.store.peek([asked(this.#set, 1)]) as [Outcome]
    return limits.map(({ remaining }) => remaining)
  }

  /** The most units that were admitted in any window of this length. */
  most(windowMs: number): number {
    return Math.max(
      0,
      ...this.admitted.map(({ atMs }) =>
        this.admitted
          .filter((other) => other.atMs >= atMs && other.atMs < atMs + windowMs)
          .reduce((sum, { cost }) => sum + cost, 0),
      ),
    )
  }
}

describe.each(variants)('local limiting by $name', ({ algorithm, limit, worstCase }) => {
  const windowMs = algorithm === 'calendar-window' ? HOUR_MS : WINDOW_MS
  const step = fc.record({
    gapMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2 * windowMs })),
    instance: fc.nat(),
    count: fc.integer({ min: 1, max: 8 }),
    cost: fc.integer({ min: 1, max: 3 }),
    // For this request only: other processes may still get answers.
    isAway: fc.boolean(),
    isReconciled: fc.boolean(),
  })

  test('no window holds more than the store and all shares allow, whatever the outages', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(step, { minLength: 1, maxLength: 25 }),
        (quota, instances, steps) => {
          const fleet = new Fleet(setOf(limit(quota, windowMs)), instances)
          for (const { gapMs, instance, count, cost, isAway, isReconciled } of steps) {
            fleet.nowMs += gapMs
            if (isReconciled) fleet.reconcile()
            for (let i = 0; i < count; i += 1) fleet.consume(instance % instances, cost, isAway)
          }
          const share = Math.max(Math.floor(quota / instances), 1)
          expect(fleet.most(windowMs)).toBeLessThanOrEqual(worstCase(quota) + instances * worstCase(share))
        },
      ),
      { numRuns: CASES },
    )
  })

  test('units admitted in an outage count when the store is back', () => {
    const fleet = new Fleet(setOf(limit(100, windowMs)), 2)
    fleet.consume(0, 1, false)
    const [before] = fleet.left() as [number]
    for (let i = 0; i < 10; i += 1) fleet.consume(i % 2, 1, true)
    fleet.reconcile()
    const meanwhile = fleet.admitted.length - 1
    expect(meanwhile).toBeGreaterThan(0)
    expect(fleet.left()).toEqual([before - meanwhile])
    fleet.reconcile()
    expect(fleet.left()).toEqual([before - meanwhile])
  })

  test('a subject that had used its whole plan gets nothing from a share', () => {
    const quota = 20
    const fleet = new Fleet(setOf(limit(quota, windowMs)), 2)
    while (fleet.consume(0, 1, false));
    expect(fleet.consume(0, 1, true)).toBe(false)
    // Another process has not seen the subject, so it allows its share.
    expect(fleet.consume(1, 1, true)).toBe(true)
  })
})

test('a single process admits the whole plan, and no more', () => {
  const fleet = new Fleet(setOf('7/min', '100/h'), 1)
  expect(Array.from({ length: 9 }, () => fleet.consume(0, 1, true))).toEqual([
    ...Array.from({ length: 7 }, () => true),
    false,
    false,
  ])
})

test('each of three processes admits a third, and at least one unit', () => {
  const fleet = new Fleet(setOf('100/min'), 3)
  const tiny = new Fleet(setOf('2/min'), 3)
  for (const each of [fleet, tiny]) {
    for (let instance = 0; instance < 3; instance += 1) while (each.consume(instance, 1, true));
  }
  expect([fleet.admitted.length, tiny.admitted.length]).toEqual([99, 3])
})

test('a cost above the share but within the plan can be retried later; one above the plan never', () => {
  const local = new LocalLimiter(10)
  local.share = 1 / 4
  const ask = (cost: number): number | undefined => {
    const request = asked(setOf('8/min'), cost)
    return local.consume(request, request.parts).limits[0]?.wait
  }
  expect([ask(8), ask(9)]).toEqual([1_000_000, -1])
})

test('each limit of a plan is charged its own units, even above its quota', () => {
  const fleet = new Fleet(setOf('5/s', '50/min', '10/h burst 40'), 1)
  for (let second = 0; second < 4; second += 1) {
    for (let i = 0; i < 5; i += 1) expect(fleet.consume(0, 1, true)).toBe(true)
    fleet.nowMs += 1000
  }
  fleet.reconcile()
  expect(fleet.left()).toEqual([5, 30, 20])
  // The units come back by the time of their use, at most an eighth of a window late, and never early.
  fleet.nowMs = START_MS + 60_000 - 1
  expect(fleet.left()[1]).toBe(30)
  fleet.nowMs = START_MS + 3000 + 60_000
  expect(fleet.left()[1]).toBe(50)

  const full = new Fleet(setOf('5/min'), 1)
  const [first] = full.locals as [LocalLimiter]
  const one = asked(setOf('5/min'), 1)
  for (let i = 0; i < 5; i += 1) first.consume(one, one.parts)
  for (let i = 0; i < 5; i += 1) void full.store.consume([one])
  full.reconcile()
  // Ten units, all of this window, so that they are back a minute later.
  expect(full.left()).toEqual([0])
  full.nowMs += 60_000
  expect(full.left()).toEqual([5])
})

test.each([1, 2, 3])('outages give a bucket no free burst: %d processes', (instances) => {
  const [perSecond, burst, seconds] = [60, 120, 24]
  const fleet = new Fleet(setOf(`${perSecond}/s burst ${burst}`), instances)
  for (let i = 0; i < 100 * seconds; i += 1) {
    fleet.nowMs += 10
    // Asks for far more than the plan. In every six seconds the store is away for three.
    const isAway = i % 600 >= 300
    if (i % 600 === 0) fleet.reconcile()
    for (let asks = 0; asks < 6; asks += 1) fleet.consume(asks % instances, 1, isAway)
  }
  const outages = seconds / 6
  expect(fleet.admitted.length).toBeLessThanOrEqual(seconds * perSecond + burst)
  // Each outage can cost what the shares and the charges round, and no more.
  expect(fleet.admitted.length).toBeGreaterThan(seconds * perSecond + burst - 3 * instances * outages)
})

test('a share that becomes smaller in an outage still owes what it admitted', () => {
  const fleet = new Fleet(setOf('10/s burst 100'), 1)
  const [local] = fleet.locals as [LocalLimiter]
  for (let i = 0; i < 40; i += 1) fleet.consume(0, 1, false)
  for (let i = 0; i < 20; i += 1) fleet.consume(0, 1, true)
  local.share = 1 / 2
  fleet.nowMs += 3000
  for (let i = 0; i < 20; i += 1) fleet.consume(0, 1, true)
  const [before] = fleet.left() as [number]
  fleet.reconcile()
  const [after] = fleet.left() as [number]
  expect(fleet.admitted.length).toBeGreaterThan(60)
  expect(before - after).toBeGreaterThanOrEqual(fleet.admitted.length - 60)
})

test('units that come back before the store is charged are not owed any more', () => {
  const fleet = new Fleet(setOf('5/min'), 1)
  const [local] = fleet.locals as [LocalLimiter]
  const request = asked(setOf('5/min'), 3)
  local.consume(request, request.parts)
  expect(local.refund(request, 2)).toBe(true)
  expect(local.peek(request, request.parts).limits[0]?.remaining).toBe(4)
  expect(unitsOwed(local)).toEqual([1])
  expect(local.refund(request, 1)).toBe(false)
})

test('an older answer of the store does not give a process a fresh share after a charge', () => {
  const fleet = new Fleet(setOf('12/min'), 3)
  const all = (instance: number, isAway: boolean): void => {
    while (fleet.consume(instance, 1, isAway));
  }
  for (const instance of [0, 1]) all(instance, true)
  fleet.nowMs += 1
  // Two processes get an answer each before their owed units are charged; the third uses up the rest.
  for (const instance of [0, 1]) fleet.consume(instance, 1, false)
  all(2, false)
  fleet.nowMs += 1
  fleet.reconcile()
  for (const instance of [0, 1, 2]) all(instance, true)
  expect(fleet.admitted.length).toBeLessThanOrEqual(12 + 3 * 4)
  expect(fleet.admitted.length).toBe(12 + 2 * 4)
})

test('owed units of each limit are handed over once, and so are later ones', () => {
  const local = new LocalLimiter(10)
  const request = asked(setOf('5/min', '9/h'), 3)
  local.consume(request, request.parts)
  expect(unitsOwed(local)).toEqual([3, 3])
  expect(unitsOwed(local)).toEqual([])
  const more = asked(setOf('5/min', '9/h'), 2)
  local.consume(more, more.parts)
  expect(unitsOwed(local)).toEqual([2, 2])
})

test('a process gets no fresh share while its charge is pending, nor after it', () => {
  const fleet = new Fleet(setOf('5/min'), 1)
  const [local] = fleet.locals as [LocalLimiter]
  while (fleet.consume(0, 1, true));
  const [owed] = local.takeOwed(() => true, 10)
  // An answer that was sent before the charge arrived does not include it.
  fleet.nowMs += 1
  fleet.consume(0, 1, false)
  fleet.nowMs += 1
  expect(fleet.consume(0, 1, true)).toBe(false)
  local.confirm(owed as NonNullable<typeof owed>)
  expect(fleet.consume(0, 1, true)).toBe(false)
})

test('owed units belong to the shard of their request', () => {
  const local = new LocalLimiter(10)
  for (const shard of [0, 1]) {
    const request = { ...asked(setOf('5/min'), 1, `of ${shard}`), shard }
    local.consume(request, request.parts)
  }
  expect(local.takeOwed((shard) => shard === 1, 10).map(({ key, shard }) => [key, shard])).toEqual([
    ['of 1', 1],
  ])
  expect(local.takeOwed(() => true, 10).map(({ key }) => key)).toEqual(['of 0'])
})

test('the number of remembered subjects is bounded', () => {
  const local = new LocalLimiter(10)
  for (let i = 0; i < 1000; i += 1) {
    const request = asked(setOf('5/min'), 1, String(i))
    local.consume(request, request.parts)
  }
  // The owed units of the others are lost, and reported as that.
  expect([local.takeForgotten(), local.takeForgotten()]).toEqual([990, 0])
  expect(local.takeOwed(() => true, 1000)).toHaveLength(10)
})
