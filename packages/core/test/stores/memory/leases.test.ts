// What is out when a lease ends counts exactly as if it had been used at that moment, however late the subject is
// loaded: a second store is told of the same units at that moment, by force.
import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { Outcome, StoreRequest } from '../../../src/stores/contract.js'
import type { ProcessStore } from '../../../src/stores/memory/process-store.js'
import { variants } from '../../support/variants.js'
import { ask, one, part, setOf, storeAt } from './support.js'

const START_MS = 1_769_862_896_789

const act = fc.record({
  kind: fc.constantFrom('lease', 'lease', 'consume', 'consume', 'peek', 'peek'),
  gapUs: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(0, 1, 999_999, 1_000_000) },
    { weight: 6, arbitrary: fc.integer({ min: 0, max: 300_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 2_500_000 }) },
  ),
  units: fc.integer({ min: 1, max: 9 }),
  lengthUs: fc.constantFrom(15_625, 100_000, 500_000, 1_000_000),
})
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never

interface Ending {
  readonly at: number
  readonly units: number
}

/** The store under test, and one that takes units only at the end of their lease. */
class Pair {
  readonly #leasing = storeAt(START_MS)
  readonly #plain = storeAt(START_MS)
  readonly #set: LimitSet
  #endings: Ending[] = []
  #leases = 0

  constructor(set: LimitSet) {
    this.#set = set
  }

  /** Returns what both answer where they must answer the same. */
  play({ kind, gapUs, units, lengthUs }: Act): readonly [Outcome, Outcome] | undefined {
    const now = Math.round(this.#leasing.clock.now * 1000) + gapUs
    this.#leasing.clock.now = now / 1000
    this.#endUntil(now)
    if (kind === 'lease') this.#lease(units, lengthUs)
    else if (kind === 'consume') this.#consume(units)
    else if (this.#endings.length === 0) {
      const request = ask(part('k', units, this.#set))
      const [[leasing], [plain]] = [this.#leasing.store.peek([request]), this.#plain.store.peek([request])]
      return [leasing as Outcome, plain as Outcome]
    }
    return undefined
  }

  #endUntil(now: number): void {
    const ended = this.#endings.filter(({ at }) => at <= now).sort((a, b) => a.at - b.at)
    this.#endings = this.#endings.filter(({ at }) => at > now)
    for (const { at, units } of ended) {
      this.#plain.clock.now = at / 1000
      this.#force(this.#plain.store, units)
    }
    this.#plain.clock.now = now / 1000
  }

  #force(store: ProcessStore, units: number): void {
    const used = this.#set.limits.map(() => (units > 0 ? [{ units, ageUs: 0 }] : []))
    one(store, { shard: 0, grant: 'force', parts: [{ ...part('k', 1, this.#set), used }] })
  }

  #lease(most: number, lengthUs: number): void {
    this.#leases += 1
    const id = `lease-${String(this.#leases).padStart(6, '0')}`
    const order = { reports: [], wish: { id, most, least: 1, share: 1, lengthUs, lagUs: 0 } }
    const request: StoreRequest = { shard: 0, grant: 'lease', order, parts: [part('k', most, this.#set)] }
    const { at, limits, lease } = one(this.#leasing.store, request)
    const units = limits[0]?.granted ?? 0
    if (units === 0) return
    this.#endings.push({ at: at + (lease?.endsInUs ?? 0), units })
    // Writes, as the lease did: a bucket rounds its level at every write.
    this.#force(this.#plain.store, 0)
  }

  #consume(cost: number): void {
    const { limits } = one(this.#leasing.store, ask(part('k', cost, this.#set)))
    if (limits.every(({ wait }) => wait === 0)) this.#force(this.#plain.store, cost)
  }
}

/** With slots, units can come back up to one slot earlier than beside later ones: within the precision. */
const exact = variants.filter(({ name }) => name !== 'sliding-log with precision')

test.each(exact)('$name', (variant) => {
  let compared = 0
  const acts = fc.array(act, { minLength: 5, maxLength: 40 })
  fc.assert(
    fc.property(acts, fc.integer({ min: 3, max: 20 }), (schedule, quota) => {
      const pair = new Pair(setOf(variant.limit(quota, 1000)))
      for (const next of schedule) {
        const answers = pair.play(next)
        if (!answers) continue
        compared += 1
        expect(answers[0]).toEqual(answers[1])
      }
    }),
    { numRuns: cases(100, 500) },
  )
  expect(compared).toBeGreaterThan(cases(100, 500))
})
