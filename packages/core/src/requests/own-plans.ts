import { ConfigError, isA, TollgateError } from '../base/errors.js'
import { GenerationalCache } from '../base/generational-cache.js'
import { quiet } from '../base/quiet.js'
import { elapsedMs } from '../base/timers.js'
import type { Warn } from '../base/warnings.js'
import type { Algorithm } from '../plans/limit.js'
import { compileOwnLimits, contentOf } from '../plans/own-limits.js'
import type { Plan } from '../plans/plan.js'
import { planError } from './plan-answer.js'

/** The most different limits that are certainly remembered; twice as many may be. */
const MOST = 10_000
/** When so many were compiled in less than this time, they are not the same again and again. */
const TURNOVER_MS = 600_000

export interface OwnPlansOptions {
  /** As in parseLimit. */
  readonly defaultAlgorithm: Algorithm | undefined
  /**
   * Throws for limits that the store cannot count.
   *
   * @param path where they stand, for the error
   */
  readonly check: (plan: Plan, path: string) => void
  readonly warn: Warn
}

/**
 * The limits that subjects bring, each compiled once: equal ones are one plan, whoever brings them. So all that is kept of a
 * plan elsewhere is bounded, too.
 */
export class OwnPlans {
  readonly #options: OwnPlansOptions
  readonly #known = new GenerationalCache<Plan>(MOST)
  #compiled = 0
  /** When the last MOST of them began to be compiled, in ms since the process started. */
  #sinceMs = 0
  #hasWarned = false

  constructor(options: OwnPlansOptions) {
    this.#options = options
  }

  /** @throws {TollgateError} ERR_TOLLGATE_SUBJECT when the limits are wrong, or the store cannot count them */
  ofSubject(limits: unknown): Plan {
    try {
      return this.#find(limits)
    } catch (error) {
      throw isA(error, ConfigError)
        ? new TollgateError('ERR_TOLLGATE_SUBJECT', `subject.${error.message}`)
        : error
    }
  }

  /** @throws {TollgateError} ERR_TOLLGATE_PLAN when the limits are wrong, or the store cannot count them */
  ofAnswer(limits: unknown): Plan {
    try {
      return this.#find(limits)
    } catch (error) {
      throw isA(error, ConfigError) ? planError(`planOf gave ${error.message}`) : error
    }
  }

  #find(limits: unknown): Plan {
    const content = contentOf(limits)
    return (content === undefined ? undefined : this.#known.refresh(content)) ?? this.#make(limits, content)
  }

  #make(limits: unknown, content: string | undefined): Plan {
    const { check, defaultAlgorithm } = this.#options
    try {
      const plan = compileOwnLimits(limits, defaultAlgorithm)
      check(plan, 'limits')
      if (content !== undefined) this.#known.set(content, plan)
      this.#count()
      return plan
    } catch (error) {
      quiet(limits)
      throw error
    }
  }

  /** The first ones fill the cache. If as many others follow them soon, it is of little use. */
  #count(): void {
    this.#compiled += 1
    if (this.#compiled % MOST !== 0 || this.#hasWarned) return
    const now = elapsedMs()
    const isSoon = this.#compiled > MOST && now - this.#sinceMs < TURNOVER_MS
    this.#sinceMs = now
    if (!isSoon) return
    this.#hasWarned = true
    this.#options.warn(
      'TOLLGATE_LIMITS',
      `Subjects have brought ${MOST} more limits that this process did not remember, within ten minutes. It remembers ` +
        `${MOST}; each other one is compiled anew. Where limits are computed, round them: '100/min', not '99.7/min' of ` +
        'now. Where few are in use, put subjects on plans.',
    )
  }
}
