import type { Receipt, Usage } from '../../algorithms/implementation.js'
import type { LimitOutcome } from '../contract.js'
import type { PreparedLimit } from './prepared-set.js'

/** An outcome that is still being filled in. */
export type LimitOutcomeDraft = { -readonly [Name in keyof LimitOutcome]: LimitOutcome[Name] }

/** The limits of one subject, with their states as of now. */
export class LoadedLimits {
  protected limits: readonly PreparedLimit[] = []

  get limitCount(): number {
    return this.limits.length
  }

  /** Puts in an outcome for each limit, with the µs until the cost fits. Returns whether it fits all of them now. */
  wait(cost: number, outcomes: LimitOutcomeDraft[], first: number): boolean {
    const limits = this.limits
    let fits = true
    for (let i = 0; i < limits.length; i += 1) {
      const { algorithm, state, params } = limits[i] as PreparedLimit
      const wait = algorithm.wait(state, cost, params)
      outcomes[first + i] = { wait, remaining: 0, reset: 0 }
      if (wait !== 0) fits = false
    }
    return fits
  }

  /** How many units fit all limits now. */
  fitting(): number {
    let least = Number.MAX_SAFE_INTEGER
    for (const { algorithm, state, params } of this.limits) {
      least = Math.min(least, algorithm.remaining(state, params))
    }
    return least
  }

  take(cost: number): void {
    const limits = this.limits
    for (let i = 0; i < limits.length; i += 1) {
      const { algorithm, state, params } = limits[i] as PreparedLimit
      algorithm.take(state, cost, params)
    }
  }

  /** Takes from each limit the units used of it. Returns how many were taken from each. */
  force(used: readonly (readonly Usage[])[]): number[] {
    return this.limits.map(({ algorithm, state, params }, i) => {
      const own = used[i] ?? []
      if (own.length > 0) return algorithm.force(state, own, params)
      algorithm.take(state, 0, params)
      return 0
    })
  }

  /** Whether a stored state is from a limit so different that this set cannot give units back to it. */
  isOther(): boolean {
    return this.limits.some(({ algorithm, state, params }) => algorithm.isOther?.(state, params))
  }

  /** Gives units back to each limit. Returns whether any were given. */
  give(receipts: readonly Receipt[]): boolean {
    let anyGiven = false
    for (const [i, { algorithm, state, params }] of this.limits.entries()) {
      const receipt = receipts[i]
      if (receipt === undefined || receipt.units === 0) algorithm.take(state, 0, params)
      else if (algorithm.give(state, receipt, params)) anyGiven = true
    }
    return anyGiven
  }

  /** Fills in its outcomes, which begin at `first`. */
  tell(outcomes: LimitOutcomeDraft[], first: number): void {
    const limits = this.limits
    for (let i = 0; i < limits.length; i += 1) {
      const { algorithm, state, params } = limits[i] as PreparedLimit
      const outcome = outcomes[first + i] as LimitOutcomeDraft
      const remaining = algorithm.remaining(state, params)
      outcome.remaining = remaining
      outcome.reset = Math.max(algorithm.wait(state, remaining + 1, params), 0)
    }
  }
}
