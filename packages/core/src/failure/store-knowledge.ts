import { GenerationalCache } from '../base/generational-cache.js'
import type { LimitSet } from '../plans/limit-set.js'
import type { LimitOutcome, Outcome, SubRequest } from '../stores/contract.js'

/** What the store last said of a key: changed in place, since what every request replaces is dear to collect. */
export interface Known {
  readonly set: LimitSet
  /** Of each limit, in units. */
  readonly remaining: number[]
  /** When, in ms of the process's clock. */
  atMs: number
}

/** Remembers what the store last said of the keys that were asked for latest. */
export class StoreKnowledge {
  readonly #known: GenerationalCache<Known>

  constructor(maxKeys: number) {
    this.#known = new GenerationalCache(maxKeys)
  }

  note(parts: readonly SubRequest[], { limits }: Outcome, atMs: number): void {
    let from = 0
    for (const { key, set } of parts) {
      const to = from + set.limits.length
      const known = this.#known.refresh(key)
      if (known?.set === set) {
        for (let i = from; i < to; i += 1) known.remaining[i - from] = (limits[i] as LimitOutcome).remaining
        known.atMs = atMs
      } else {
        this.#known.set(key, {
          set,
          remaining: limits.slice(from, to).map(({ remaining }) => remaining),
          atMs,
        })
      }
      from = to
    }
  }

  get(key: string): Known | undefined {
    return this.#known.get(key)
  }

  delete(key: string): void {
    this.#known.delete(key)
  }
}
