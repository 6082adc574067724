import type { MaybePromise } from '../base/promises.js'
import type { Decision } from '../limiter/decision/decision.js'
import { internalsOf } from '../limiter/internals.js'
import type { Limiter } from '../limiter/limiter.js'
import type { HttpAdapter } from './adapter.js'
import { DenialAnswers } from './answers/denial-answers.js'
import { headerWriter, RATE_LIMIT_HEADERS, type HeaderWriter } from './headers/headers.js'
import type { RateLimitOptions } from './options.js'

/** Writes decisions where the application and the client read them: on the request, and into the response. */
export class Responses<Req, Res> {
  readonly #adapter: HttpAdapter<Req, Res>
  readonly #property: string
  readonly #writeHeaders: HeaderWriter<Res>
  readonly #denials: DenialAnswers<Req, Res>

  /** @param options checked before */
  constructor(adapter: HttpAdapter<Req, Res>, options: RateLimitOptions<Req, Res>, limiter: Limiter) {
    this.#adapter = adapter
    this.#property = options.requestProperty ?? 'rateLimit'
    this.#writeHeaders = headerWriter(options.headers, internalsOf(limiter).hide)
    this.#denials = new DenialAnswers(adapter, options)
  }

  /** Returns whether the request continues. If it does not, it was answered. */
  write(req: Req, res: Res, decision: Decision): MaybePromise<boolean> {
    const adapter = this.#adapter
    adapter.attach(req, decision, this.#property)
    if (adapter.isSent(res)) return decision.allowed
    this.#writeHeaders(decision, adapter, res)
    return decision.allowed || this.#denials.answer(req, res, decision)
  }

  /** Removes the headers of a decision that another is put in place of, which may have fewer. */
  clear(res: Res): void {
    const adapter = this.#adapter
    if (adapter.isSent(res)) return
    for (const name of RATE_LIMIT_HEADERS) adapter.removeHeader(res, name)
  }
}
