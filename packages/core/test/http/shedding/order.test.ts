// The law of shedding: a plan is refused only when all plans before it in the order are.
import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import type { Load } from '../../../src/http/shedding/monitor.js'
import { isLetIn, limitOf, type Bounds } from '../../../src/http/shedding/shedder.js'

const loads = fc.record<Load>({
  inFlight: fc.nat(300),
  limit: fc.oneof(fc.constant(Infinity), fc.integer({ min: 4, max: 200 })),
  delayMs: fc.nat(200),
  beforeMs: fc.nat(200),
})
const bounds = fc.record<Bounds>({
  maxInFlight: fc.oneof(fc.constant(Infinity), fc.integer({ min: 1, max: 200 })),
  maxDelayMs: fc.integer({ min: 10, max: 200 }),
})
const RANKS = fc.integer({ min: 1, max: 8 })

/** Of each rank whether it is let in, the first to be refused in front. */
const allOf = (load: Load, bound: Bounds, ranks: number): boolean[] =>
  Array.from({ length: ranks }, (_, rank) => isLetIn(load, bound, rank, ranks))

test('whoever is let in, those behind it in the order are let in, too', () => {
  fc.assert(
    fc.property(loads, bounds, RANKS, (load, bound, ranks) => {
      const letIn = allOf(load, bound, ranks)
      expect(letIn).toEqual(letIn.toSorted((a, b) => Number(a) - Number(b)))
    }),
    { numRuns: cases(300, 2000) },
  )
})

test('with more to do nobody is let in who was not before', () => {
  fc.assert(
    fc.property(loads, bounds, RANKS, fc.nat(50), (load, bound, ranks, more) => {
      const before = allOf(load, bound, ranks)
      const busier = [
        { ...load, inFlight: load.inFlight + more },
        { ...load, delayMs: load.delayMs + more },
        { ...load, beforeMs: load.beforeMs + more },
        { ...load, limit: Math.max(1, load.limit - more) },
      ]
      for (const one of busier) {
        const after = allOf(one, bound, ranks)
        expect(after.filter((letIn, rank) => letIn && !before[rank])).toEqual([])
      }
    }),
    { numRuns: cases(150, 1000) },
  )
})

test('without a limit and with an event loop that is not late nobody is refused', () => {
  const calm = { limit: Infinity, delayMs: 0, beforeMs: 0 }
  fc.assert(
    fc.property(fc.nat(1_000_000), RANKS, (inFlight, ranks) => {
      const none = { maxInFlight: Infinity, maxDelayMs: 50 }
      expect(allOf({ ...calm, inFlight }, none, ranks)).not.toContain(false)
    }),
  )
})

test.each([
  // free, starter, all others: a third, two thirds, all of 9
  [{ inFlight: 2 }, [true, true, true]],
  [{ inFlight: 3 }, [false, true, true]],
  [{ inFlight: 6 }, [false, false, true]],
  [{ inFlight: 9 }, [false, false, false]],
  // the same of 60 ms
  [{ delayMs: 20 }, [true, true, true]],
  [{ delayMs: 21 }, [false, true, true]],
  [{ delayMs: 41 }, [false, false, true]],
  [{ delayMs: 61 }, [false, false, false]],
  // a turn that is over does not count against the last
  [{ beforeMs: 21 }, [false, true, true]],
  [{ beforeMs: 1000 }, [false, false, true]],
])('of a load %j', (load, expected) => {
  const quiet = { inFlight: 1, limit: 9, delayMs: 0, beforeMs: 0 }
  expect(allOf({ ...quiet, ...load }, { maxInFlight: Infinity, maxDelayMs: 60 }, 3)).toEqual(expected)
})

test('with nothing in flight one of each plan passes, however low the limit', () => {
  const load = { inFlight: 0, limit: Infinity, delayMs: 0, beforeMs: 0 }
  expect(allOf(load, { maxInFlight: 1, maxDelayMs: 50 }, 8)).not.toContain(false)
})

test('the limit that is told is the lesser one, and none where there is none', () => {
  const load = { inFlight: 0, limit: 30.9, delayMs: 0, beforeMs: 0 }
  expect(limitOf(load, { maxInFlight: 100, maxDelayMs: 50 })).toBe(30)
  expect(limitOf(load, { maxInFlight: 7, maxDelayMs: 50 })).toBe(7)
  expect(limitOf({ ...load, limit: Infinity }, { maxInFlight: Infinity, maxDelayMs: 50 })).toBeUndefined()
})
