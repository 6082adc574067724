import { isA, StoreError } from '../base/errors.js'
import { isOutcome } from '../stores/outcome-check.js'
import type { Answer, StoreRequest } from '../stores/contract.js'
import type { Charge, LocalLimiter } from './local-limiter.js'

export interface SettlementOptions {
  /** Charges of one partition, also while its breaker is not closed. Never rejects. */
  readonly charge: (batch: readonly StoreRequest[]) => Promise<readonly Answer[]>
  readonly partitionOf: (key: string) => number
  readonly isOpen: (key: string) => boolean
  readonly onSettled: (settled: Settled) => void
}

/** What the store was told of. */
export interface Settled {
  /** Units that were charged, of all limits together. */
  readonly units: number
  /** Units that will not be: the subjects' limits have no room for them, or the limiter was closed before. */
  readonly dropped: number
}

/** How long after units were admitted beside a store that still answers others. */
const DUE_AFTER_MS = 100
/** No more at a time, so that requests get their turn. */
const LARGEST_BATCH = 128
/** What is owed after so long is settled while the store decides again. */
const LONGEST_RECOVERY_MS = 500

/** Tells the store what was admitted beside it: an outage is no free quota. */
export class Settlement {
  readonly #local: LocalLimiter
  readonly #options: SettlementOptions
  #timer: NodeJS.Timeout | undefined
  readonly #running = new Set<Promise<boolean>>()
  #isEnded = false

  constructor(local: LocalLimiter, options: SettlementOptions) {
    this.#local = local
    this.#options = options
  }

  /** Units were admitted that are to be charged, once the store answers. */
  due(): void {
    if (this.#isEnded) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.#settle((key) => !this.#options.isOpen(key))
    }, DUE_AFTER_MS).unref()
  }

  /** Charges what is owed in a partition that answers again. */
  async recover(partition: number): Promise<void> {
    const until = performance.now() + LONGEST_RECOVERY_MS
    const isDue = (key: string): boolean => this.#options.partitionOf(key) === partition
    await this.#settle(isDue, until)
  }

  /** Charges all that can be, a last time, also where the store has not been asked lately; and says what cannot. */
  async end(): Promise<void> {
    this.#isEnded = true
    clearTimeout(this.#timer)
    await Promise.all(this.#running)
    await this.#settle(() => true)
    const dropped = sum(this.#local.takeCharges(() => true, Infinity).map(({ cost }) => cost))
    if (dropped > 0) this.#options.onSettled({ units: 0, dropped })
  }

  async #settle(isDue: (key: string) => boolean, until = Infinity): Promise<void> {
    const running = this.#settleUntil(isDue, until)
    this.#running.add(running)
    const isDone = await running
    this.#running.delete(running)
    if (!isDone) this.due()
  }

  /** Whether all that was due has been charged. */
  async #settleUntil(isDue: (key: string) => boolean, until: number): Promise<boolean> {
    const failed = new Set<number>()
    const isToBe = (key: string): boolean => isDue(key) && !failed.has(this.#options.partitionOf(key))
    while (performance.now() < until) {
      const charges = this.#local.takeCharges(isToBe, LARGEST_BATCH)
      if (charges.length === 0) return failed.size === 0
      const settled = await Promise.all(
        [...this.#apart(charges)].map(async ([partition, batch]) => {
          const { isDone, ...one } = await this.#charge(batch)
          if (!isDone) failed.add(partition)
          return one
        }),
      )
      const units = sum(settled.map((one) => one.units))
      const dropped = sum(settled.map((one) => one.dropped))
      if (units + dropped > 0) this.#options.onSettled({ units, dropped })
    }
    return false
  }

  /** By partition. */
  #apart(charges: readonly Charge[]): Map<number, Charge[]> {
    const apart = new Map<number, Charge[]>()
    for (const charge of charges) {
      const partition = this.#options.partitionOf(charge.key)
      apart.set(partition, [...(apart.get(partition) ?? []), charge])
    }
    return apart
  }

  async #charge(charges: readonly Charge[]): Promise<Settled & { readonly isDone: boolean }> {
    const answers = await this.#options.charge(charges)
    let units = 0
    let dropped = 0
    let isDone = true
    charges.forEach((charge, i) => {
      const answer: unknown = answers[i]
      // What fails for its own sake would fail for ever, and so would a store that gives no outcomes.
      if (!isOutcome(answer, 1) && isA(answer, StoreError) && !answer.isOfRequest) {
        isDone = false
        this.#local.owe(charge)
        return
      }
      this.#local.confirm(charge)
      if (isOutcome(answer, 1) && answer.limits.every(({ wait }) => wait === 0)) units += charge.cost
      else dropped += charge.cost
    })
    return { units, dropped, isDone }
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
