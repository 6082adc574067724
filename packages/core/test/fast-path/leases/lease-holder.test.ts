import { Demand } from '../../../src/fast-path/leases/demand.js'
import type { LeaseChange } from '../../../src/fast-path/leases/lease-change.js'
import { LeaseHolder } from '../../../src/fast-path/leases/lease-holder.js'
import type { LeaseUse } from '../../../src/fast-path/leases/lease-use.js'
import { compilePlan } from '../../../src/plans/plan.js'
import type { Part, Request } from '../../../src/requests/request.js'
import type { LeaseOutcome, Outcome } from '../../../src/stores/contract.js'

const plan = compilePlan('big', { limits: '60000/min', lease: { maxMs: 200 } }, 'plans.big')

/** A holder that hears of `perMs` requests in each ms until the time 100. */
function hold(perMs = 1): {
  holder: LeaseHolder
  told: LeaseChange[]
  totals: { used: number; renewed: number }
} {
  const { set, limits } = plan
  if (!set) throw new Error('unlimited')
  const subject = { id: 'acme' }
  const part: Part = {
    key: 'acme',
    set,
    cost: 1,
    subject,
    limits,
    planName: 'big',
    place: undefined,
    onStoreFailure: undefined,
    shard: 0,
  }
  const told: LeaseChange[] = []
  const totals = { used: 0, renewed: 0 }
  const demand = new Demand(0)
  demand.begin(perMs * 100, perMs * 100)
  let ids = 0
  const holder = new LeaseHolder({
    part,
    plan,
    demand,
    newId: () => `id${(ids += 1)}`,
    listener: {
      lease(change, isRenewal) {
        told.push(change)
        if (isRenewal) totals.renewed += 1
      },
      leaseUsed: (units) => void (totals.used += units),
    },
  })
  return { holder, told, totals }
}

function outcome(granted: number, lease: Partial<LeaseOutcome> = {}, at = 5_000_000): Outcome {
  const limits = [{ wait: 0, remaining: 1000, reset: 5, granted }]
  return { at, limits, lease: { endsInUs: 200_000, isKnown: true, ...lease } }
}

/** A holder with a lease of 100 units, asked for at 100 and there at 101: it ends at 300. */
function held(): ReturnType<typeof hold> {
  const all = hold()
  all.holder.next(100)
  all.holder.answered(outcome(100), 100, 101)
  return all
}

const serve = (holder: LeaseHolder, times: number, nowMs: number): (LeaseUse | undefined)[] =>
  Array.from({ length: times }, () => holder.serve(1, nowMs))
const orderOf = (request: Request | undefined): Request['order'] => request?.order
const kinds = (told: readonly LeaseChange[]): (string | number)[][] =>
  told.map(({ kind, units }) => [kind, units])

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
  })

  test('not after a reset', () => {
    const { holder } = held()
    holder.forget(105)
    expect(holder.serve(1, 106)).toBeUndefined()
    expect(holder.giveBack()).toBeUndefined()
  })
})

describe('a lease is renewed', () => {
  test('when little is left, and what is left is served until the new one is there, and then', () => {
    const { holder, totals } = held()
    expect(holder.isDue(150)).toBe(false)
    serve(holder, 80, 150)
    expect(holder.isDue(150)).toBe(true)
    const order = orderOf(holder.next(151))
    expect(order?.reports).toEqual([{ id: 'id1', used: 80, left: 20 }])
    expect(order?.wish?.id).toBe('id2')
    serve(holder, 5, 152)
    holder.answered(outcome(100), 151, 153)
    expect(serve(holder, 200, 154).filter(Boolean)).toHaveLength(115)
    expect(totals.renewed).toBe(1)
  })

  test('with a final report of the one before', () => {
    const { holder } = held()
    serve(holder, 80, 150)
    holder.next(151)
    holder.answered(outcome(100), 151, 153)
    serve(holder, 100, 160)
    expect(orderOf(holder.next(165))?.reports).toEqual([
      { id: 'id1', used: 100, left: 0 },
      { id: 'id2', used: 80, left: 20 },
    ])
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

describe('units of a request go back', () => {
  test('to the lease, which serves them again', () => {
    const { holder } = held()
    const [use] = serve(holder, 100, 110)
    expect(use?.giveBack(1, 111)).toBe(true)
    expect(holder.serve(1, 112)).toBeDefined()
    expect(holder.serve(1, 112)).toBeUndefined()
  })

  test('to the store, once it was told that they were used', () => {
    const { holder } = held()
    const [use] = serve(holder, 80, 150)
    holder.next(151)
    holder.answered(outcome(100), 151, 153)
    expect(use?.giveBack(1, 154)).toMatchObject({
      parts: [{ key: 'acme', receipts: [{ units: 1, at: 5_000_000, remaining: 1079, reset: 5 }] }],
    })
  })

  test('nowhere, when it is not known whether the store was told, or the lease ended without a report', () => {
    const { holder } = held()
    const [use] = serve(holder, 80, 150)
    holder.next(151)
    expect(use?.giveBack(1, 152)).toBeUndefined()
    holder.failed(200)
    expect(use?.giveBack(1, 301)).toBeUndefined()
  })

  test('to the store, if it was told of that use, though the lease could serve as many again', () => {
    const { holder } = held()
    const uses = serve(holder, 80, 150)
    expect(orderOf(holder.next(151))?.reports).toEqual([{ id: 'id1', used: 80, left: 20 }])
    const [first, second] = serve(holder, 2, 152)
    expect(uses[0]?.giveBack(1, 153)).toBeUndefined()
    expect(first?.giveBack(1, 153)).toBe(true)
    holder.answered(outcome(0), 151, 153)
    expect(uses[0]?.giveBack(1, 154)).toMatchObject({ parts: [{ receipts: [{ units: 1 }] }] })
    // The other use of this time was not told yet.
    expect(second?.giveBack(1, 154)).toBe(true)
    expect(serve(holder, 100, 154).filter(Boolean)).toHaveLength(20)
  })

  test('to the store as of the report that told of them, whatever came back before', () => {
    const { holder } = held()
    const [first, second] = serve(holder, 80, 150)
    expect(first?.giveBack(1, 150)).toBe(true)
    holder.next(151)
    holder.answered(outcome(0, {}, 5_000_001), 151, 153)
    serve(holder, 5, 154)
    holder.giveBack()
    holder.answered(outcome(0, {}, 5_000_002), 155, 156)
    expect(second?.giveBack(1, 157)).toMatchObject({ parts: [{ receipts: [{ at: 5_000_001 }] }] })
  })
})
