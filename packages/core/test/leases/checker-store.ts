// The store of the checker: the real one and the reference, of which each answer must be the same.
import { isDeepStrictEqual } from 'node:util'
import type { LimitSet } from '../../src/plans/limit-set.js'
import type { LeaseOrder, Outcome, RefundRequest, StoreRequest } from '../../src/stores/contract.js'
import { ProcessStore } from '../../src/stores/memory/process-store.js'
import { KEY, partOf } from './checker-process.js'
import { ReferenceStore } from './reference-store.js'
import { Violation } from './violation.js'

/** Later than all that tests set: a store keeps subjects an hour longer under a test's clock. */
const LONG_US = 4 * 3_600_000_000

export class CheckedStore {
  /** In µs. */
  now: number
  readonly #real: ProcessStore
  readonly #reference = new ReferenceStore()
  #set: LimitSet | undefined

  constructor(now: number) {
    this.now = now
    this.#real = new ProcessStore(100, () => this.now / 1000)
  }

  consume(request: StoreRequest): Outcome {
    this.#set = request.parts[0]?.set
    const expected = this.#reference.consume(request, this.now)
    return this.#same(request.grant, this.#real.consume([request])[0], expected)
  }

  peek(set: LimitSet): Outcome {
    const request = requestFor(set)
    const expected = this.#reference.peek(request, this.now)
    return this.#same('peek', this.#real.peek([request])[0], expected)
  }

  refund(request: RefundRequest): boolean {
    const given = this.#reference.refund(request, this.now)
    const [really] = this.#real.refund([request])
    if (really !== given) throw new Violation('one truth', `a refund gave ${really} and not ${given}`)
    return given
  }

  /** What a process tells of its leases, outside of any message. */
  order(order: LeaseOrder): void {
    if (this.#set) this.consume({ ...requestFor(this.#set), grant: 'lease', order })
  }

  /** Takes a unit over the quota. */
  force(set: LimitSet): void {
    const used = set.limits.map(() => [{ units: 1, ageUs: 0 }])
    const request: StoreRequest = { shard: 0, parts: [{ key: KEY, set, cost: 1, used }], grant: 'force' }
    this.#real.consume([request])
    this.#reference.force(request, this.now)
  }

  reset(): void {
    this.#real.reset([KEY])
    this.#reference.reset(KEY)
  }

  text(): string {
    return this.#reference.text(KEY, this.now)
  }

  /** Lets all time pass, but for a flaw. How many subjects are left when another one is used then. */
  leftInTheEnd(set: LimitSet, standsStill: boolean): number {
    if (!standsStill) this.now += LONG_US
    this.#real.consume([{ ...requestFor(set), parts: [{ ...partOf(set), key: 'another' }] }])
    return this.#real.size - 1
  }

  #same(what: string, given: Outcome | undefined, expected: Outcome): Outcome {
    if (isDeepStrictEqual(plain(given), plain(expected))) return expected
    const [is, not] = [JSON.stringify(given), JSON.stringify(expected)]
    throw new Violation('one truth', `the store answers ${what} with ${is}, the reference with ${not}`)
  }
}

export function requestFor(set: LimitSet): StoreRequest {
  return { shard: 0, parts: [partOf(set)], grant: 'all' }
}

export function isAllowed({ limits }: Outcome): boolean {
  return limits.every(({ wait }) => wait === 0)
}

/** Without names that are undefined. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null))
