import { elapsedMs } from '../../base/timers.js'
import type { Reconciled } from '../../failure/local/reconciliation.js'

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
