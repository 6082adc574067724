import { held, hold, orderOf, outcome, serve } from './lease-bench.js'

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

  test('to the store as of the time at which they count, in the mode smooth', () => {
    const { holder } = hold(1, 'smooth')
    holder.next(100)
    holder.answered(outcome(100), 100, 101)
    const [use] = serve(holder, 80, 150)
    holder.next(151)
    holder.answered(outcome(100, {}, 5_100_000), 151, 153)
    expect(use?.giveBack(1, 154)).toMatchObject({ parts: [{ receipts: [{ at: 5_000_000 }] }] })
  })

  test('nowhere, when the store did not know the lease: it has lost its data, and others may have used units since', () => {
    const { holder } = held()
    const [use] = serve(holder, 80, 150)
    holder.giveBack()
    holder.answered(outcome(0, { isKnown: false }), 151, 153)
    expect(use?.giveBack(1, 154)).toBeUndefined()
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
    const { holder } = hold()
    holder.next(100)
    holder.answered(outcome(100), 100, 105)
    const uses = serve(holder, 80, 150)
    const left = orderOf(holder.next(151))?.reports[0]?.left ?? 0
    const [first, second] = serve(holder, 2, 152)
    expect(uses[0]?.giveBack(1, 153)).toBeUndefined()
    expect(first?.giveBack(1, 153)).toBe(true)
    holder.answered(outcome(0), 151, 153)
    expect(uses[0]?.giveBack(1, 154)).toMatchObject({ parts: [{ receipts: [{ units: 1 }] }] })
    // The other use of this time was not told yet.
    expect(second?.giveBack(1, 154)).toBe(true)
    expect(serve(holder, 100, 154).filter(Boolean)).toHaveLength(left)
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
