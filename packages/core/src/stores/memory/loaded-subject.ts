import { implementations, type AnyImplementation } from '../../algorithms/registry.js'
import type { Receipt, Usage } from '../../algorithms/implementation.js'
import type { CompiledLimit, LimitSet, Params } from '../../plans/limit-set.js'
import type { LimitOutcome } from '../contract.js'
import { partsOf, type Entry } from './entry.js'

/** An outcome that is still being filled in. */
export type LimitOutcomeDraft = { -readonly [Name in keyof LimitOutcome]: LimitOutcome[Name] }

const NOTHING: LimitSet = { limits: [], ttlMs: 0 }

/**
 * A subject's state as of now, for the limits of one set. The object is reused for every request, since garbage
 * collection of an object per request is expensive.
 */
export class LoadedSubject {
  key = ''
  set = NOTHING
  /** What the store keeps for the subject; undefined when nothing counts. */
  entry: Entry | undefined
  /** The state of each limit, in order. */
  states: readonly object[] = []
  /** Whether any of the limits has a stored state, and when the latest of those was written, in µs. */
  isKnown = false
  last = 0
  readonly #params: Params[] = []

  load(key: string, set: LimitSet, entry: Entry | undefined, now: number): void {
    this.key = key
    this.set = set
    this.entry = entry
    this.isKnown = entry !== undefined
    this.last = entry?.last ?? 0
    const { limits } = set
    let lasts: readonly number[] | undefined
    if (!entry) this.states = limits.map((limit) => algorithmOf(limit).create())
    else if (entry.set === set) this.states = entry.states
    else lasts = this.#find(entry)
    for (let i = 0; i < limits.length; i += 1) {
      const limit = limits[i] as CompiledLimit
      const params = (this.#params[i] = limit.paramsAt(now / 1000))
      const last = lasts?.[i] ?? (entry ? entry.last : now)
      algorithmOf(limit).load(this.states[i] as object, last, now, params)
    }
  }

  /** Adds one outcome per limit, with the µs until the cost fits. Returns whether it fits all of them now. */
  wait(cost: number, outcomes: LimitOutcomeDraft[]): boolean {
    let fits = true
    for (let i = 0; i < this.states.length; i += 1) {
      const wait = this.#algorithm(i).wait(this.states[i] as object, cost, this.#params[i] as Params)
      outcomes.push({ wait, remaining: 0, reset: 0 })
      if (wait !== 0) fits = false
    }
    return fits
  }

  /** How many units fit all limits now. */
  fitting(): number {
    let least = Number.MAX_SAFE_INTEGER
    for (let i = 0; i < this.states.length; i += 1) {
      least = Math.min(
        least,
        this.#algorithm(i).remaining(this.states[i] as object, this.#params[i] as Params),
      )
    }
    return least
  }

  take(cost: number): void {
    for (let i = 0; i < this.states.length; i += 1) {
      this.#algorithm(i).take(this.states[i] as object, cost, this.#params[i] as Params)
    }
  }

  /** Takes from each limit the units used of it. Returns how many were taken from each. */
  force(used: readonly (readonly Usage[])[]): number[] {
    return this.states.map((state, i) => {
      const own = used[i] ?? []
      if (own.length > 0) return this.#algorithm(i).force(state, own, this.#params[i] as Params)
      this.#algorithm(i).take(state, 0, this.#params[i] as Params)
      return 0
    })
  }

  /** Whether a stored state is from a limit so different that this set cannot give units back to it. */
  isOther(): boolean {
    return this.states.some((state, i) => this.#algorithm(i).isOther?.(state, this.#params[i] as Params))
  }

  /** Gives units back to each limit. Returns whether any were given. */
  give(receipts: readonly Receipt[]): boolean {
    let anyGiven = false
    for (let i = 0; i < this.states.length; i += 1) {
      const [state, params] = [this.states[i] as object, this.#params[i] as Params]
      const receipt = receipts[i]
      if (receipt === undefined || receipt.units === 0) this.#algorithm(i).take(state, 0, params)
      else if (this.#algorithm(i).give(state, receipt, params)) anyGiven = true
    }
    return anyGiven
  }

  /** Fills in its outcomes, which begin at `first`. Returns where the outcomes of the next subject begin. */
  tell(outcomes: LimitOutcomeDraft[], first: number): number {
    for (let i = 0; i < this.states.length; i += 1) {
      const algorithm = this.#algorithm(i)
      const [state, params] = [this.states[i] as object, this.#params[i] as Params]
      const outcome = outcomes[first + i] as LimitOutcomeDraft
      outcome.remaining = algorithm.remaining(state, params)
      outcome.reset = Math.max(algorithm.wait(state, outcome.remaining + 1, params), 0)
    }
    return first + this.states.length
  }

  #algorithm(i: number): AnyImplementation {
    return algorithmOf(this.set.limits[i] as CompiledLimit)
  }

  /**
   * Finds the states of the limits by state id among those that another set wrote, in the same order as the Redis
   * script. Returns when each was written, in µs.
   */
  #find(entry: Entry): number[] {
    const parts = [...partsOf(entry), ...entry.others]
    const ownCount = entry.states.length
    const taken = new Set<object>()
    const lasts: number[] = []
    let next = 0
    this.last = 0
    this.states = this.set.limits.map((limit) => {
      const isNext = next < ownCount && parts[next]?.stateId === limit.stateId
      const part = isNext ? parts[next] : parts.find(({ stateId }) => stateId === limit.stateId)
      next = isNext ? next + 1 : 0
      lasts.push(part?.last ?? entry.last)
      if (!part) return algorithmOf(limit).create()
      this.last = Math.max(this.last, part.last)
      // Two limits with the same state id must not share one state object.
      const state = taken.has(part.state) ? structuredClone(part.state) : part.state
      taken.add(part.state)
      return state
    })
    this.isKnown = taken.size > 0
    return lasts
  }
}

function algorithmOf({ algorithm }: CompiledLimit): AnyImplementation {
  return implementations[algorithm]
}
