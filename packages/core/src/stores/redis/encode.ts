import { kernels } from '../../algorithms/algorithm.js'
import type { LimitSet } from '../../limit-set.js'
import type { StoreRequest } from '../store.js'
import type { ScriptArg } from './clients.js'

/** The limit sets of a batch as arguments of a script, each once. */
export class SetsEncoder {
  readonly #nowMs: number
  readonly #keptMs: number
  readonly #sets: LimitSet[] = []

  /**
   * @param nowMs  the store's time, near enough to choose the windows of a calendar around it
   * @param keptMs how much longer than it must a key is kept
   */
  constructor(nowMs: number, keptMs: number) {
    this.#nowMs = nowMs
    this.#keptMs = keptMs
  }

  /** The number of the set in the script, from 1. */
  indexOf(set: LimitSet): number {
    const known = this.#sets.indexOf(set)
    return known >= 0 ? known + 1 : this.#sets.push(set)
  }

  args(): ScriptArg[] {
    return [this.#sets.length, ...this.#sets.flatMap((set) => this.#encode(set))]
  }

  #encode({ limits, ttlMs }: LimitSet): ScriptArg[] {
    const encoded = limits.flatMap(({ kernel, mark, paramsAt }) => {
      const { wire } = kernels[kernel]
      const params = paramsAt(this.#nowMs)
      return [kernel, mark, wire.length, ...wire.map((name) => params[name] as number)]
    })
    return [ttlMs + this.#keptMs, limits.length, ...encoded]
  }
}

/** Requests as runs of the same set and cost: set, cost, how many. */
export function encodeRuns(batch: readonly StoreRequest[], sets: SetsEncoder): ScriptArg[] {
  const runs: ScriptArg[] = []
  let last: StoreRequest | undefined
  let count = 0
  const close = (): void => {
    if (last) runs.push(sets.indexOf(last.set), last.cost, count)
  }
  for (const request of batch) {
    if (last && last.set === request.set && last.cost === request.cost) {
      count += 1
      continue
    }
    close()
    last = request
    count = 1
  }
  close()
  return runs
}
