import { clearTimeout, elapsedMs, setTimeout } from '../../base/timers.js'
import { isA, StoreError, pageOf } from '../../base/errors.js'
import type { Answer, Outcome, StoreRequest } from '../../stores/contract.js'
import { LARGEST_BATCH } from '../../stores/batcher.js'
import { isOutcome } from '../../stores/outcome-check.js'
import { newId, Outbox } from '../outbox.js'
import type { LocalLimiter } from './local-limiter.js'
import { usageOf, type Owed } from './owed-levels.js'
import { unitsOf } from './usage-ledger.js'

export interface ReconciliationOptions {
  /** Charges one shard, also while it is refused. Never rejects. */
  readonly charge: (batch: readonly StoreRequest[]) => Promise<readonly Answer[]>
  /** Whether a shard is not charged now. */
  readonly isRefused: (shard: number) => boolean
  /** @param shard the one that was charged; undefined for units that were dropped when their subject was forgotten */
  readonly onReconciled: (reconciled: Reconciled, shard?: number) => void
}

/** What the store was charged for requests that were admitted without it. */
export interface Reconciled {
  /** Units charged, summed over all limits. */
  readonly units: number
  /** Units that will never be charged: the store has no room for them, or was away too long, or their subject was forgotten. */
  readonly dropped: number
}

/** One charge. It can be sent repeatedly with the same units; only their age grows. */
interface Charge {
  readonly shard: number
  readonly id: string
  readonly owed: Owed
}

/** How long to wait before charging a shard that still answers other requests, in ms. */
const DUE_AFTER_MS = 100
/** Recovery charges for at most this long, in ms. The rest is charged while the store decides requests again. */
const LONGEST_RECOVERY_MS = 500

/** Charges the store for what was admitted without it, so that an outage gives no free quota. Charges count once. */
export class Reconciliation {
  readonly #local: LocalLimiter
  readonly #options: ReconciliationOptions
  readonly #outbox: Outbox<Charge, Outcome>
  #timer: NodeJS.Timeout | undefined
  readonly #running = new Set<Promise<boolean>>()
  #isEnding = false
  /** Set by `end`: units that are admitted from now on are dropped. */
  #isEnded = false

  constructor(local: LocalLimiter, options: ReconciliationOptions) {
    this.#local = local
    this.#options = options
    this.#outbox = new Outbox<Charge, Outcome>({
      send: (charges) => this.#send(charges),
      limitsOf: chargedLimits,
      isOpen: options.isRefused,
      onDelivered: (charge, answer) => this.#settle(charge, isA(answer, StoreError) ? undefined : answer),
      onDropped: (charge) => this.#settle(charge, undefined),
    })
  }

  /** Called when units were admitted without the store. Charges them soon if the shard answers other requests. */
  due({ shard, parts }: Pick<StoreRequest, 'shard' | 'parts'>): void {
    if (this.#isEnded) this.#drop(this.#local.dropOwed(parts))
    else if (!this.#options.isRefused(shard)) this.#chargeSoon()
  }

  /** Charges a shard that answers again. */
  async recover(shard: number): Promise<void> {
    const until = elapsedMs() + LONGEST_RECOVERY_MS
    await this.#outbox.recover(shard)
    await this.#charge((one) => one === shard, until)
  }

  /** Charges all shards a last time, also those whose breaker is open. Reports what cannot be charged as dropped. */
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
      void this.#charge((shard) => !this.#options.isRefused(shard))
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

  /** Returns whether all that was due has been charged. */
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
    const batch = charges.map(({ shard, id, owed }): StoreRequest => {
      const part = { key: owed.key, set: owed.used.set, cost: 1, used: usageOf(owed, nowUs) }
      return { shard, id, grant: 'force', parts: [part] }
    })
    const answers = await this.#options.charge(batch)
    return batch.map((request, i) => {
      const answer: unknown = answers[i]
      if (isOutcome(answer, request)) return answer
      // A store that returns no outcome will not do so at a repetition either.
      return isA(answer, StoreError)
        ? answer
        : new StoreError(`the store gave no outcome (${pageOf('guides/writing-a-store.md')})`, {
            isOfRequest: true,
          })
    })
  }

  #drop(dropped: number): void {
    if (dropped > 0) this.#options.onReconciled({ units: 0, dropped })
  }

  /** @param outcome undefined if the store will never be charged */
  #settle({ owed, shard }: Charge, outcome: Outcome | undefined): void {
    this.#local.confirm(owed)
    const admitted = unitsOf(owed.used)
    const dropped = outcome
      ? sum(outcome.limits.map((limit, i) => notGranted(owed, i, limit.granted)))
      : admitted
    const units = Math.max(admitted - dropped, 0)
    if (units + dropped > 0) this.#options.onReconciled({ units, dropped }, shard)
  }
}

/** A limit that is charged for several times is counted in several times. */
function chargedLimits({ owed }: Charge): number {
  return sum(owed.used.entries.map(({ length }) => Math.max(length, 1)))
}

/** How many charged units of a limit the store had no room for. */
function notGranted({ used, levels }: Owed, i: number, granted = 0): number {
  const charged = levels[i] ?? sum((used.entries[i] ?? []).map(({ units }) => units))
  return Math.max(charged - granted, 0)
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
