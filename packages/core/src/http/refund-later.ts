import { thrownText } from '../base/rare-warnings.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import type { Decision } from '../limiter/decision.js'
import { internalsOf } from '../limiter/internals.js'
import type { Limiter } from '../limiter/limiter.js'
import type { HttpAdapter, ResponseEnd } from './adapter.js'

/** A request and its response. */
export interface Exchange<Req, Res> {
  readonly req: Req
  readonly res: Res
}

/** `refundWhen` of the options. */
type RefundWhen<Req, Res> = (end: ResponseEnd, req: Req, res: Res) => MaybePromise<boolean>

/**
 * Gives units back when the response is over and the decision known, whichever comes later: a client can leave.
 *
 * @returns what is to be told the decision
 */
export function refundLater<Req extends object, Res>(
  adapter: HttpAdapter<Req, Res>,
  limiter: Limiter,
  refundWhen: RefundWhen<Req, Res>,
  { req, res }: Exchange<Req, Res>,
): (decision: Decision) => void {
  let ended: ResponseEnd | undefined
  let decided: Decision | undefined
  const settle = async (): Promise<void> => {
    if (!ended || !decided?.allowed) return
    try {
      if (await refundWhen(ended, req, res)) await limiter.refund(decided)
    } catch (error) {
      // The response is gone: there is no other way left to tell of it.
      internalsOf(limiter).warnRarely('TOLLGATE_REFUND', `refundWhen threw: ${thrownText(error)}`)
    }
  }
  adapter.onEnd(res, (end) => {
    ended = end
    void settle()
  })
  return (decision) => {
    decided = decision
    void settle()
  }
}
