import { ConfigError, type TollgateError } from '../../base/errors.js'
import { LruMap } from '../../base/caches.js'
import { isPromise, type MaybePromise } from '../../base/promises.js'
import { subjectKey } from '../key.js'
import type { Subject } from '../../plans/subject.js'
import { steadyMs } from '../../base/clocks.js'
import { clearTimeout, setTimeout } from '../../base/timers.js'
import { planError, planErrorOf, type Found, type PlanAnswer } from './plan-answer.js'
import { readCacheOptions, type PlanCacheOptions } from './plan-cache-options.js'

/** A subject whose plan is looked up. Its id is text, even if it was given as a number. */
export interface PlanlessSubject extends Subject {
  readonly id: string
}

/**
 * Returns the name of a subject's plan, or its own limits, for example from a database; null or undefined: the default plan.
 * Not called for client addresses, which are on the default plan.
 */
export type PlanOf = (subject: PlanlessSubject) => MaybePromise<PlanAnswer>

interface Entry {
  readonly plan: Found
  readonly freshUntil: number
  readonly usableUntil: number
}

/** After a failed look-up, the subject is not looked up again for this long, in ms. */
const RETRY_AFTER_MS = 1000

/** What a look-up needs of its resolver. */
export interface PlanLookupHost {
  /**
   * Reads an answer of `planOf`.
   *
   * @throws {TollgateError} ERR_TOLLGATE_PLAN
   */
  readonly read: (given: unknown) => Found
  /** Called for each failed look-up. */
  readonly onError: (error: TollgateError, subject: Subject) => void
}

/**
 * Looks plans up and remembers the answers. Concurrent requests of one subject share one look-up. After a look-up that
 * failed or was late, the previous answer stays.
 */
export class PlanLookup {
  readonly #planOf: PlanOf
  readonly #host: PlanLookupHost
  readonly #options: ReturnType<typeof readCacheOptions>
  readonly #entries: LruMap<Entry>
  readonly #underWay = new Map<string, Promise<Found>>()

  /** @throws {ConfigError} when an option is wrong */
  constructor(planOf: PlanOf, options: PlanCacheOptions, host: PlanLookupHost) {
    if (typeof planOf !== 'function') {
      const expected = 'a function that gives the name of a plan, or a promise of it: ({ id }) => ...'
      throw ConfigError.wrongSecret('planOf', planOf, expected)
    }
    this.#options = readCacheOptions(options)
    this.#entries = new LruMap(this.#options.maxSubjects)
    this.#planOf = planOf
    this.#host = host
  }

  /** The plan, as a value if it is known. Never throws or rejects. */
  find(subject: Subject): MaybePromise<Found> {
    const key = subjectKey(subject)
    const entry = this.#entries.get(key)
    const now = steadyMs()
    if (entry && now < entry.usableUntil) {
      this.#entries.use(key, entry)
      if (now >= entry.freshUntil) void this.#lookUp(key, subject, entry)
      return entry.plan
    }
    return this.#lookUp(key, subject, entry)
  }

  /** The last answer, as far as it is remembered. */
  last(subject: Subject): Found {
    return this.#entries.get(subjectKey(subject))?.plan
  }

  /** Forgets a subject's plan, for example after an upgrade: the next request of the subject looks it up again. */
  forget(subject: Subject): void {
    const key = subjectKey(subject)
    this.#entries.delete(key)
    // A pending look-up may have read the database before the change.
    this.#underWay.delete(key)
  }

  #lookUp(key: string, subject: Subject, known: Entry | undefined): MaybePromise<Found> {
    const underWay = this.#underWay.get(key)
    if (underWay) return underWay
    let given
    try {
      given = this.#planOf({ ...subject, id: String(subject.id) })
      if (!isPromise(given)) return this.#keep(key, this.#host.read(given))
    } catch (error) {
      return this.#fail(key, subject, known, error)
    }
    const promise: Promise<Found> = this.#within(given).then(
      (plan) => (this.#end(key, promise) ? this.#keep(key, plan) : plan),
      (error: unknown) => {
        if (this.#end(key, promise)) return this.#fail(key, subject, known, error)
        this.#host.onError(planErrorOf(error), subject)
        return known?.plan
      },
    )
    this.#underWay.set(key, promise)
    return promise
  }

  /** Ends a look-up. Returns false if the subject was forgotten or looked up again meanwhile. */
  #end(key: string, promise: Promise<unknown>): boolean {
    return this.#underWay.get(key) === promise && this.#underWay.delete(key)
  }

  async #within(given: Promise<unknown>): Promise<Found> {
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

  #keep(key: string, plan: Found): Found {
    const { ttlMs, staleMs } = this.#options
    const freshUntil = steadyMs() + ttlMs
    this.#entries.use(key, { plan, freshUntil, usableUntil: freshUntil + staleMs })
    return plan
  }

  #fail(key: string, subject: Subject, known: Entry | undefined, error: unknown): Found {
    const freshUntil = steadyMs() + RETRY_AFTER_MS
    const usableUntil = known ? freshUntil + this.#options.staleMs : freshUntil
    this.#entries.use(key, { plan: known?.plan, freshUntil, usableUntil })
    this.#host.onError(planErrorOf(error), subject)
    return known?.plan
  }
}
