import { thrownText } from '../base/warnings.js'
import type { MaybePromise } from '../base/promises.js'
import type { Decision } from '../limiter/decision/decision.js'
import { internalsOf } from '../limiter/internals.js'
import type { Limiter } from '../limiter/limiter.js'
import { hasSlots } from '../limiter/decision/slots-of-decisions.js'
import type { HttpAdapter, ResponseEnd } from './adapter.js'
import { isReplaced, replacing } from './decisions.js'

/** A request and its response. */
export interface Exchange<Req, Res> {
  readonly req: Req
  readonly res: Res
}

/** `refundWhen` of the options. */
type RefundWhen<Req, Res> = (end: ResponseEnd, req: Req, res: Res) => MaybePromise<boolean>

/**
 * Gives units back once the response is over and the decision is known. Either can come first: the client may
 * disconnect before the decision.
 *
 * @returns call it with the decision
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
    // The client may leave while a route asks for more: only the decision that comes of it is asked about.
    const pending = replacing(decided)
    if (pending) await pending
    if (isReplaced(decided)) return
    try {
      if (await refundWhen(ended, req, res)) await limiter.refund(decided)
    } catch (error) {
      // The response is over, so an error handler can do nothing: a warning is the only way to report it.
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

/** Gives the slots of a request back once its response is over: at once, if it is over already. */
export function releaseLater<Req, Res>(adapter: HttpAdapter<Req, Res>, decision: Decision, res: Res): void {
  if (hasSlots(decision)) adapter.onEnd(res, () => void decision.release())
}
