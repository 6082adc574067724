import { GenerationalCache } from '../../base/caches.js'
import type { LimitSet } from '../../plans/limit/limit-set.js'
import type { LimitOutcome, Outcome, SubRequest } from '../../stores/contract.js'

/** The store's last answer for a key. Changed in place: a new object per request would be expensive to collect. */
export interface Known {
  readonly set: LimitSet
  /** Units left of each limit. */
  readonly remaining: number[]
  /** When the store said so, in ms of this process's clock. */
  atMs: number
}

/** Remembers the store's last answers for the most recently used keys. */
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
