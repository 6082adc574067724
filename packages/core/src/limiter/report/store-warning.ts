import { isPassing, type StoreError, type StoreErrorReason } from '../../base/errors.js'
import { foreignText } from '../../base/show.js'
import { elapsedMs } from '../../base/timers.js'
import type { Warn } from '../../base/warnings.js'
import type { Reconciled } from '../../failure/local/reconciliation.js'
import type { FailurePolicyOption } from '../../plans/failure-policy.js'

/** At most one warning of a reason in this time, so that a store that often fails does not fill the log. */
const EVERY_MS = 60_000

/** Warns that the store cannot be asked, why, and what to do. Without listeners nothing else would report it. */
export class StoreWarning {
  readonly #warn: Warn
  readonly #clock: () => number
  readonly #until: string
  readonly #nextMs = new Map<StoreErrorReason, number>()
  /** What was told of the outage. */
  readonly #told = new Set<StoreErrorReason>()
  #isFirst = true

  /** @param clock returns a time in ms; only tests pass one */
  constructor(warn: Warn, policy: FailurePolicyOption, clock: () => number = elapsedMs) {
    this.#warn = warn
    this.#clock = clock
    const by = typeof policy === 'function' ? 'a function' : `'${policy}'`
    this.#until = `Until it can be asked again, requests are decided by onStoreFailure: ${by}.`
  }

  /** The first connection failed. Warns only once, since clients keep retrying. Returns whether this was the first time. */
  atStart(error: StoreError): boolean {
    const isFirst = this.#isFirst
    if (isFirst) this.failed(error)
    return isFirst
  }

  /** A shard was given up, or still fails. Once an outage was told, it is told again only with a reason that somebody has to put right. */
  failed(error: StoreError): void {
    this.#isFirst = false
    const { message, reason } = error
    if (this.#told.has(reason) || (this.#told.size > 0 && isPassing(error))) return
    const nowMs = this.#clock()
    if (nowMs < (this.#nextMs.get(reason) ?? Number.NEGATIVE_INFINITY)) return
    this.#nextMs.set(reason, nowMs + EVERY_MS)
    this.#told.add(reason)
    const advice = ADVICE[reason] ?? ''
    this.#warn(
      'TOLLGATE_STORE',
      `The store ${WHAT[reason] ?? 'cannot be used'}: ${foreignText(message)}${advice}. ${this.#until}`,
    )
  }

  /** The store decides again, which is said where its outage was. */
  over({ ms, units, dropped }: Outage): void {
    if (this.#told.size === 0) return
    this.#told.clear()
    const charged = units > 0 ? `; ${units} units that were admitted meanwhile were charged` : ''
    const lost = dropped > 0 ? `; ${dropped} were dropped` : ''
    this.#warn('TOLLGATE_STORE_BACK', `The store decides again after ${seconds(ms)} s${charged}${lost}.`)
  }
}

function seconds(ms: number): string {
  return ms < 100_000 ? (ms / 1000).toFixed(1) : String(Math.round(ms / 1000))
}

/** How the store fails. The cause follows it in the message. */
const WHAT: { readonly [Reason in StoreErrorReason]?: string } = {
  unreachable: 'cannot be reached',
  timeout: 'does not answer',
  loading: 'does not answer',
  busy: 'does not answer',
}

/** What to do about errors whose message does not say it. */
const ADVICE: { readonly [Reason in StoreErrorReason]?: string } = {
  timeout: '; it hangs, is held up, or is too far away for the deadlineMs of the limiter',
}

/** The time for which a shard, or the store, did not decide, and what it was charged before it decided again. */
export interface Outage extends Reconciled {
  readonly ms: number
}

interface Open {
  readonly sinceMs: number
  units: number
  dropped: number
}

/** Measures how long the shards of a store do not decide, each alone and all together: until none is out any more. */
export class Outages {
  readonly #shards = new Map<number, Open>()
  #all: Open | undefined

  /** Whether the store as a whole is out: a shard is, or it was never reached. */
  get isOut(): boolean {
    return this.#all !== undefined
  }

  /** The store could not be reached at its start. */
  begin(): void {
    this.#all ??= opened()
  }

  open(shard: number): void {
    this.begin()
    if (!this.#shards.has(shard)) this.#shards.set(shard, opened())
  }

  /** @param shard undefined if it is not known */
  charge(shard: number | undefined, { units, dropped }: Reconciled): void {
    for (const one of [this.#all, shard === undefined ? undefined : this.#shards.get(shard)]) {
      if (!one) continue
      one.units += units
      one.dropped += dropped
    }
  }

  /** The shard decides again. */
  close(shard: number): Outage | undefined {
    const one = this.#shards.get(shard)
    this.#shards.delete(shard)
    return one && measured(one)
  }

  /** Returns the outage of the store if it is over: no shard is out. */
  end(): Outage | undefined {
    if (!this.#all || this.#shards.size > 0) return undefined
    const outage = measured(this.#all)
    this.#all = undefined
    return outage
  }
}

function opened(): Open {
  return { sinceMs: elapsedMs(), units: 0, dropped: 0 }
}

function measured({ sinceMs, units, dropped }: Open): Outage {
  return { ms: Math.round(elapsedMs() - sinceMs), units, dropped }
}
