import { LruMap, type CompiledLimit } from '@tollgate/core/store'
import { Counter } from './counter.js'
import type { Layout } from './layout.js'

/** The counters that this process knows: the most recently used ones. */
export class Counters {
  readonly #known: LruMap<Counter>
  readonly #layout: Layout

  constructor(most: number, layout: Layout) {
    this.#known = new LruMap(most)
    this.#layout = layout
  }

  /**
   * The counter of a limit, at the window that a time is in. Limits of one algorithm and window share it: each request takes
   * the same units from all of them.
   */
  at(key: string, limit: CompiledLimit, nowUs: number): Counter {
    const name = `${limit.stateId} ${key}`
    const counter = this.#known.get(name) ?? new Counter(this.#layout.counter(key, limit), limit)
    this.#known.use(name, counter)
    counter.moveTo(limit, limit.paramsAt(nowUs / 1000), nowUs)
    return counter
  }
}
