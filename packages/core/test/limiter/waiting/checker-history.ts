// What was truly used, and the most that law 1 allows of it.
import { implementations } from '../../../src/algorithms/registry.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'

/** A request that was let in, at a time of the world in ms. */
export interface Use {
  readonly atMs: number
}

/** The worst case of a limit, as ARCHITECTURE.md states it. */
interface Worst {
  readonly units: number
  /** 0 of a level. */
  readonly windowMs: number
  readonly unitsPerMs: number
}

export class History {
  readonly #worst: readonly Worst[]
  #uses: Use[] = []

  constructor({ limits, wait }: LimitSet) {
    const slackMs = (wait?.slackUs ?? 0) / 1000
    this.#worst = limits.map(({ algorithm, paramsAt }): Worst => {
      const params = paramsAt(0)
      const units = implementations[algorithm].capacity(params)
      const { windowUs = 0, rate = 0, scale = 0 } = params
      const unitsPerMs = (rate * 1000) / 2 ** scale
      // A place counts as used at its time, and may be used a slack later.
      if (algorithm === 'token-bucket')
        return { units: units + slackMs * unitsPerMs, windowMs: 0, unitsPerMs }
      const most = { 'sliding-log': units, 'sliding-window': 2 * units - 1 }[algorithm as string] ?? 2 * units
      return { units: most, windowMs: windowUs / 1000, unitsPerMs: 0 }
    })
  }

  use(atMs: number): Use {
    const use = { atMs }
    this.#uses = [...this.#uses, use].sort((a, b) => a.atMs - b.atMs)
    return use
  }

  /** It was given back before it did anything. */
  undo(use: Use): void {
    this.#uses = this.#uses.filter((one) => one !== use)
  }

  /** The store lost what it had counted: all before is over. */
  lose(): void {
    this.#uses = []
  }

  /** What is over its bound, in words; undefined if nothing is. */
  over(): string | undefined {
    for (const worst of this.#worst) {
      const what = worst.windowMs > 0 ? overInWindow(this.#uses, worst) : overInLevel(this.#uses, worst)
      if (what) return what
    }
    return undefined
  }

  /** What can still matter, with times before `nowMs`. */
  text(nowMs: number): string {
    const longestMs = Math.max(
      ...this.#worst.map(({ windowMs, units, unitsPerMs }) => windowMs || units / unitsPerMs),
    )
    return this.#uses
      .filter(({ atMs }) => atMs > nowMs - longestMs)
      .map(({ atMs }) => round(nowMs - atMs))
      .join()
  }
}

/** To whole µs: sums of ms are a little off. */
export function round(ms: number): number {
  return Math.round(ms * 1000) / 1000
}

function overInWindow(uses: readonly Use[], { units, windowMs }: Worst): string | undefined {
  for (const { atMs: end } of uses) {
    const inside = uses.filter(({ atMs }) => atMs <= end && round(end - atMs) < windowMs).length
    if (inside > units) return `${inside} in a window, bound ${units}`
  }
  return undefined
}

function overInLevel(uses: readonly Use[], { units, unitsPerMs }: Worst): string | undefined {
  let [level, lastMs] = [0, 0]
  for (const { atMs } of uses) {
    level = Math.max(level - (atMs - lastMs) * unitsPerMs, 0) + 1
    lastMs = atMs
    // A level is kept in parts of a unit, so it is a little off.
    if (level > units + 1e-4) return `a level of ${level} in a bucket of ${units}`
  }
  return undefined
}
