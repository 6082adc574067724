import { implementations, type AnyImplementation } from '../../algorithms/registry.js'
import type { Receipt, Usage } from '../../algorithms/implementation.js'
import type { CompiledLimit, LimitSet, Params } from '../../plans/limit-set.js'
import type { LimitOutcome } from '../contract.js'
import { partsOf, type Entry } from './entry.js'

/** An outcome while it is made. */
export type LimitOutcomeDraft = { -readonly [Name in keyof LimitOutcome]: LimitOutcome[Name] }

const NOTHING: LimitSet = { limits: [], ttlMs: 0 }

/**
 * A subject as the limits of one set see it now. Made once and loaded for each request, since what every request makes
 * anew is dear to collect.
 */
export class LoadedSubject {
  key = ''
  set = NOTHING
  /** What is kept of it; undefined when nothing counts. */
  entry: Entry | undefined
  /** Of each limit, in order. */
  states: readonly object[] = []
  /** Whether something is kept of one of the limits, and when the latest of that was written, in µs. */
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

  /** Adds an outcome a limit, with what the cost has to wait. Returns whether it fits all of them. */
  wait(cost: number, outcomes: LimitOutcomeDraft[]): boolean {
    let fits = true
    for (let i = 0; i < this.states.length; i += 1) {
      const wait = this.#algorithm(i).wait(this.states[i] as object, cost, this.#params[i] as Params)
      outcomes.push({ wait, remaining: 0, reset: 0 })
      if (wait !== 0) fits = false
    }
    return fits
  }

  /** Units that fit all limits. */
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

  /** Takes of each limit what was used of it. Returns the units of each that were taken. */
  force(used: readonly (readonly Usage[])[]): number[] {
    return this.states.map((state, i) => {
      const own = used[i] ?? []
      if (own.length > 0) return this.#algorithm(i).force(state, own, this.#params[i] as Params)
      this.#algorithm(i).take(state, 0, this.#params[i] as Params)
      return 0
    })
  }

  /** Whether something was kept for limits so different that nothing can be given back by these. */
  isOther(): boolean {
    return this.states.some((state, i) => this.#algorithm(i).isOther?.(state, this.#params[i] as Params))
  }

  /** Gives units back to each limit. Returns whether there were any. */
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

  /** Says in outcomes, its own from `first` on, where each limit is. Returns where those of the next subject begin. */
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
   * What the limits find under their state ids in what another set has left, looked for in the order that the script for
   * Redis does. Returns when each was written.
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
      // Two limits of one id must not share what they go on from.
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
