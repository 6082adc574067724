// What was truly used, and the most that laws 1 and 7 allow of it.
import { implementations } from '../../src/algorithms/registry.js'
import type { LimitSet } from '../../src/plans/limit-set.js'

/** A unit that was let in, at a time in µs of the world, under the plans of one era. */
export interface Use {
  readonly at: number
  readonly era: number
}

/** The worst cases of the limits of a set, as ARCHITECTURE.md states them. */
type Worst =
  | { readonly windowUs: number; readonly units: number }
  | { readonly burst: number; readonly unitsPerUs: number }

const known = new WeakMap<LimitSet, readonly Worst[]>()

function worstOf(set: LimitSet): readonly Worst[] {
  const before = known.get(set)
  if (before) return before
  const worst = set.limits.map(({ algorithm, paramsAt }): Worst => {
    const params = paramsAt(0)
    const units = implementations[algorithm].capacity(params)
    const { windowUs = 0, rate = 0, scale = 0 } = params
    if (algorithm === 'token-bucket') return { burst: units, unitsPerUs: rate / 2 ** scale }
    if (algorithm === 'sliding-log') return { windowUs, units }
    return { windowUs, units: algorithm === 'fixed-window' ? 2 * units : 2 * units - 1 }
  })
  known.set(set, worst)
  return worst
}

export class History {
  #uses: readonly Use[] = []
  #era = 0
  /** Of the present era, and the largest of each limit of all eras. */
  #worst: readonly Worst[]
  #eras: readonly (readonly Worst[])[]

  constructor(set: LimitSet) {
    this.#worst = worstOf(set)
    this.#eras = [this.#worst]
  }

  use(at: number): Use {
    const use = { at, era: this.#era }
    this.#uses = [...this.#uses, use]
    return use
  }

  undo(use: Use): void {
    this.#uses = this.#uses.filter((one) => one !== use)
  }

  /** The store lost what it had counted: all before it is over. */
  lose(): void {
    this.#uses = []
  }

  changePlan(set: LimitSet): void {
    this.#era += 1
    this.#worst = worstOf(set)
    this.#eras = [...this.#eras, this.#worst]
  }

  /** What is over its bound at this moment, in words; undefined if nothing is. */
  over(): string | undefined {
    const own = this.#uses.filter(({ era }) => era === this.#era)
    return this.#overIn(own, this.#worst) ?? this.#overIn(this.#uses, this.#loosest())
  }

  /** What can still matter, with times before `now`. */
  text(now: number): string {
    const longest = Math.max(
      ...this.#eras
        .flat()
        .map((worst) => ('burst' in worst ? worst.burst / worst.unitsPerUs : worst.windowUs)),
    )
    const recent = this.#uses.filter(({ at }) => at > now - longest)
    return recent.map(({ at, era }) => `${now - at}${era === this.#era ? '' : '*'}`).join()
  }

  #overIn(uses: readonly Use[], worst: readonly Worst[]): string | undefined {
    const newest = uses.at(-1)
    if (!newest) return undefined
    for (const each of worst) {
      if ('burst' in each) {
        // The level that the newest of them reaches, counted from each of them on.
        const levels = uses.map(({ at }, i) => uses.length - i - each.unitsPerUs * (newest.at - at))
        // A level is kept in parts of a unit, so it is a little off.
        if (Math.max(...levels) > each.burst + 1e-6)
          return `a level of ${Math.max(...levels)} in a bucket of ${each.burst}`
        continue
      }
      const inside = uses.filter(({ at }) => at > newest.at - each.windowUs).length
      if (inside > each.units) return `${inside} in a window, bound ${each.units}`
    }
    return undefined
  }

  /** Of limits at the same place, the one that allows most; only limits that all eras have. */
  #loosest(): Worst[] {
    return this.#worst.flatMap((_, i) => {
      const same = this.#eras.map((era) => era[i])
      const most = same.reduce((a, b) => (a && b && boundOf(b) > boundOf(a) ? b : a))
      return most && !same.includes(undefined) ? [most] : []
    })
  }
}

const boundOf = (worst: Worst): number => ('burst' in worst ? worst.burst : worst.units)
