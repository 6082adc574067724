// The store of the checker: the real one, and beside it the reference, of which each answer must be the same.
import { isDeepStrictEqual } from 'node:util'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type {
  ConsumeRequest,
  LeaseOrder,
  Outcome,
  RefundRequest,
  StoreRequest,
} from '../../../src/stores/contract.js'
import { ProcessStore } from '../../../src/stores/memory/process-store.js'
import { KEY, partOf } from './checker-process.js'
import { agedTimes } from '../../support/aged-times.js'
import { ReferenceStore } from './reference-store.js'
import { Violation } from '../../support/checker.js'

/** Later than all that tests set: a store keeps subjects an hour longer under a test's clock. */
const LONG_US = 4 * 3_600_000_000
const ANOTHER = 'another'
/** One for all worlds, one after another: to make one takes longer than all that is done with it. */
const clock = { now: 0 }
const real = new ProcessStore(100, () => clock.now / 1000)
let refunds = 0

export class CheckedStore {
  readonly #reference: ReferenceStore | undefined
  #set: LimitSet | undefined

  /** @param now in µs */
  constructor(now: number, isCompared: boolean) {
    clock.now = now
    real.reset([KEY, ANOTHER])
    if (isCompared) this.#reference = new ReferenceStore()
  }

  get now(): number {
    return clock.now
  }

  set now(now: number) {
    clock.now = now
  }

  consume(request: StoreRequest): Outcome {
    this.#set = request.parts[0]?.set
    return this.#same(request.grant, real.consume([request])[0], this.#reference?.consume(request, clock.now))
  }

  peek(set: LimitSet): Outcome {
    const request = requestFor(set)
    return this.#same('peek', real.peek([request])[0], this.#reference?.peek(request, clock.now))
  }

  refund(request: RefundRequest): boolean {
    const [given] = real.refund([{ ...request, id: `refund-${(refunds += 1)}` }])
    const expected = this.#reference?.refund(request, clock.now) ?? given
    if (given !== expected)
      throw new Violation('one truth', `a refund gave ${given}, and ${expected} by the reference`)
    return given === true
  }

  /** What a process tells of its leases, outside of any message. */
  order(order: LeaseOrder): void {
    if (this.#set) this.consume({ shard: 0, grant: 'lease', parts: [partOf(this.#set)], order })
  }

  /** Takes a unit over the quota. */
  force(set: LimitSet): void {
    const used = set.limits.map(() => [{ units: 1, ageUs: 0 }])
    const request = { shard: 0, parts: [{ key: KEY, set, cost: 1, used }], grant: 'force' } as const
    real.consume([request])
    this.#reference?.force(request, clock.now)
  }

  reset(): void {
    real.reset([KEY])
    this.#reference?.reset(KEY)
  }

  /** All that is kept of the subject, with times before now. */
  text(): string {
    return JSON.stringify(agedTimes(real.kept(KEY), clock.now))
  }

  /** Lets all time pass, but for a flaw. How many subjects are left when another one is used then. */
  leftInTheEnd(set: LimitSet, standsStill: boolean): number {
    if (!standsStill) clock.now += LONG_US
    real.consume([{ shard: 0, grant: 'all', parts: [{ ...partOf(set), key: ANOTHER }] }])
    return real.size - 1
  }

  #same(what: string, given: Outcome | undefined, expected: Outcome | undefined): Outcome {
    if (!given) throw new Error('no answer')
    if (!expected || isDeepStrictEqual(plain(given), plain(expected))) return given
    const [is, not] = [JSON.stringify(given), JSON.stringify(expected)]
    throw new Violation('one truth', `the store answers ${what} with ${is}, the reference with ${not}`)
  }
}

export function requestFor(set: LimitSet): ConsumeRequest {
  return { shard: 0, parts: [partOf(set)], grant: 'all' }
}

export function isAllowed({ limits }: Outcome): boolean {
  return limits.every(({ wait }) => wait === 0)
}

/** Without names that are undefined. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
