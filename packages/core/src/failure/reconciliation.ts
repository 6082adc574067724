import { clearTimeout, elapsedMs, setTimeout } from '../base/timers.js'
import { isA, StoreError } from '../base/errors.js'
import type { Answer, Outcome, StoreRequest } from '../stores/contract.js'
import { isOutcome } from '../stores/outcome-check.js'
import { newId } from './ids.js'
import type { LocalLimiter, Owed } from './local-limiter.js'
import { LARGEST_BATCH, Outbox } from './outbox.js'
import { unitsOf, usageAt } from './usage-ledger.js'

/** What reconciliation needs of the store. */
export interface ChargedStore {
  /** Charges of one shard, also while its breaker is not closed. Never rejects. */
  charge(batch: readonly StoreRequest[]): Promise<readonly Answer[]>
  /** Whether a shard is not asked. */
  isOpen(shard: number): boolean
}

export interface ReconciliationOptions {
  readonly store: ChargedStore
  readonly onReconciled: (reconciled: Reconciled) => void
}

/** What the store was told of. */
export interface Reconciled {
  /** Units that were charged, of all limits together. */
  readonly units: number
  /** Units that will not be: the store's state has no room for them, or did not answer in time. */
  readonly dropped: number
}

/** What one message tells the store: the same units whenever it is sent, older each time. */
interface Charge {
  readonly shard: number
  readonly id: string
  readonly owed: Owed
}

/** How long after units were admitted beside a store that still answers others. */
const DUE_AFTER_MS = 100
/** What is owed after so long is charged while the store decides again. */
const LONGEST_RECOVERY_MS = 500

/** Tells the store what was admitted beside it: an outage is no free quota. Nothing is told twice. */
export class Reconciliation {
  readonly #local: LocalLimiter
  readonly #options: ReconciliationOptions
  readonly #outbox: Outbox<Charge, Outcome>
  #timer: NodeJS.Timeout | undefined
  readonly #running = new Set<Promise<boolean>>()
  #isEnding = false
  /** Nobody will be told of what is admitted from now on. */
  #isEnded = false

  constructor(local: LocalLimiter, options: ReconciliationOptions) {
    this.#local = local
    this.#options = options
    this.#outbox = new Outbox<Charge, Outcome>({
      send: (charges) => this.#send(charges),
      isOpen: (shard) => options.store.isOpen(shard),
      onDelivered: (charge, answer) => this.#settle(charge, isA(answer, StoreError) ? undefined : answer),
      onDropped: (charge) => this.#settle(charge, undefined),
    })
  }

  /** Units of a shard were admitted that are to be charged: soon, where it still answers others. */
  due({ shard, parts }: Pick<StoreRequest, 'shard' | 'parts'>): void {
    if (this.#isEnded) this.#drop(this.#local.dropOwed(parts))
    else if (!this.#options.store.isOpen(shard)) this.#chargeSoon()
  }

  /** Charges what is owed in a shard that answers again. */
  async recover(shard: number): Promise<void> {
    const until = elapsedMs() + LONGEST_RECOVERY_MS
    await this.#outbox.recover(shard)
    await this.#charge((one) => one === shard, until)
  }

  /** Charges all that can be, a last time, also where the store has not been asked lately; and says what cannot. */
  async end(): Promise<void> {
    this.#isEnding = true
    clearTimeout(this.#timer)
    await Promise.all(this.#running)
    await this.#charge(() => true)
    await this.#outbox.end()
    this.#isEnded = true
    this.#drop(sum(this.#local.takeOwed(() => true, Infinity).map(({ used }) => unitsOf(used))))
  }

  #chargeSoon(): void {
    if (this.#isEnding) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.#charge((shard) => !this.#options.store.isOpen(shard))
    }, DUE_AFTER_MS).unref()
  }

  async #charge(isDue: (shard: number) => boolean, until = Infinity): Promise<void> {
    this.#drop(this.#local.takeForgotten())
    const running = this.#chargeUntil(isDue, until)
    this.#running.add(running)
    const isDone = await running
    this.#running.delete(running)
    if (!isDone) this.#chargeSoon()
  }

  /** Whether all that was due has been sent. */
  async #chargeUntil(isDue: (shard: number) => boolean, until: number): Promise<boolean> {
    const failed = new Set<number>()
    const isToBe = (shard: number): boolean => isDue(shard) && !failed.has(shard)
    while (elapsedMs() < until) {
      const owed = this.#local.takeOwed(isToBe, LARGEST_BATCH)
      if (owed.length === 0) return failed.size === 0
      const charges = owed.map((one): Charge => ({ shard: one.shard, id: newId(), owed: one }))
      await Promise.all(
        [...byShard(charges)].map(async ([shard, batch]) => {
          const answers = await this.#outbox.deliver(batch, true)
          if (answers.some((answer) => isA(answer, StoreError) && !answer.isOfRequest)) failed.add(shard)
        }),
      )
    }
    return false
  }

  async #send(charges: readonly Charge[]): Promise<readonly (Outcome | StoreError)[]> {
    const nowUs = this.#local.elapsedUs()
    const batch = charges.map(({ shard, id, owed: { key, used } }): StoreRequest => {
      const part = { key, set: used.set, cost: 1, used: usageAt(used, nowUs) }
      return { shard, id, grant: 'force', parts: [part] }
    })
    const answers = await this.#options.store.charge(batch)
    return batch.map((request, i) => {
      const answer: unknown = answers[i]
      if (isOutcome(answer, request)) return answer
      // A store that gives no outcomes would never.
      return isA(answer, StoreError) ? answer : new StoreError('no outcome', { isOfRequest: true })
    })
  }

  #drop(dropped: number): void {
    if (dropped > 0) this.#options.onReconciled({ units: 0, dropped })
  }

  /** @param outcome undefined where the store will not be told */
  #settle({ owed }: Charge, outcome: Outcome | undefined): void {
    this.#local.confirm(owed)
    const units = sum(outcome?.limits.map(({ granted = 0 }) => granted) ?? [])
    const dropped = Math.max(unitsOf(owed.used) - units, 0)
    if (units + dropped > 0) this.#options.onReconciled({ units, dropped })
  }
}

function byShard(charges: readonly Charge[]): Map<number, Charge[]> {
  const apart = new Map<number, Charge[]>()
  for (const charge of charges) {
    const same = apart.get(charge.shard)
    if (same) same.push(charge)
    else apart.set(charge.shard, [charge])
  }
  return apart
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
