import { StoreError } from '../errors.js'
import { isOutcome } from '../stores/outcome.js'
import type { Answer, StoreRequest } from '../stores/store.js'
import type { Charge, LocalLimiter } from './local.js'

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
  #running: Promise<void> | undefined
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
      void this.#settleReachable()
    }, DUE_AFTER_MS).unref()
  }

  /** Charges what is owed in a partition that answers again. */
  async recover(partition: number): Promise<void> {
    const until = performance.now() + LONGEST_RECOVERY_MS
    const isDue = (key: string): boolean => this.#options.partitionOf(key) === partition
    let settled: 'more' | 'none' | 'failed' = 'more'
    while (settled === 'more' && performance.now() < until) settled = await this.#settleSome(isDue)
    if (settled === 'more') this.due()
  }

  /** Charges all that can be, a last time, and says what cannot. */
  async end(): Promise<void> {
    this.#isEnded = true
    clearTimeout(this.#timer)
    await this.#settleReachable()
    const dropped = sum(this.#local.takeCharges(() => true, Infinity).map(({ cost }) => cost))
    if (dropped > 0) this.#options.onSettled({ units: 0, dropped })
  }

  async #settleReachable(): Promise<void> {
    this.#running ??= this.#settleAll().finally(() => (this.#running = undefined))
    await this.#running
  }

  async #settleAll(): Promise<void> {
    const isDue = (key: string): boolean => !this.#options.isOpen(key)
    let settled = await this.#settleSome(isDue)
    while (settled === 'more') settled = await this.#settleSome(isDue)
    if (settled === 'failed') this.due()
  }

  async #settleSome(isDue: (key: string) => boolean): Promise<'more' | 'none' | 'failed'> {
    const charges = this.#local.takeCharges(isDue, LARGEST_BATCH)
    if (charges.length === 0) return 'none'
    const settled = await Promise.all(this.#apart(charges).map((batch) => this.#charge(batch)))
    const units = sum(settled.map((one) => one.units))
    const dropped = sum(settled.map((one) => one.dropped))
    if (units + dropped > 0) this.#options.onSettled({ units, dropped })
    return settled.every(({ isDone }) => isDone) ? 'more' : 'failed'
  }

  /** By partition. */
  #apart(charges: readonly Charge[]): Charge[][] {
    const apart = new Map<number, Charge[]>()
    for (const charge of charges) {
      const partition = this.#options.partitionOf(charge.key)
      apart.set(partition, [...(apart.get(partition) ?? []), charge])
    }
    return [...apart.values()]
  }

  async #charge(charges: readonly Charge[]): Promise<Settled & { readonly isDone: boolean }> {
    const answers = await this.#options.charge(charges)
    let units = 0
    let dropped = 0
    let isDone = true
    charges.forEach((charge, i) => {
      const answer: unknown = answers[i]
      if (!isOutcome(answer, 1)) {
        isDone = false
        // What fails for its own sake would fail for ever, and so would a store that gives no outcomes.
        if (!(answer instanceof StoreError) || answer.isOfRequest) dropped += charge.cost
        else this.#local.owe(charge)
      } else if (answer.limits.every(({ wait }) => wait === 0)) units += charge.cost
      else dropped += charge.cost
    })
    return { units, dropped, isDone }
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
