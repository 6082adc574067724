import type { Decision } from '../../limiter/decision/decision.js'
import { limitsOf } from '../../limiter/settle/settlement.js'
import { seconds } from '../headers/header-values.js'
import { mediaTypeFor, problemOf, renderProblem, type ProblemType, type Rendered } from './problem.js'
import type { Retry } from './retry.js'
import { LONGEST_WAIT_IN_WORDS_MS } from './words.js'

/** Far more than a flood needs: one for each second of its wait. When there are more, all are forgotten. */
const MOST_BODIES = 500
const MOST_TYPES = 100
/** Longer Accept headers are read each time, so that clients cannot fill the memory with them. */
const LONGEST_KEPT = 200

/**
 * Renders the denials of one place. Bodies are kept by all that they depend on, so that denying a flood of requests
 * costs little.
 */
export class DenialBodies {
  readonly #namePlan: boolean | undefined
  #ofLimits = new WeakMap<object, Map<string, Rendered>>()
  #size = 0
  readonly #types = new Map<string, ProblemType>()

  /** @param namePlan whether the text may contain the name of the plan */
  constructor(namePlan: boolean | undefined) {
    this.#namePlan = namePlan
  }

  /**
   * @param retry  undefined when waiting would not help
   * @param accept the request's Accept header
   */
  render(decision: Decision, retry: Retry | undefined, accept: string | undefined): Rendered {
    const type = this.#typeFor(accept)
    const limits = retry && isKept(decision, retry) ? limitsOf(decision) : undefined
    if (!limits) return renderProblem(problemOf(decision, retry, this.#namePlan), type)
    const key = `${seconds((retry as Retry).waitMs)} ${decision.cost} ${type} ${decision.violated[0]}`
    const known = this.#ofLimits.get(limits)?.get(key)
    if (known) return known
    const made = renderProblem(problemOf(decision, retry, this.#namePlan), type)
    this.#keep(limits, key, made)
    return made
  }

  #keep(limits: object, key: string, made: Rendered): void {
    if (this.#size >= MOST_BODIES) {
      this.#ofLimits = new WeakMap()
      this.#size = 0
    }
    this.#size += 1
    const bodies = this.#ofLimits.get(limits) ?? new Map<string, Rendered>()
    this.#ofLimits.set(limits, bodies.set(key, made))
  }

  #typeFor(accept: string | undefined): ProblemType {
    if (accept === undefined || accept.length > LONGEST_KEPT) return mediaTypeFor(accept)
    const known = this.#types.get(accept)
    if (known !== undefined) return known
    if (this.#types.size >= MOST_TYPES) this.#types.clear()
    const type = mediaTypeFor(accept)
    this.#types.set(accept, type)
    return type
  }
}

/**
 * Whether the body depends only on the decision's limits, the one that denied, the cost and the seconds to wait. The
 * text of a longer wait is a date. Limits that the store did not decide have no array that is the same each time.
 */
function isKept({ reason, limits, violated }: Decision, { waitMs }: Retry): boolean {
  return (
    reason === 'quota-exceeded' &&
    limits.length > 0 &&
    violated.length === 1 &&
    waitMs <= LONGEST_WAIT_IN_WORDS_MS
  )
}
