// Refunds beside units on lease: a decision tells fewer units left, but its units are where they would be without leases.
import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import type { StoreRequest } from '../../../src/stores/contract.js'
import { refundOf } from '../../../src/stores/receipts.js'
import { variants } from '../../support/variants.js'
import { ask, one, part, setOf, storeAt } from './support.js'

const START_MS = 1_769_862_896_789
const LEASED = 5

const act = fc.record({
  gapUs: fc.integer({ min: 0, max: 80_000 }),
  cost: fc.integer({ min: 1, max: 4 }),
  /** Whether the oldest of the requests before is given back, of which most has come back by itself. */
  gives: fc.boolean(),
})
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never

/** Units left after each act, with those on lease. */
function play(
  acts: readonly Act[],
  limit: ReturnType<(typeof variants)[0]['limit']>,
  hasLease: boolean,
): number[] {
  const { store, clock } = storeAt(START_MS)
  const set = setOf(limit)
  const wish = { id: 'lease-000001', most: LEASED, least: 1, share: 1, lengthUs: 1_000_000, lagUs: 0 }
  if (hasLease) {
    const parts = [part('k', LEASED, set)]
    one(store, { shard: 0, grant: 'lease', order: { reports: [], wish }, parts })
  } else one(store, { shard: 0, grant: 'force', parts: [{ ...part('k', 1, set), used: [[]] }] })
  const taken: [StoreRequest, ReturnType<typeof one>][] = []
  return acts.map(({ gapUs, cost, gives }) => {
    clock.now = (Math.round(clock.now * 1000) + gapUs) / 1000
    const oldest = gives && taken.shift()
    if (oldest) store.refund([refundOf(...oldest, 1)])
    const [seen] = store.peek([ask(part('k', cost, set))])
    const room = (seen?.limits[0]?.remaining ?? 0) - (hasLease ? 0 : LEASED)
    const request = ask(part('k', cost, set))
    if (cost <= room) taken.push([request, one(store, request)])
    const { remaining = 0, leased = 0 } = store.peek([request])[0]?.limits[0] ?? {}
    return remaining + leased
  })
}

/** Without the variant that has no room for the lease. */
const roomy = variants.filter(({ name }) => name !== 'token-bucket with a burst of 3')

test.each(roomy)('$name', (variant) => {
  // Together less than the length of the lease.
  fc.assert(
    fc.property(
      fc.array(act, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 8, max: 30 }),
      (acts, quota) => {
        const limit = variant.limit(quota, 1000)
        expect(play(acts, limit, true)).toEqual(play(acts, limit, false))
      },
    ),
    { numRuns: cases(30, 300) },
  )
})
