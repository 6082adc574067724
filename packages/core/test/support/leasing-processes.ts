// Processes that take units on lease and serve them from memory, over a network that loses and repeats messages.
import fc from 'fast-check'
import type { LimitSet } from '../../src/plans/limit/limit-set.js'
import type { LeaseOrder, Outcome, Store, StoreRequest } from '../../src/stores/contract.js'
import type { Clock } from './benches.js'
import { advance, toUs, type Admitted } from './schedules.js'
import { needOutcome } from './store-requests.js'

const KEY = 'k'
const PROCESSES = 3

interface Lease {
  readonly id: string
  /** By the process's clock, from before the message was sent. */
  readonly endsAt: number
  used: number
  left: number
}

const step = fc.record({
  kind: fc.constantFrom('renew', 'renew', 'renew', 'serve', 'serve', 'serve', 'consume', 'crash', 'repeat'),
  gapUs: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(0, 0, 1, 1000) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 100_000 }) },
    { weight: 1, arbitrary: fc.constantFrom(500_000, 999_999, 1_000_000) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 900_000 }) },
  ),
  process: fc.nat({ max: PROCESSES - 1 }),
  units: fc.integer({ min: 1, max: 12 }),
  /** Units that a process keeps of the lease that it reports. */
  kept: fc.constantFrom(0, 0, 1, 3),
  share: fc.constantFrom(0.25, 0.5, 1, 1),
  lengthUs: fc.constantFrom(15_625, 100_000, 500_000, 1_000_000),
  lost: fc.constantFrom('no', 'no', 'no', 'no', 'message', 'answer'),
})
export type LeaseStep = typeof step extends fc.Arbitrary<infer T> ? T : never
export const leaseSteps = fc.array(step, { minLength: 20, maxLength: 60 })

/** Plays steps and notes when units were truly used. */
export class LeasingProcesses {
  readonly used: Admitted[] = []
  readonly #store: Store
  readonly #clock: Clock
  readonly #set: LimitSet
  #leases: Lease[][] = Array.from({ length: PROCESSES }, () => [])
  /** Wishes whose answers were lost: their leases are given back unserved. */
  readonly #unanswered: string[][] = Array.from({ length: PROCESSES }, () => [])
  readonly #sent: LeaseOrder[] = []

  constructor(store: Store, clock: Clock, set: LimitSet) {
    this.#store = store
    this.#clock = clock
    this.#set = set
  }

  async play(steps: readonly LeaseStep[]): Promise<void> {
    for (const next of steps) {
      advance(this.#clock, next.gapUs)
      await this.#perform(next)
    }
  }

  async #perform(next: LeaseStep): Promise<void> {
    if (next.kind === 'renew') return this.#renew(next)
    if (next.kind === 'serve') return this.#serve(next)
    if (next.kind === 'consume') return this.#consume(next.units)
    if (next.kind === 'crash') this.#leases[next.process] = []
    const order = this.#sent.at(-next.units)
    if (next.kind === 'repeat' && order) await this.#ask(order)
  }

  async #renew({ process, kept, units, share, lengthUs, lost }: LeaseStep): Promise<void> {
    const own = this.#leases[process] as Lease[]
    const unanswered = this.#unanswered[process] as string[]
    // What is given back is not served any more, whatever becomes of the message.
    for (const lease of own) lease.left = Math.min(lease.left, kept)
    const reports = [
      ...own.map(({ id, used, left }) => ({ id, used, left })),
      ...unanswered.map((id) => ({ id, used: 0, left: 0 })),
    ]
    const id = `p${process}-${String(this.#sent.length).padStart(9, '0')}`
    const order = { reports, wish: { id, most: units, least: 1, share, lengthUs, lagUs: 0 } }
    this.#sent.push(order)
    const sentAt = toUs(this.#clock)
    const outcome = lost === 'message' ? undefined : await this.#ask(order)
    if (!outcome || lost === 'answer') {
      unanswered.push(id)
      return
    }
    unanswered.splice(0)
    const granted = outcome.limits[0]?.granted ?? 0
    const known = outcome.lease?.isKnown === false ? [] : own
    const lease = { id, endsAt: sentAt + (outcome.lease?.endsInUs ?? 0), used: 0, left: granted }
    this.#leases[process] = [...known, lease].filter(({ endsAt, left }) => endsAt > sentAt && left > 0)
  }

  #serve({ process, units }: LeaseStep): void {
    const atUs = toUs(this.#clock)
    let missing = units
    for (const lease of this.#leases[process] as Lease[]) {
      const cost = lease.endsAt > atUs ? Math.min(missing, lease.left) : 0
      if (cost === 0) continue
      lease.left -= cost
      lease.used += cost
      missing -= cost
      this.used.push({ atUs, cost })
    }
  }

  async #consume(cost: number): Promise<void> {
    const parts = [{ key: KEY, set: this.#set, cost }]
    const [answer] = await this.#store.consume([{ shard: 0, grant: 'all', parts }])
    const isAllowed = needOutcome(answer).limits.every(({ wait }) => wait === 0)
    if (isAllowed) this.used.push({ atUs: toUs(this.#clock), cost })
  }

  async #ask(order: LeaseOrder): Promise<Outcome> {
    const parts = [{ key: KEY, set: this.#set, cost: order.wish?.most ?? 1 }]
    const request: StoreRequest = { shard: 0, grant: 'lease', order, parts }
    const [answer] = await this.#store.consume([request])
    return needOutcome(answer)
  }
}
