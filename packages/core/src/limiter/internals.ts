import { onceAMinute, warn, type Warn } from '../base/warnings.js'
import type { MaybePromise } from '../base/promises.js'
import type { Subject } from '../plans/subject.js'
import type { HideId } from '../requests/key.js'
import type { Decision } from './decision/decision.js'
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

/** What other parts of Tollgate need to know about a limiter, and users do not. */
export interface Internals {
  /** Hashes ids; undefined without `hashIds`. */
  readonly hide: HideId | undefined
  /** Emits a warning; does nothing with `warnings: false`. */
  readonly warn: Warn
  /** The same, but each code at most once a minute: for failures that can happen at every request. */
  readonly warnRarely: Warn
  /** Whether a request can wait in line, so that it is worth knowing when its client leaves. */
  readonly canWait: () => boolean
  /** The names of all plans as of now; undefined when they are not known. */
  readonly planNames: () => readonly string[] | undefined
  /** The name of the plan that applies to a subject, without any event. `planOf` is asked as for a decision. */
  readonly planOf: (subject: Subject) => MaybePromise<string | undefined>
  /**
   * The consumer for requests that `outer` has let in and that `own` holds to more limits, or to a group. Undefined where
   * it is not known what a consumer counts.
   */
  readonly onTop: ((outer: Consumer, own: Consumer) => Consumer) | undefined
  /** Has a consumer decide a request anew. Returns the first decision if that has taken all already. */
  readonly amend: (consumer: Consumer, amended: Amended) => MaybePromise<Decision>
  /** Counts and emits that a request was refused since the process is overloaded. */
  readonly shed: (shed: Shed) => void
}

/** A registered symbol, since a process that loads both the ESM and the CommonJS build has each class twice. */
export const INTERNALS = Symbol.for('tollgate.internals')

export function internalsOf(limiter: Limiter): Internals {
  return (limiter as { readonly [INTERNALS]?: Internals })[INTERNALS] ?? NONE
}

/** For an object that is not our limiter, such as a user's wrapper around one. */
const NONE: Internals = {
  hide: undefined,
  warn,
  warnRarely: onceAMinute(warn),
  planNames: () => undefined,
  planOf: ({ plan }) => plan ?? undefined,
  shed: () => {},
  canWait: () => false,
  onTop: undefined,
  async amend(consumer, { limiter, first, subjects, options }) {
    await limiter.refund(first)
    first.release()
    return consumer.consume(subjects, options)
  },
}
