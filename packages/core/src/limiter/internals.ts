import { onceAMinute, warn, type Warn } from '../base/warnings.js'
import type { MaybePromise } from '../base/promises.js'
import type { KnownPlan } from '../plans/plans.js'
import type { Subject } from '../plans/subject.js'
import type { HideId } from '../requests/key.js'
import type { Decision } from './decision/decision.js'
import type { Look } from './look.js'
import type { Shed } from './report/events.js'
import type { ConsumeOptions, Consumer, Limiter } from './limiter.js'

/** A request that was let in, and what it asks for in all. */
export interface Amended {
  /** The limiter that let it in. */
  readonly limiter: Limiter
  readonly first: Decision
  readonly subjects: readonly Subject[]
  readonly options: ConsumeOptions
}

/** What Tollgate's adapters need to know about a limiter, and users do not. */
export interface Internals {
  /** The option `name`; undefined for a limiter without a name. */
  readonly name: string | undefined
  /** Hashes ids; undefined without `hashIds`. */
  readonly hide: HideId | undefined
  /** Emits a warning; does nothing with `warnings: false`. */
  readonly warn: Warn
  /** As `warn`, but each code at most once a minute: for failures that can happen at every request. */
  readonly warnRarely: Warn
  /** Whether a request can wait in line, so that it is worth knowing when its client leaves. */
  readonly canWait: () => boolean
  /** The names of all plans at this moment; undefined when they are not known. */
  readonly planNames: () => readonly string[] | undefined
  /** All plans at this moment; undefined when they are not known. */
  readonly plans: () => readonly KnownPlan[] | undefined
  /** The name of the plan that applies to a subject. Emits no events. `planOf` is asked as for a decision. */
  readonly planOf: (subject: Subject) => MaybePromise<string | undefined>
  /**
   * Makes the consumer for requests that `outer` has let in and for which `own` adds limits or names a group. Undefined
   * if it is not known what a consumer counts.
   */
  readonly onTop: ((outer: Consumer, own: Consumer) => Consumer) | undefined
  /** Has a consumer decide a request again. Returns the first decision if that has taken everything already. */
  readonly amend: (consumer: Consumer, amended: Amended) => MaybePromise<Decision>
  /**
   * Where subjects stand with a consumer. Takes nothing. Rejects if the store does not answer.
   *
   * @param behindBlock whether to look as if no rule blocked them. A block answers before any limit is asked
   */
  readonly look: (consumer: Consumer, subjects: readonly Subject[], behindBlock?: boolean) => Promise<Look>
  /** Counts and emits that a request was refused because the process is overloaded. */
  readonly shed: (shed: Shed) => void
}

/** A registered symbol, since a process that loads both the ESM and the CommonJS build has each class twice. */
export const INTERNALS = Symbol.for('tollgate.internals')

/** What a limiter shares with adapters. For another object, such as a wrapper around a limiter, it returns stand-ins. */
export function internalsOf(limiter: Limiter): Internals {
  return (limiter as { readonly [INTERNALS]?: Internals })[INTERNALS] ?? NONE
}

/** For an object that is not our limiter, such as a user's wrapper around one. */
const NONE: Internals = {
  name: undefined,
  hide: undefined,
  warn,
  warnRarely: onceAMinute(warn),
  planNames: () => undefined,
  plans: () => undefined,
  planOf: ({ plan }) => plan ?? undefined,
  shed: () => {},
  canWait: () => false,
  onTop: undefined,
  async look(consumer, subjects) {
    const decision = await consumer.peek(subjects, { onStoreFailure: 'throw' })
    const limits = decision.limits.map((limit) => ({ ...limit, timeZone: undefined }))
    const seen = { decision, limits, atMs: Date.now() }
    return decision.override ? { ...seen, override: { until: undefined } } : seen
  },
  async amend(consumer, { limiter, first, subjects, options }) {
    await limiter.refund(first)
    first.release()
    return consumer.consume(subjects, options)
  },
}
