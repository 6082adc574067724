import type { LeaseChange } from '../../../src/features/leases/lease-reporter.js'
import { held, hold, kinds, orderOf, outcome, serve } from './lease-bench.js'

describe('a lease is asked for', () => {
  test('by the rate of its subject, with a reserve, and by the terms of the plan', () => {
    const order = orderOf(hold().holder.next(100))
    expect(order).toEqual({
      reports: [],
      wish: { id: 'id1', most: 250, least: 8, share: 0.25, lengthUs: 200_000, lagUs: 0 },
    })
  })

  test('not for a subject with few requests', () => {
    expect(hold(0.05).holder.next(100)).toBeUndefined()
  })

  test('one at a time', () => {
    const { holder } = hold()
    expect(holder.next(100)).toBeDefined()
    expect(holder.isDue(101)).toBe(false)
    expect(holder.giveBack()).toBeUndefined()
  })

  test('again only after a pause, when the store refused it or did not answer', () => {
    const { holder, told } = hold()
    holder.next(100)
    holder.answered(outcome(0), 100, 101)
    expect([holder.isDue(102), holder.isDue(114)]).toEqual([false, true])
    expect(kinds(told)).toEqual([['refused', 0]])
  })
})

describe('the size of a lease', () => {
  test('is at most four times what was asked for since the one before: a burst is no rate', () => {
    const { holder } = hold()
    expect(orderOf(holder.next(100))?.wish?.most).toBe(250)
    const burst = hold(0)
    burst.holder.demand.begin(20, 20)
    expect(orderOf(burst.holder.next(5))?.wish?.most).toBe(80)
  })

  test('is asked for only if the store is near enough that it can be used', () => {
    const { holder } = hold()
    holder.noteTrip(70)
    expect(holder.next(100)).toBeUndefined()
    for (let i = 0; i < 3; i += 1) holder.noteTrip(1)
    expect(orderOf(holder.next(101))?.wish).toBeDefined()
  })

  test('is told as lost when it comes after its end', () => {
    const { holder, told } = hold()
    holder.next(100)
    holder.answered(outcome(100), 100, 300)
    expect(kinds(told)).toEqual([
      ['granted', 100],
      ['lost', 100],
    ])
  })
})

describe('a lease is served', () => {
  test('unit by unit, until it has none left', () => {
    const { holder } = held()
    expect(serve(holder, 101, 102).filter(Boolean)).toHaveLength(100)
    expect(holder.serve(1, 102)).toBeUndefined()
  })

  test('until its end, counted from before it was asked for', () => {
    const { holder, told, totals } = held()
    expect(holder.serve(1, 299)).toBeDefined()
    expect(holder.serve(1, 300)).toBeUndefined()
    holder.expire(300)
    expect(kinds(told)).toEqual([
      ['granted', 100],
      ['lost', 99],
    ])
    expect(totals.used).toBe(1)
    expect(holder.isEmpty).toBe(true)
  })

  test('never, when its answer comes after its end', () => {
    const { holder } = hold()
    holder.next(100)
    holder.answered(outcome(100), 100, 300)
    expect(holder.serve(1, 300)).toBeUndefined()
  })

  test('never, when it was asked for before a reset', () => {
    const { holder } = hold()
    holder.next(100)
    holder.forget(105)
    holder.answered(outcome(100), 100, 110)
    expect(holder.serve(1, 111)).toBeUndefined()
    expect(orderOf(holder.giveBack())?.reports).toEqual([{ id: 'id1', used: 0, left: 0 }])
  })

  test('not after a reset: it is given back, since it may be newer in the store', () => {
    const { holder, told } = held()
    holder.forget(105)
    expect(holder.serve(1, 106)).toBeUndefined()
    expect(holder.isDue(106)).toBe(true)
    expect(orderOf(holder.giveBack())?.reports).toEqual([{ id: 'id1', used: 0, left: 0 }])
    holder.answered(outcome(0), 106, 107)
    expect(kinds(told)).toEqual([
      ['granted', 100],
      ['returned', 100],
    ])
  })
})

describe('a lease is renewed', () => {
  test('when little is left, and what is left is served until the new one is there, and then', () => {
    const { holder, totals } = held()
    expect(holder.isDue(150)).toBe(false)
    serve(holder, 80, 150)
    expect(holder.isDue(150)).toBe(true)
    const order = orderOf(holder.next(151))
    const left = order?.reports[0]?.left ?? 0
    expect(order?.reports).toEqual([{ id: 'id1', used: 80, left }])
    expect(left).toBeGreaterThan(0)
    expect(order?.wish?.id).toBe('id2')
    holder.answered(outcome(100), 151, 153)
    expect(serve(holder, 200, 154).filter(Boolean)).toHaveLength(100 + left)
    expect(totals.renewed).toBe(1)
  })

  test('with a final report of the one before', () => {
    const { holder } = held()
    serve(holder, 80, 150)
    holder.next(151)
    holder.answered(outcome(100), 151, 153)
    serve(holder, 90, 160)
    const [first, second] = orderOf(holder.next(165))?.reports ?? []
    expect([first?.id, first?.left, second?.id]).toEqual(['id1', 0, 'id2'])
    expect((first?.used ?? 0) + (second?.used ?? 0)).toBe(170)
    expect(second?.left).toBeGreaterThan(0)
  })

  test('shortly before its end, and what will not be needed is given back', () => {
    const { holder, told } = held()
    serve(holder, 30, 200)
    expect([holder.isDue(270), holder.isDue(276)]).toEqual([false, true])
    const [report] = orderOf(holder.next(276))?.reports ?? []
    expect(report?.used).toBe(30)
    expect(report?.left).toBeGreaterThan(0)
    expect(report?.left).toBeLessThan(70)
    holder.answered(outcome(100), 276, 277)
    expect(kinds(told)).toContainEqual(['returned', 70 - (report?.left ?? 0)])
  })
})

describe('a lease is given back', () => {
  test('when its subject is idle', () => {
    const { holder, told } = held()
    for (let now = 110; now < 200; now += 10) holder.isIdle(now)
    expect(holder.isIdle(200)).toBe(true)
    expect(orderOf(holder.giveBack())).toEqual({
      reports: [{ id: 'id1', used: 0, left: 0 }],
      wish: undefined,
    })
    expect(holder.serve(1, 201)).toBeUndefined()
    holder.answered(outcome(0), 201, 202)
    expect(kinds(told)).toEqual([
      ['granted', 100],
      ['returned', 100],
    ])
    expect(holder.isEmpty).toBe(true)
  })

  test('too late, when its report arrives after its end: then its units count, and none of them can go back', () => {
    const { holder, told } = held()
    const [use] = serve(holder, 10, 110)
    holder.giveBack()
    holder.answered(outcome(0, {}, 5_200_000), 299, 320)
    expect(kinds(told)).toEqual([
      ['granted', 100],
      ['lost', 90],
    ])
    expect(use?.giveBack(1, 321)).toBeUndefined()
  })

  test('again with the same numbers, until the store has confirmed it', () => {
    const { holder } = held()
    serve(holder, 10, 110)
    const first = orderOf(holder.giveBack())
    holder.failed(120)
    expect(orderOf(holder.giveBack())).toEqual(first)
  })

  test('when its answer was lost: nothing of it was used', () => {
    const { holder } = hold()
    holder.next(100)
    holder.failed(150)
    expect(orderOf(holder.giveBack())?.reports).toEqual([{ id: 'id1', used: 0, left: 0 }])
  })

  test('when it comes after the holder has retired', () => {
    const { holder } = hold()
    holder.next(100)
    holder.retire()
    holder.answered(outcome(100), 100, 101)
    expect(holder.serve(1, 102)).toBeUndefined()
    expect(orderOf(holder.giveBack())?.reports).toEqual([{ id: 'id1', used: 0, left: 0 }])
  })
})

test('a lease that the store does not know any more is not served', () => {
  const { holder } = held()
  serve(holder, 80, 150)
  holder.next(151)
  holder.answered(outcome(0, { isKnown: false }), 151, 152)
  expect(holder.serve(1, 153)).toBeUndefined()
})

describe('a lease that ends on the way hides whether the next one is known', () => {
  /** Holds a lease that ends at 300 here and at 5 200 000 us at the store, and the next one, which ends at 450 and 5 350 000. */
  const heldTwo = (): ReturnType<typeof held> => {
    const all = held()
    serve(all.holder, 60, 150)
    all.holder.next(250)
    all.holder.answered(outcome(100, {}, 5_150_000), 250, 251)
    serve(all.holder, 10, 252)
    return all
  }
  const sumOf = (told: readonly LeaseChange[], kind: string): number =>
    told.reduce((sum, one) => sum + (one.kind === kind ? one.units : 0), 0)
  const isHidden = outcome(0, { isKnown: false }, 5_250_000)

  test('what went back of it is not lost', () => {
    const { holder, told } = heldTwo()
    expect(orderOf(holder.giveBack())?.reports).toMatchObject([{ id: 'id1' }, { id: 'id2', left: 0 }])
    holder.answered(isHidden, 253, 299)
    const [lost, returned] = [sumOf(told, 'lost'), sumOf(told, 'returned')]
    expect(lost + returned).toBe(200 - 60 - 10)
    expect(returned).toBeGreaterThanOrEqual(40 + 90)
  })

  test('what it keeps serves nobody until the next report, and is not lost', () => {
    const { holder, told } = heldTwo()
    const kept = orderOf(holder.next(253))?.reports[1]?.left ?? 0
    expect(kept).toBeGreaterThan(0)
    holder.answered(isHidden, 253, 299)
    expect([holder.serve(1, 299), holder.isDue(320)]).toEqual([undefined, true])
    const [lost, returned] = [sumOf(told, 'lost'), sumOf(told, 'returned')]
    expect(orderOf(holder.giveBack())?.reports).toMatchObject([{ id: 'id2', left: 0 }])
    holder.answered(outcome(0, {}, 5_270_000), 320, 321)
    expect([sumOf(told, 'lost'), sumOf(told, 'returned')]).toEqual([lost, returned + kept])
    expect(holder.isEmpty).toBe(true)
  })

  test('it goes back at once, though the next lease is there', () => {
    const { holder } = heldTwo()
    const ids = (): unknown => orderOf(holder.next(299))?.reports.map(({ id }) => id)
    holder.next(253)
    holder.answered(outcome(100, { isKnown: false }, 5_250_000), 253, 299)
    expect([holder.isDue(299), ids()]).toEqual([true, ['id2', 'id3']])
  })
})
