// Ids of charges and refunds: counted once, and remembered for ten minutes of the store's clock, in bounded memory.
import { ID_KEPT_MS, type StoreRequest } from '../../../src/stores/contract.js'
import { RememberedIds } from '../../../src/stores/memory/process-store.js'
import { ask, one, part, refundPart, remainingOf, setOf, storeAt } from './support.js'

const TWENTY = setOf('20/h')
const charge = (id: string | undefined, units: number): StoreRequest => ({
  shard: 0,
  grant: 'force',
  id,
  parts: [{ ...part('a', 1, TWENTY), used: [[{ units, ageUs: 0 }]] }],
})

test('a charge repeated within ten minutes does not count again, and gets the first answer', () => {
  const { store, clock } = storeAt()
  expect(one(store, charge('x', 2)).limits[0]).toMatchObject({ granted: 2, remaining: 18 })
  clock.now += ID_KEPT_MS - 1
  expect(one(store, charge('x', 2)).limits[0]).toMatchObject({ granted: 2, remaining: 18 })
  // A different charge with the same id is a repetition, too.
  expect(one(store, charge('x', 9)).limits[0]).toMatchObject({ granted: 2, remaining: 18 })
  expect(one(store, charge('y', 2)).limits[0]).toMatchObject({ granted: 2, remaining: 16 })
  expect(one(store, charge(undefined, 2)).limits[0]).toMatchObject({ granted: 2, remaining: 14 })
})

test('charges and refunds have separate ids', () => {
  const { store } = storeAt()
  const outcome = one(store, ask(part('a', 5, TWENTY)))
  one(store, charge('x', 1))
  const refund = { shard: 0, id: 'x', parts: [refundPart(part('a', 5, TWENTY), outcome, [2])] }
  expect(store.refund([refund])).toEqual([true])
  expect(store.refund([refund])).toEqual([true])
  expect(remainingOf(one(store, ask(part('a', 1, TWENTY))))).toEqual([15])
})

test('a repeated refund gives no more than the first one did', () => {
  const { store } = storeAt()
  const request = part('a', 5, TWENTY)
  const early = {
    shard: 0,
    id: 'x',
    parts: [refundPart(request, { at: 0, limits: [{ wait: 0, remaining: 0, reset: 0 }] }, [2])],
  }
  expect(store.refund([early])).toEqual([false])
  const outcome = one(store, ask(request))
  expect(store.refund([{ ...early, parts: [refundPart(request, outcome, [2])] }])).toEqual([false])
})

test('ids are remembered for ten to twenty minutes, or less if there are very many', () => {
  const ids = new RememberedIds<number>()
  const kept = ID_KEPT_MS * 1000
  const start = 1_770_000_000_000_000
  for (let i = 0; i < 1000; i += 1) ids.set(`early ${i}`, i, start + i)
  ids.set('late', 1, start + kept - 1)
  expect(ids.get('early 0', start + kept - 1)).toBe(0)
  expect(ids.get('late', start + 2 * kept - 2)).toBe(1)
  expect(ids.get('late', start + 3 * kept)).toBeUndefined()
  expect(ids.size).toBe(0)
  for (let i = 0; i < 1_000_000; i += 1) ids.set(`id ${i}`, i, start + 3 * kept)
  expect(ids.size).toBeLessThanOrEqual(200_000)
  expect(ids.get('id 999999', start + 3 * kept)).toBe(999_999)
  expect(ids.get('id 900000', start + 3 * kept)).toBe(900_000)
})

test('an id is remembered for ten minutes from its arrival, whenever that is', () => {
  const kept = ID_KEPT_MS * 1000
  for (let from = 0; from < 2 * kept; from += kept / 10) {
    const ids = new RememberedIds<number>()
    ids.set('first', 1, 0)
    for (let now = 0; now < from; now += kept / 20) ids.get('none', now)
    ids.set('id', 1, from)
    for (let now = from; now < from + kept; now += kept / 20) expect(ids.get('id', now)).toBe(1)
  }
})
