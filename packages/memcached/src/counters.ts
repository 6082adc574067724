import { LruMap, type CompiledLimit, type LimitSet } from '@tollgate/core/store'
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

  /** The counter of a limit, at the window that a time is in. */
  at(key: string, { limits }: LimitSet, i: number, nowUs: number): Counter {
    const limit = limits[i] as CompiledLimit
    const name = `${key}\n${limit.stateId}.${nthOf(limits, i)}`
    const counter = this.#known.get(name) ?? this.#make(key, limit, nthOf(limits, i))
    this.#known.use(name, counter)
    counter.moveTo(limit, limit.paramsAt(nowUs / 1000), nowUs)
    return counter
  }

  #make(key: string, limit: CompiledLimit, nth: number): Counter {
    return new Counter(this.#layout.counter(key, limit, nth), limit)
  }
}

/** Two limits of the same algorithm and window count apart: which of them this one is. */
function nthOf(limits: readonly CompiledLimit[], i: number): number {
  const { stateId } = limits[i] as CompiledLimit
  let nth = 0
  for (let before = 0; before < i; before += 1) if (limits[before]?.stateId === stateId) nth += 1
  return nth
}
