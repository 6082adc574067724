import { LruMap } from '../../base/caches.js'
import { steadyMs } from '../../base/clocks.js'
import { ConfigError, TollgateError, isA, show } from '../../base/errors.js'
import { givenOf, needOptions, type Given, isOptions, isWhole } from '../../base/options.js'
import { isPromise, type MaybePromise, quiet } from '../../base/promises.js'
import { clearTimeout, pause, setTimeout } from '../../base/timers.js'
import { thrownText } from '../../base/warnings.js'
import type { OwnLimits } from '../../plans/own-limits.js'
import type { Plan } from '../../plans/plan.js'
import type { Subject } from '../../plans/subject.js'
import { type HideId, subjectKey } from '../key.js'
import { isNone } from '../subject/subject.js'

/** A subject whose plan is looked up. Its id is a string, even if it was given as a number. */
export interface PlanlessSubject extends Subject {
  readonly id: string
}

/**
 * Returns the name of a subject's plan, or its own limits, for example from a database. Null or undefined means the default
 * plan. Not called for client addresses, which are on the default plan.
 */
export type PlanOf = (subject: PlanlessSubject) => MaybePromise<PlanAnswer>

/** An answer of `planOf`. */
interface KnownAnswer {
  readonly subject: Subject
  readonly plan: FoundPlan
  readonly freshUntil: number
  readonly usableUntil: number
}

/** After a failed look-up, the subject is not looked up again for this long, in ms. */
const RETRY_AFTER_MS = 1000
/** Hashing an id takes some µs. */
const TRIED_AT_ONCE = 500

/** What a look-up needs from its resolver. */
export interface PlanLookupHost {
  /**
   * Reads an answer of `planOf`.
   *
   * @throws {TollgateError} ERR_TOLLGATE_PLAN
   */
  readonly read: (given: unknown) => FoundPlan
  /** Called for each failed look-up. */
  readonly onError: (error: TollgateError, subject: Subject) => void
}

/**
 * Looks up plans and remembers the answers. Concurrent requests of one subject share a look-up. If a look-up fails or takes
 * too long, the previous answer stays.
 */
export class PlanLookup {
  readonly #planOf: PlanOf
  readonly #host: PlanLookupHost
  readonly #options: ReturnType<typeof readCacheOptions>
  readonly #answers: LruMap<KnownAnswer>
  readonly #underWay = new Map<string, { readonly subject: Subject; readonly promise: Promise<FoundPlan> }>()

  /** @throws {ConfigError} when an option is wrong */
  constructor(planOf: PlanOf, options: PlanCacheOptions, host: PlanLookupHost) {
    if (typeof planOf !== 'function') {
      const expected = 'a function that returns the name of a plan, or a promise of it: ({ id }) => ...'
      throw ConfigError.wrongSecret('planOf', planOf, expected)
    }
    this.#options = readCacheOptions(options)
    this.#answers = new LruMap(this.#options.maxSubjects)
    this.#planOf = planOf
    this.#host = host
  }

  /** The plan, as a value if it is known. Never throws or rejects. */
  find(subject: Subject): MaybePromise<FoundPlan> {
    const key = subjectKey(subject)
    const entry = this.#answers.get(key)
    const now = steadyMs()
    if (entry && now < entry.usableUntil) {
      this.#answers.use(key, entry)
      if (now >= entry.freshUntil) void this.#lookUp(key, subject, entry)
      return entry.plan
    }
    return this.#lookUp(key, subject, entry)
  }

  /**
   * Asks `planOf` again, and remembers the answer.
   *
   * @throws {TollgateError} ERR_TOLLGATE_PLAN when it fails or takes too long
   */
  async ask(subject: Subject): Promise<FoundPlan> {
    try {
      const given = this.#planOf({ ...subject, id: String(subject.id) })
      const plan = isPromise(given) ? await this.#within(given) : this.#host.read(given)
      return this.#keep(subjectKey(subject), subject, plan)
    } catch (error) {
      throw planErrorOf(error)
    }
  }

  /** The last answer, if it is still remembered. */
  last(subject: Subject): FoundPlan {
    return this.#answers.get(subjectKey(subject))?.plan
  }

  /** Forgets a subject's plan, for example after an upgrade: the next request of the subject looks it up again. */
  forget(subject: Subject): void {
    this.#forgetUnder(subjectKey(subject))
  }

  /** As `forget`, for the subject whose keys begin like this. If ids are hidden, all that are known have to be tried. */
  async forgetKey(hidden: string, hide: HideId | undefined): Promise<void> {
    if (!hide) return this.#forgetUnder(hidden)
    for (const [key, { subject }] of this.#underWay) {
      if (subjectKey(subject, hide) === hidden) this.#underWay.delete(key)
    }
    let tried = 0
    for (const [key, { subject }] of this.#answers.entries()) {
      if (subjectKey(subject, hide) === hidden) return this.#forgetUnder(key)
      tried += 1
      if (tried % TRIED_AT_ONCE === 0) await pause(0)
    }
  }

  forgetAll(): void {
    this.#answers.clear()
    this.#underWay.clear()
  }

  #forgetUnder(key: string): void {
    this.#answers.delete(key)
    // A pending look-up may have read the database before the change.
    this.#underWay.delete(key)
  }

  #lookUp(key: string, subject: Subject, known: KnownAnswer | undefined): MaybePromise<FoundPlan> {
    const underWay = this.#underWay.get(key)
    if (underWay) return underWay.promise
    let given
    try {
      given = this.#planOf({ ...subject, id: String(subject.id) })
      if (!isPromise(given)) return this.#keep(key, subject, this.#host.read(given))
    } catch (error) {
      return this.#fail(key, subject, known, error)
    }
    const promise: Promise<FoundPlan> = this.#within(given).then(
      (plan) => (this.#end(key, promise) ? this.#keep(key, subject, plan) : plan),
      (error: unknown) => {
        if (this.#end(key, promise)) return this.#fail(key, subject, known, error)
        this.#host.onError(planErrorOf(error), subject)
        return known?.plan
      },
    )
    this.#underWay.set(key, { subject, promise })
    return promise
  }

  /** Ends a look-up. Returns false if the subject was forgotten or looked up again meanwhile. */
  #end(key: string, promise: Promise<unknown>): boolean {
    return this.#underWay.get(key)?.promise === promise && this.#underWay.delete(key)
  }

  async #within(given: Promise<unknown>): Promise<FoundPlan> {
    const { deadlineMs } = this.#options
    let timer
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(planError(`planOf took longer than ${deadlineMs} ms`)), deadlineMs)
    })
    try {
      return this.#host.read(await Promise.race([given, late]))
    } finally {
      clearTimeout(timer)
    }
  }

  #keep(key: string, subject: Subject, plan: FoundPlan): FoundPlan {
    const { ttlMs, staleMs } = this.#options
    const freshUntil = steadyMs() + ttlMs
    this.#answers.use(key, { subject, plan, freshUntil, usableUntil: freshUntil + staleMs })
    return plan
  }

  #fail(key: string, subject: Subject, known: KnownAnswer | undefined, error: unknown): FoundPlan {
    const freshUntil = steadyMs() + RETRY_AFTER_MS
    const usableUntil = known ? freshUntil + this.#options.staleMs : freshUntil
    this.#answers.use(key, { subject, plan: known?.plan, freshUntil, usableUntil })
    this.#host.onError(planErrorOf(error), subject)
    return known?.plan
  }
}

/** How answers of `planOf` are remembered. */
export interface PlanCacheOptions {
  /** How long an answer is used without asking again, in ms. Default: 60 000. */
  readonly ttlMs?: number | undefined
  /** How much longer an answer may be used while a new one is looked up in the background, in ms. Default: 3 600 000. */
  readonly staleMs?: number | undefined
  /** For how many subjects answers are remembered. The one unused longest is forgotten first. Default: 10 000. */
  readonly maxSubjects?: number | undefined
  /** How long a request waits for a look-up, in ms. Default: 1000. */
  readonly deadlineMs?: number | undefined
}

const DEFAULTS = { ttlMs: 60_000, staleMs: 3_600_000, maxSubjects: 10_000, deadlineMs: 1000 }

const LIMITS = {
  ttlMs: [0, 86_400_000],
  staleMs: [0, 86_400_000],
  maxSubjects: [1, 1e7],
  deadlineMs: [1, 60_000],
}

export function readCacheOptions(options: PlanCacheOptions): Required<Given<PlanCacheOptions>> {
  needOptions(options, Object.keys(DEFAULTS), 'planCache')
  const all = { ...DEFAULTS, ...givenOf(options) }
  for (const [name, [least, most]] of Object.entries(LIMITS) as [keyof typeof LIMITS, [number, number]][]) {
    const value = all[name]
    if (isWhole(value, least, most)) continue
    throw ConfigError.wrong(
      `planCache.${name}`,
      value,
      `a whole number from ${least} to ${most}, such as ${DEFAULTS[name]}`,
    )
  }
  return all
}

/** What `planOf` may return: the name of a plan, own limits, or nothing for the default plan. */
export type PlanAnswer = string | { readonly limits: OwnLimits | null | undefined } | null | undefined

/** What is found for a subject: the name of its plan, or its own limits as a plan; undefined if nothing. */
export type FoundPlan = string | Plan | undefined

/**
 * @param ofLimits compiles limits
 * @throws {TollgateError} ERR_TOLLGATE_PLAN when `planOf` returned anything but a name, limits or nothing
 */
export function readPlan(given: unknown, ofLimits: (limits: unknown) => Plan): FoundPlan {
  if (given === undefined || given === null || typeof given === 'string') return given ?? undefined
  if (isOptions(given) && Object.keys(given).join() === 'limits') {
    const { limits } = given as { readonly limits: unknown }
    return isNone(limits) ? undefined : ofLimits(limits)
  }
  quiet(given)
  const expected = "the name of a plan, such as row.plan, limits, such as { limits: ['40/min'] }, or nothing"
  throw planError(`planOf returned ${show(given)}, expected ${expected}`)
}

export function planError(message: string, options?: ErrorOptions): TollgateError {
  return new TollgateError('ERR_TOLLGATE_PLAN', message, options)
}

function planErrorOf(thrown: unknown): TollgateError {
  return isA(thrown, TollgateError)
    ? thrown
    : planError(`planOf failed: ${thrownText(thrown)}`, { cause: thrown })
}
