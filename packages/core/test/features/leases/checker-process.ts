// One process of the checker: the real LeaseHolder, with the requests, the answers and the time that the checker gives it.
import { Demand } from '../../../src/features/leases/demand.js'
import { LeaseHolder, type LeaseUse } from '../../../src/features/leases/lease-holder.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import { compilePlan } from '../../../src/plans/plan.js'
import type { Part, Request } from '../../../src/requests/request.js'
import type { Outcome } from '../../../src/stores/contract.js'

export const KEY = 'tenant'
const PLAN = compilePlan('big', '1/s', 'plans.big')
const REPORTER = { lease: () => {}, leaseUsed: () => {} }

/** A demand that never changes, of units so cheap that leases are small. */
class SteadyDemand extends Demand {
  constructor(unitsPerMs: number) {
    super(0)
    this.requestsPerMs = 4
    this.unitsPerMs = unitsPerMs
  }

  override note(): void {}
  override read(): void {}

  /** A lease has at least eight times as many. */
  override get unitsARequest(): number {
    return 0.25
  }
}

/** A message that is under way, or was. */
export interface Message {
  /** Of all messages of all lives of the process. */
  readonly number: string
  readonly by: number
  readonly request: Request
  readonly sentAtMs: number
}

export function partOf(set: LimitSet): Part {
  const rest = { limits: [], planName: 'big', place: undefined, onStoreFailure: undefined, shard: 0 }
  return { ...rest, key: KEY, set, cost: 1, subject: { id: KEY } }
}

export class CheckedProcess {
  readonly number: number
  /** The message whose answer it waits for. */
  awaited: Message | undefined
  #set: LimitSet
  #holder: LeaseHolder
  #ids = 0
  #messages = 0
  readonly #unitsPerMs: number

  constructor(number: number, set: LimitSet, unitsPerMs: number) {
    this.number = number
    this.#unitsPerMs = unitsPerMs
    this.#set = set
    this.#holder = this.#hold()
  }

  serve(nowMs: number): LeaseUse | undefined {
    return this.#current().serve(1, nowMs)
  }

  /** The next message, if there is one to be sent. */
  send(nowMs: number): Message | undefined {
    const holder = this.#current()
    if (holder.isRetired) return this.#sent(holder.giveBack(), nowMs)
    return holder.isDue(nowMs) ? this.#sent(holder.next(nowMs), nowMs) : undefined
  }

  /** Gives all back, as an idle process does. */
  giveBack(nowMs: number): Message | undefined {
    this.#holder.expire(nowMs)
    return this.#sent(this.#holder.giveBack(), nowMs)
  }

  hear(outcome: Outcome, nowMs: number): void {
    const sentAtMs = this.awaited?.sentAtMs ?? 0
    this.awaited = undefined
    this.#holder.answered(outcome, sentAtMs, nowMs)
  }

  fail(nowMs: number): void {
    this.awaited = undefined
    this.#holder.failed(nowMs)
  }

  crash(): void {
    this.awaited = undefined
    this.#holder = this.#hold()
  }

  changePlan(set: LimitSet): void {
    this.#set = set
    this.#holder.retire()
  }

  forget(nowMs: number): void {
    this.#holder.forget(nowMs)
  }

  /** The leases that it could serve at this time. */
  servable(nowMs: number): { readonly id: string; readonly left: number }[] {
    if (this.#holder.isRetired) return []
    return this.#holder.state().leases.filter(({ endsAtMs, isClosed }) => !isClosed && endsAtMs > nowMs)
  }

  /** All that it knows, with times after `nowMs`. */
  text(nowMs: number): string {
    const ages = /AtMs$|UntilMs$/
    const aged = (name: string, value: unknown): unknown =>
      ages.test(name) && typeof value === 'number' ? Math.max(value - nowMs, -1000) : value
    return JSON.stringify([this.#holder.state(), this.awaited?.request.order, this.awaited?.sentAtMs], aged)
  }

  /** The holder for the plan of now. One for another plan goes once all of it is given back. */
  #current(): LeaseHolder {
    if (this.#holder.isRetired && this.#holder.isEmpty) this.#holder = this.#hold()
    return this.#holder
  }

  #sent(request: Request | undefined, nowMs: number): Message | undefined {
    if (!request) return undefined
    const number = `${this.number} ${(this.#messages += 1)}`
    this.awaited = { number, by: this.number, request, sentAtMs: nowMs }
    return this.awaited
  }

  #hold(): LeaseHolder {
    return new LeaseHolder({
      part: partOf(this.#set),
      plan: PLAN,
      demand: new SteadyDemand(this.#unitsPerMs),
      newId: () => `lease-${this.number}-${(this.#ids += 1)}`.padEnd(12, '_'),
      reporter: REPORTER,
    })
  }
}
