// Compares refunds of a token bucket with a queue of units. A bucket drains in the order it was filled, and a refund
// gives back at most those of its own units that have not drained.
import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import type { Receipt } from '../../src/algorithms/implementation.js'
import { tokenBucket } from '../../src/algorithms/token-bucket/token-bucket.js'
import { setOf } from '../support/store-requests.js'
import type { TokenBucketParams } from '../../src/algorithms/token-bucket/token-bucket-level.js'

const START_US = 1_769_862_896_789_000
/** For rounding, since answers are exact to the µs only. */
const DOUBT_UNITS = 1e-4

function paramsOf(quota: number, window: number, burst: number): TokenBucketParams {
  const [limit] = setOf({ quota, window, burst }).limits
  return limit?.paramsAt(0) as unknown as TokenBucketParams
}

class Bucket {
  readonly #params: TokenBucketParams
  readonly #state = tokenBucket.create()
  #last = START_US

  constructor(params: TokenBucketParams) {
    this.#params = params
  }

  take(units: number, now: number): Receipt | undefined {
    const { wait, take } = tokenBucket
    this.#load(now)
    if (wait(this.#state, units, this.#params) !== 0) return undefined
    take(this.#state, units, this.#params)
    this.#last = now
    const remaining = this.remaining(now)
    return { units, at: now, remaining, reset: wait(this.#state, remaining + 1, this.#params) }
  }

  /** Gives units back. Returns how many went back. */
  give(receipt: Receipt, now: number): number {
    this.#load(now)
    const before = this.#state.levelNow
    tokenBucket.give(this.#state, receipt, this.#params)
    this.#last = now
    return (before - this.#state.levelNow) / this.#state.unit
  }

  /** Whether it is as one that was never used: no part of a unit is left, and no note on a refund. */
  get isUnused(): boolean {
    return this.#state.level === 0 && this.#state.wentBack.length === 0
  }

  remaining(now: number): number {
    this.#load(now)
    return tokenBucket.remaining(this.#state, this.#params)
  }

  #load(now: number): void {
    tokenBucket.load(this.#state, this.#last, now, this.#params)
  }
}

/** The reference: the units of all requests, the oldest first, drained from the front. */
class Queue {
  readonly #pace: number
  #held: { readonly receipt: Receipt; units: number }[] = []
  #last = START_US

  constructor({ rate, scale }: TokenBucketParams) {
    this.#pace = rate / 2 ** scale
  }

  add(receipt: Receipt): void {
    this.#drainTo(receipt.at)
    this.#held.push({ receipt, units: receipt.units })
  }

  heldOf(receipt: Receipt, now: number): number {
    this.#drainTo(now)
    return this.#held.find((held) => held.receipt === receipt)?.units ?? 0
  }

  remove(receipt: Receipt, units: number): void {
    const held = this.#held.find((each) => each.receipt === receipt)
    if (held) held.units -= units
    this.#held = this.#held.filter((each) => each.units > 1e-9)
  }

  #drainTo(now: number): void {
    let drained = (now - this.#last) * this.#pace
    this.#last = now
    while (drained > 0 && this.#held[0]) {
      const taken = Math.min(drained, this.#held[0].units)
      drained -= taken
      this.#held[0].units -= taken
      if (this.#held[0].units <= 1e-9) this.#held.shift()
    }
  }
}

test('units that one refund gave back do not come back again by a later refund', () => {
  const bucket = new Bucket(paramsOf(10, 60_000, 10))
  const a = bucket.take(5, START_US) as Receipt
  const b = bucket.take(5, START_US + 10) as Receipt
  expect(bucket.give(a, START_US + 20)).toBeCloseTo(5, 3)
  const later = START_US + 30_000_000
  expect(bucket.take(5, later)).toBeDefined()
  // These units have drained: none stood before them any more.
  expect(bucket.give(b, later)).toBeLessThan(DOUBT_UNITS)
})

test('refunds in any order right after their requests give everything back', () => {
  const requests = fc.array(fc.record({ units: fc.integer({ min: 1, max: 9 }), gapUs: fc.nat({ max: 2 }) }), {
    minLength: 1,
    maxLength: 9,
  })
  fc.assert(
    fc.property(requests, fc.infiniteStream(fc.nat()), (taken, picks) => {
      const bucket = new Bucket(paramsOf(100, 60_000, 100))
      let now = START_US
      const receipts = taken.map(({ units, gapUs }) => bucket.take(units, (now += gapUs)) as Receipt)
      while (receipts.length > 0) {
        const [receipt] = receipts.splice((picks.next().value as number) % receipts.length, 1)
        bucket.give(receipt as Receipt, now)
      }
      expect(bucket.remaining(now + 2)).toBe(100)
    }),
    { numRuns: cases(150, 1000), endOnFailure: true },
  )
})

test('refunds of the newest units first leave an unused bucket, whatever the answers were rounded to', () => {
  const requests = fc.array(
    fc.record({ units: fc.integer({ min: 1, max: 9 }), gapUs: fc.nat({ max: 90_000 }) }),
    { minLength: 1, maxLength: 9 },
  )
  const quotas = fc.record({
    quota: fc.integer({ min: 1, max: 100_000 }),
    window: fc.constantFrom(60_000, 86_400_000),
  })
  fc.assert(
    fc.property(requests, quotas, fc.nat({ max: 90_000 }), (taken, { quota, window }, laterUs) => {
      const bucket = new Bucket(paramsOf(quota, window, 100))
      let now = START_US
      const receipts = taken.map(({ units, gapUs }) => bucket.take(units, (now += gapUs)) as Receipt)
      now += laterUs
      for (const receipt of receipts.reverse()) bucket.give(receipt, now)
      expect(bucket.remaining(now)).toBe(100)
      expect(bucket.isUnused).toBe(true)
    }),
    { numRuns: cases(100, 5000), endOnFailure: true },
  )
})

test('requests that are made and refunded at the same instant, again and again, leave nothing', () => {
  const bucket = new Bucket(paramsOf(20, 60_000, 20))
  const kept = bucket.take(3, START_US) as Receipt
  for (let i = 0; i < 30; i += 1) {
    const [first, second] = [bucket.take(5, START_US), bucket.take(6, START_US)] as [Receipt, Receipt]
    bucket.give(i % 2 ? first : second, START_US)
    bucket.give(i % 2 ? second : first, START_US)
    expect(bucket.remaining(START_US)).toBe(17)
  }
  bucket.give(kept, START_US)
  expect(bucket.remaining(START_US)).toBe(20)
})

const step = fc.record({
  gapUs: fc.oneof(fc.constantFrom(0, 1, 1_000_000), fc.nat({ max: 9_000_000 })),
  units: fc.integer({ min: 1, max: 8 }),
  /** Which of the requests to refund; undefined: make a new request. */
  back: fc.option(fc.nat({ max: 5 })),
  share: fc.constantFrom(1, 1, 0.5),
})

test.each([
  [10, 10],
  [30, 10],
  [5, 20],
])('never more than is held, and no less while few went back: %d a minute, burst %d', (quota, burst) => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 3, maxLength: 40 }), (steps) => {
      const params = paramsOf(quota, 60_000, burst)
      const [bucket, queue] = [new Bucket(params), new Queue(params)]
      const receipts: Receipt[] = []
      let [now, refunds, isTied] = [START_US, 0, false]
      for (const { gapUs, units, back, share } of steps) {
        now += gapUs
        isTied ||= gapUs < 10
        const receipt = back === null ? undefined : receipts.splice(-1 - back, 1)[0]
        if (!receipt) {
          const made = bucket.take(units, now)
          if (!made) continue
          queue.add(made)
          receipts.push(made)
          continue
        }
        const part = { ...receipt, units: Math.max(Math.floor(receipt.units * share), 1) }
        const held = Math.min(queue.heldOf(receipt, now), part.units)
        const given = bucket.give(part, now)
        expect(given).toBeLessThanOrEqual(held + DOUBT_UNITS)
        refunds += 1
        if (refunds <= 8 && !isTied) expect(given).toBeGreaterThanOrEqual(held - DOUBT_UNITS)
        queue.remove(receipt, given)
      }
    }),
    { numRuns: cases(200, 2000), endOnFailure: true },
  )
})
