// What was truly used, and the most that laws 1 and 7 allow of it.
import { implementations } from '../../../src/algorithms/registry.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'

/** A unit that was let in, at a time in µs of the world, by the limits of a set. */
export interface Use {
  readonly at: number
  readonly set: LimitSet
  /** How many times the plan had changed. */
  readonly era: number
}

/** The worst case of a limit, as ARCHITECTURE.md states it. */
interface Worst {
  readonly stateId: number
  /** In any window, or of a level that drains. */
  readonly units: number
  /** 0 of a level. */
  readonly windowUs: number
  readonly unitsPerUs: number
}

const known = new WeakMap<LimitSet, readonly Worst[]>()

function worstOf(set: LimitSet): readonly Worst[] {
  const before = known.get(set)
  if (before) return before
  const worst = set.limits.map(({ algorithm, stateId, paramsAt }): Worst => {
    const params = paramsAt(0)
    const units = implementations[algorithm].capacity(params)
    const { windowUs = 0, rate = 0, scale = 0 } = params
    if (algorithm === 'token-bucket') return { stateId, units, windowUs: 0, unitsPerUs: rate / 2 ** scale }
    const most = { 'sliding-log': units, 'sliding-window': 2 * units - 1 }[algorithm as string] ?? 2 * units
    return { stateId, units: most, windowUs, unitsPerUs: 0 }
  })
  known.set(set, worst)
  return worst
}

export class History {
  #uses: readonly Use[] = []
  #era = 0
  #set: LimitSet
  #stirred: readonly LimitSet[] = []

  constructor(set: LimitSet) {
    this.#set = set
  }

  use(at: number): Use {
    const use = { at, set: this.#set, era: this.#era }
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
    this.#set = set
  }

  /** A message of another plan than the present one has reached the store, which went by that plan once more. */
  stir(set: LimitSet): void {
    this.#era += 1
    this.#stirred = [...this.#stirred, set]
  }

  /** What is over its bound at this moment, in words; undefined if nothing is. */
  over(): string | undefined {
    for (const worst of worstOf(this.#set)) {
      const own = this.#uses.filter(({ set }) => worstIn(set, worst))
      // Units that were let in by a larger plan may be more than this one has, but it adds none to them.
      const largest = [...own.map(({ set }) => set), ...this.#stirred]
        .map((set) => worstIn(set, worst) ?? worst)
        .reduce((a, b) => (b.units > a.units ? b : a), worst)
      const recent = own.filter(({ era }) => era === this.#era)
      const what = overIn(recent, worst) ?? overIn(own, largest)
      if (what) return what
    }
    return undefined
  }

  /** What can still matter, with times before `now`. */
  text(now: number): string {
    const all = [this.#set, ...this.#uses.map(({ set }) => set)].flatMap(worstOf)
    const longest = Math.max(...all.map(({ windowUs, units, unitsPerUs }) => windowUs || units / unitsPerUs))
    const recent = this.#uses.filter(({ at }) => at > now - longest)
    const stirred = this.#stirred.length > 0 ? ' stirred' : ''
    const ages = recent
      .map(({ at, era, set }) => `${now - at}${era === this.#era ? '' : set === this.#set ? '*' : '+'}`)
      .join()
    return ages + stirred
  }
}

function worstIn(set: LimitSet, { stateId }: Worst): Worst | undefined {
  return worstOf(set).find((worst) => worst.stateId === stateId)
}

function overIn(uses: readonly Use[], { units, windowUs, unitsPerUs }: Worst): string | undefined {
  const newest = uses.at(-1)
  if (!newest) return undefined
  if (windowUs > 0) {
    const inside = uses.filter(({ at }) => at > newest.at - windowUs).length
    return inside > units ? `${inside} in a window, bound ${units}` : undefined
  }
  // The level that the newest of them reaches, counted from each of them on.
  const level = Math.max(...uses.map(({ at }, i) => uses.length - i - unitsPerUs * (newest.at - at)))
  // A level is kept in parts of a unit, so it is a little off.
  return level > units + 1e-6 ? `a level of ${level} in a bucket of ${units}` : undefined
}
