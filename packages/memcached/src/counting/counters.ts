import type { CompiledLimit } from '@tollgate/core/store'
import { Counter } from './counter.js'
import type { Layout } from '../layout.js'

/**
 * The counters that this process knows. They are kept in two halves: when the recent half is full, the older one is
 * forgotten. So those that were used last stay, and no use of a counter has to reorder the others.
 */
export class Counters {
  readonly #half: number
  readonly #layout: Layout
  #recent = new Map<string, Counter>()
  #before = new Map<string, Counter>()

  constructor(most: number, layout: Layout) {
    this.#half = Math.ceil(most / 2)
    this.#layout = layout
  }

  /**
   * The counter of a limit, at the window that a time is in. Limits of one algorithm and window share it: each request takes
   * the same units from all of them.
   */
  at(key: string, limit: CompiledLimit, nowUs: number): Counter {
    const name = `${limit.stateId} ${key}`
    const counter = this.#recent.get(name) ?? this.#enter(name, key, limit)
    counter.moveTo(limit, limit.paramsAt(nowUs / 1000), nowUs)
    return counter
  }

  #enter(name: string, key: string, limit: CompiledLimit): Counter {
    const counter = this.#before.get(name) ?? new Counter(this.#layout.counter(key, limit), limit)
    if (this.#recent.size >= this.#half) {
      this.#before = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(name, counter)
    return counter
  }
}
