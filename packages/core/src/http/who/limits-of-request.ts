import { chain, type MaybePromise, quiet } from '../../base/promises.js'
import { show, TollgateError } from '../../base/errors.js'
import { internalsOf } from '../../limiter/internals.js'
import type { Limiter } from '../../limiter/limiter.js'
import type { OwnLimits } from '../../plans/own-limits.js'
import type { Subject } from '../../plans/subject.js'
import { withLimits } from '../../requests/subject/address.js'
import { isNone } from '../../requests/subject/subject.js'

/** The limits of a request, of the subject that pays; undefined: those of its plan. */
export type LimitOf<Req> = (req: Req) => MaybePromise<OwnLimits | null | undefined>

type Subjects = readonly [Subject, ...Subject[]]

/** Gives the subject that pays the limits that a function of the request returns. */
export class LimitsOfRequest<Req> {
  readonly #limitOf: LimitOf<Req>
  readonly #limiter: Limiter

  constructor(limitOf: LimitOf<Req>, limiter: Limiter) {
    this.#limitOf = limitOf
    this.#limiter = limiter
  }

  /**
   * @throws what the function throws, or a TollgateError ERR_TOLLGATE_SUBJECT when it gave nothing and there are no plans
   */
  apply(req: Req, subjects: Subjects): MaybePromise<Subjects> {
    return chain(this.#limitOf(req), (limits) => this.#with(limits, subjects))
  }

  #with(limits: OwnLimits | null | undefined, subjects: Subjects): Subjects {
    const [payer, ...others] = subjects
    if (!isNone(limits)) return [withLimits(payer, limits), ...others]
    if (!isNone(payer.limits) || internalsOf(this.#limiter).planNames()?.length !== 0) return subjects
    quiet(limits)
    const expected = "limits such as '40/min' or ['40/min', '1000/day'], or 'unlimited'"
    const remedy = 'for the plan of the subject give plans, too'
    throw new TollgateError(
      'ERR_TOLLGATE_SUBJECT',
      `limit: the function gave ${show(limits)}, expected ${expected}; ${remedy}`,
    )
  }
}

/** The option `limit`, if it is a function of the request. */
export function limitOfRequest<Req>({ limit }: { readonly limit?: unknown }): LimitOf<Req> | undefined {
  return typeof limit === 'function' ? (limit as LimitOf<Req>) : undefined
}
