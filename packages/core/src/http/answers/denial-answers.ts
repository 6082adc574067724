import { chain, isPromise, type MaybePromise } from '../../base/promises.js'
import type { Decision } from '../../limiter/decision/decision.js'
import type { HttpAdapter } from '../adapter.js'
import { writeDenial } from './answer.js'
import { DenialBodies } from './denial-bodies.js'
import type { RateLimitOptions } from '../options.js'
import { renderBody, statusOf } from './problem.js'
import { retryOf } from './retry.js'

type OnDenied<Req, Res> = NonNullable<RateLimitOptions<Req, Res>['onDenied']>

interface Denied<Req, Res> {
  readonly req: Req
  readonly res: Res
  readonly decision: Decision
}

/** Answers denied requests: by Tollgate's problem details, by `body`, or by the user's `onDenied`. */
export class DenialAnswers<Req, Res> {
  readonly #adapter: HttpAdapter<Req, Res>
  readonly #options: RateLimitOptions<Req, Res>
  readonly #bodies: DenialBodies

  /** @param options checked before */
  constructor(adapter: HttpAdapter<Req, Res>, options: RateLimitOptions<Req, Res>) {
    this.#adapter = adapter
    this.#options = options
    this.#bodies = new DenialBodies(options.namePlan)
  }

  /** Returns false: the request does not continue. */
  answer(req: Req, res: Res, decision: Decision): MaybePromise<boolean> {
    const adapter = this.#adapter
    const { onDenied, body } = this.#options
    const retry = retryOf(decision, this.#options)
    writeDenial(retry, adapter, res)
    if (onDenied) return this.#leaveTo(onDenied, { req, res, decision })
    if (!body) {
      const made = this.#bodies.render(decision, retry, adapter.header(req, 'accept'))
      adapter.end(res, { status: made.status, contentType: made.contentType, body: made.body, decision })
      return false
    }
    return chain(body(decision, req), (made) => {
      if (!adapter.isSent(res)) adapter.end(res, { ...renderBody(statusOf(decision), made), decision })
      return false
    })
  }

  /** An error is no denial, so its answer must not begin with the status of one. */
  #leaveTo(onDenied: OnDenied<Req, Res>, { req, res, decision }: Denied<Req, Res>): MaybePromise<boolean> {
    const preset = statusOf(decision)
    const before = this.#adapter.setStatus(res, preset)
    const fail = (error: unknown): never => {
      const status = this.#adapter.setStatus(res, before)
      if (status !== preset) this.#adapter.setStatus(res, status)
      throw error
    }
    const conclude = (returned: unknown): boolean => {
      this.#adapter.sendReturned?.(res, returned)
      return false
    }
    try {
      const returned = onDenied(req, res, decision)
      return isPromise(returned) ? Promise.resolve(returned).then(conclude).catch(fail) : conclude(returned)
    } catch (error) {
      return fail(error)
    }
  }
}
