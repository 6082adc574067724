import { ConfigError, isA, TollgateError } from '../../base/errors.js'
import { GenerationalCache } from '../../base/caches.js'
import { quiet } from '../../base/promises.js'
import { elapsedMs } from '../../base/timers.js'
import type { Warn } from '../../base/warnings.js'
import type { LimitDefaults } from '../../plans/limit/limit.js'
import { compileOwnLimits, contentFor, MOST_LIMITS } from '../../plans/own-limits.js'
import type { Plan } from '../../plans/plan.js'
import { copyInput } from '../../plans/plans.js'
import { planError } from './plan-lookup.js'

/** At least this many different limits are remembered, and at most twice as many. */
const MOST = 10_000
/** If that many were compiled in less than this time, subjects hardly ever bring the same limits again. */
const TURNOVER_MS = 600_000

type Texts = readonly [string, ...string[]]

/** A list of texts, without its first one. Flat, since each nested object costs another access to memory. */
interface Usual {
  readonly count: number
  readonly second: string | undefined
  readonly others: readonly string[]
  readonly plan: Plan
}

export interface OwnPlansOptions {
  /** As in parseLimit. */
  readonly defaults: LimitDefaults
  /**
   * Throws for limits that the store cannot count.
   *
   * @param path where the user wrote them, for the error
   */
  readonly check: (plan: Plan, path: string) => void
  readonly warn: Warn
}

/**
 * The limits that subjects bring. Each is compiled once: equal limits are one plan, whichever subject brings them. So what
 * other parts keep for each plan is bounded, too.
 */
export class OwnPlans {
  readonly #options: OwnPlansOptions
  readonly #known = new GenerationalCache<Plan>(MOST)
  /** The list of texts that was found last for each first text: looking up a text is faster than computing the content. */
  readonly #usual = new GenerationalCache<Usual>(MOST)
  #compiled = 0
  /** When the first of the latest MOST was compiled, in ms since the process started. */
  #sinceMs = 0
  #hasWarned = false

  constructor(options: OwnPlansOptions) {
    this.#options = options
  }

  /** @throws {TollgateError} ERR_TOLLGATE_SUBJECT when the limits are wrong, or the store cannot count them */
  ofSubject(limits: unknown): Plan {
    return this.#find(limits, (why) => new TollgateError('ERR_TOLLGATE_SUBJECT', `subject.${why}`))
  }

  /** @throws {TollgateError} ERR_TOLLGATE_PLAN when the limits are wrong, or the store cannot count them */
  ofAnswer(limits: unknown): Plan {
    return this.#find(limits, (why) => planError(`planOf: ${why}`))
  }

  /** @throws {ConfigError} when the limits are wrong, or the store cannot count them */
  ofRule(limits: unknown): Plan {
    return this.#read(limits)
  }

  #find(limits: unknown, errorFor: (why: string) => TollgateError): Plan {
    try {
      return this.#read(limits)
    } catch (error) {
      throw isA(error, ConfigError) ? errorFor(error.message) : error
    }
  }

  #read(limits: unknown): Plan {
    if (!isTexts(limits)) return this.#byContent(limits, contentFor(limits))
    const usual = this.#usual.refresh(limits[0])
    if (usual && isSame(limits, usual)) return usual.plan
    // The caller may change the list, and a getter in it may return something else each time.
    const copy: Texts = [...limits]
    const content = contentFor(copy)
    const plan = this.#byContent(copy, content)
    if (content !== undefined && copy.every((one) => typeof one === 'string')) {
      this.#usual.set(copy[0], { count: copy.length, second: copy[1], others: copy.slice(2), plan })
    }
    return plan
  }

  #byContent(limits: unknown, content: string | undefined): Plan {
    const known = content === undefined ? undefined : this.#known.refresh(content)
    if (known) return known
    if (content === undefined) return this.#make(limits, undefined)
    const copy = copyInput(limits)
    // If a getter returned something else this time, nothing is remembered: it would be found by the wrong content.
    return contentFor(copy) === content ? this.#make(copy, content) : this.#make(limits, undefined)
  }

  #make(limits: unknown, content: string | undefined): Plan {
    const { check, defaults } = this.#options
    try {
      const plan = compileOwnLimits(limits, defaults)
      check(plan, 'limits')
      if (content !== undefined) this.#known.set(content, plan)
      this.#count()
      return plan
    } catch (error) {
      quiet(limits)
      throw error
    }
  }

  /** The first MOST fill the cache. If as many others soon follow, the cache is of little use. */
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
      `Within ten minutes, subjects brought ${MOST} more limits that this process did not remember. It remembers ` +
        `${MOST}, and compiles any other each time. If you compute limits, round them: '100/min', not '99/min' now and ` +
        "'101/min' later. If only a few are in use, put subjects on plans.",
    )
  }
}

/** Whether it is a list that begins with a text. The others are compared with texts, so they may be anything. */
function isTexts(limits: unknown): limits is Texts {
  return Array.isArray(limits) && typeof limits[0] === 'string' && limits.length <= MOST_LIMITS
}

function isSame(given: Texts, { count, second, others }: Usual): boolean {
  if (given.length !== count || given[1] !== second) return false
  for (let i = 2; i < count; i += 1) if (given[i] !== others[i - 2]) return false
  return true
}
