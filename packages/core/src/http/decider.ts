import { ConfigError } from '../base/errors.js'
import { chain, isPromise, quiet, type MaybePromise } from '../base/promises.js'
import { thrownText } from '../base/warnings.js'
import { type Decision } from '../limiter/decision/decision.js'
import { hasSlots } from '../limiter/settle/settlement.js'
import { internalsOf, type Internals } from '../limiter/internals.js'
import type { Consumer, ConsumeOptions, Limiter } from '../limiter/limiter.js'
import type { Subject } from '../plans/subject.js'
import { needCost } from '../requests/request.js'
import type { HttpAdapter, ResponseEnd } from './adapter.js'
import { DenialAnswers } from './answers/denial-answers.js'
import {
  isReplaced,
  noteDecision,
  noteReplacing,
  replaceDecision,
  type CountedBy,
  type Passed,
} from './decisions.js'
import { createHeaderWriter, RATE_LIMIT_HEADERS, type HeaderWriter } from './headers.js'
import { warnOfCountedTwice } from './mistakes.js'
import { USE_SKIP } from './option-checks.js'
import type { RateLimitOptions, RequestContext } from './options.js'

/** What a route needs to amend the decisions on requests that its family has let in already. */
export interface AmendOptions<Req> {
  readonly firstFor: (req: Req) => Passed | undefined
  /** The request's property that holds that decision. */
  readonly property: string
  /** Counts in the route's own group and stacked limits. */
  readonly own: Consumer
}

export interface DeciderOptions<Req, Res> {
  readonly adapter: HttpAdapter<Req, Res>
  readonly limiter: Limiter
  readonly consumer: Consumer
  /** As in CountedBy. */
  readonly family: object
  readonly isOfRoute: boolean
  /** Checked before. */
  readonly options: RateLimitOptions<Req, Res>
  readonly addressOf: (req: Req) => string | undefined
  /** Called with each request that is let in. */
  readonly onAllowed: (req: Req) => void
  readonly amends: AmendOptions<Req> | undefined
}

/** A request and its response. */
interface Exchange<Req, Res> {
  readonly req: Req
  readonly res: Res
}

/** Who pays for a request, how much, and which counters are used. */
interface Asked extends Pick<Passed, 'subjects' | 'by'> {
  readonly cost: number
  /** The decision to amend. */
  readonly first?: Passed
}

/** Gets requests decided once it is known who pays and how much. Writes the decision to the request and the response. */
export class Decider<Req extends object, Res> {
  readonly #given: DeciderOptions<Req, Res>
  readonly #by: CountedBy
  readonly #property: string
  readonly #internals: Internals
  readonly #writeHeaders: HeaderWriter<Res>
  readonly #denials: DenialAnswers<Req, Res>

  constructor(given: DeciderOptions<Req, Res>) {
    const { adapter, limiter, consumer, family, isOfRoute, options } = given
    this.#given = given
    this.#by = { limiter, group: options.group, consumer, family, isOfRoute }
    this.#property = options.requestProperty ?? 'rateLimit'
    this.#internals = internalsOf(limiter)
    this.#writeHeaders = createHeaderWriter(options.headers, this.#internals.hide)
    this.#denials = new DenialAnswers(adapter, options)
  }

  /** Returns whether the request continues. If it does not, it was answered, or its client has left. */
  decide(exchange: Exchange<Req, Res>, subjects: Passed['subjects'], cost: number): MaybePromise<boolean> {
    needCost(cost, 1, USE_SKIP)
    const first = this.#given.amends?.firstFor(exchange.req)
    if (!first) return this.#ask(exchange, { subjects, cost, by: this.#by })
    const by = this.#byFor(first.by)
    // The first decision covers all that the request asks for now.
    if (by === first.by && cost === first.decision.cost && isSame(subjects, first.subjects)) return true
    const { decision } = first
    const asked = this.#ask(exchange, { subjects, cost, by, first })
    if (isPromise(asked)) noteReplacing(decision, asked)
    return asked
  }

  /** Answers a request that is denied before its limits are asked. */
  refuse(exchange: Exchange<Req, Res>, decision: Decision): MaybePromise<boolean> {
    const { limiter, amends } = this.#given
    const passed: Passed = { decision, by: this.#by, subjects: [decision.subject] }
    const first = amends?.firstFor(exchange.req)
    if (!first) return this.#conclude(exchange, passed)
    first.decision.release()
    return chain(limiter.refund(first.decision), () => this.#conclude(exchange, passed, first))
  }

  /**
   * Asks the limiter. A request in line waits for as long as its client is there. If the client leaves, the request gives
   * its place back and ends without an answer, since no client would read it.
   */
  #ask(exchange: Exchange<Req, Res>, asked: Asked): MaybePromise<boolean> {
    const { adapter, limiter, options } = this.#given
    const settle = options.refundWhen && refundLater(adapter, limiter, options.refundWhen, exchange)
    const signal = this.#internals.canWait() ? leavingOf(adapter, exchange.res) : undefined
    if (signal?.aborted) return false
    const decided = this.#consume(exchange.req, asked, signal)
    if (!isPromise(decided)) return this.#decided(exchange, asked, decided, settle)
    const conclude = (decision: Decision): MaybePromise<boolean> =>
      this.#decided(exchange, asked, decision, settle)
    if (!signal) return decided.then(conclude)
    return decided.then(conclude, (error: unknown) => {
      if (signal.aborted) return false
      throw error
    })
  }

  /** @param settle called with the decision, if the request may get units back */
  #decided(
    exchange: Exchange<Req, Res>,
    { subjects, by, first }: Asked,
    decision: Decision,
    settle: ((decision: Decision) => void) | undefined,
  ): MaybePromise<boolean> {
    if (decision === first?.decision) return true
    settle?.(decision)
    releaseLater(this.#given.adapter, decision, exchange.res)
    return this.#conclude(exchange, { decision, by, subjects }, first)
  }

  #consume(req: Req, { subjects, cost, by, first }: Asked, signal?: AbortSignal): MaybePromise<Decision> {
    const { limiter } = this.#given
    const options = this.#optionsFor(req, cost, signal)
    if (first) {
      const amended = { limiter, first: first.decision, subjects, options: options ?? { cost } }
      return this.#internals.amend(by.consumer, amended)
    }
    const who = subjects.length === 1 ? subjects[0] : subjects
    return options ? by.consumer.consume(who, options) : by.consumer.consume(who)
  }

  /** Undefined if all options have their defaults. */
  #optionsFor(req: Req, cost: number, signal: AbortSignal | undefined): ConsumeOptions | undefined {
    const context = this.#given.options.eventContext && this.#contextFor(req)
    if (cost === 1 && !context && !signal) return undefined
    return { cost, ...(context && { context }), ...(signal && { signal }) }
  }

  /** What `decision` events say about the request: see the option `eventContext`. */
  #contextFor(req: Req): object | undefined {
    const { adapter, addressOf, options } = this.#given
    const { eventContext } = options
    if (typeof eventContext === 'function') return needContext(eventContext(req))
    const method = adapter.method(req)
    return { method, route: adapter.route?.(req), address: addressOf(req) } satisfies RequestContext
  }

  /** The counters of a route for a request that an outer limiter has counted. */
  #byFor(outer: CountedBy): CountedBy {
    const { consumer: alone, amends } = this.#given
    const { onTop } = this.#internals
    const consumer = amends && onTop ? onTop(outer.consumer, amends.own) : alone
    if (consumer === outer.consumer) return outer
    return { ...this.#by, consumer, group: this.#by.group ?? outer.group }
  }

  /** @param first replaced by the decision, if given */
  #conclude({ req, res }: Exchange<Req, Res>, passed: Passed, first?: Passed): MaybePromise<boolean> {
    const { adapter, limiter, amends, onAllowed } = this.#given
    const { decision } = passed
    if (first) {
      replaceDecision(first, passed)
      if (amends) adapter.attach(req, decision, amends.property)
      // The decision may have fewer headers than the one that it replaces.
      if (!adapter.isSent(res)) for (const name of RATE_LIMIT_HEADERS) adapter.removeHeader(res, name)
    } else if (noteDecision(req, passed)) warnOfCountedTwice(limiter, this.#internals.warn)
    if (decision.allowed) onAllowed(req)
    adapter.attach(req, decision, this.#property)
    if (adapter.isSent(res)) return decision.allowed
    this.#writeHeaders(decision, adapter, res)
    return decision.allowed || this.#denials.answer(req, res, decision)
  }
}

/** @throws {ConfigError} when the function of the option `eventContext` returned neither an object nor undefined */
function needContext(given: unknown): object | undefined {
  if (given === undefined || (typeof given === 'object' && given !== null && !isPromise(given))) return given
  quiet(given)
  const expected = 'an object and not a promise: (req) => ({ path: req.path })'
  throw ConfigError.wrong('what eventContext returned', given, expected)
}

/** Aborts when the client leaves. */
function leavingOf<Req, Res>(adapter: HttpAdapter<Req, Res>, res: Res): AbortSignal {
  const leaving = new AbortController()
  adapter.onEnd(res, () => leaving.abort())
  return leaving.signal
}

function isSame(subjects: readonly Subject[], others: readonly Subject[]): boolean {
  return subjects.length === others.length && subjects.every((subject, i) => subject === others[i])
}

/**
 * Gives units back once the response is over and the decision is known. Either can come first: the client may
 * disconnect before the decision.
 *
 * @returns call it with the decision
 */
function refundLater<Req extends object, Res>(
  adapter: HttpAdapter<Req, Res>,
  limiter: Limiter,
  refundWhen: NonNullable<RateLimitOptions<Req, Res>['refundWhen']>,
  { req, res }: Exchange<Req, Res>,
): (decision: Decision) => void {
  let ended: ResponseEnd | undefined
  let decided: Decision | undefined
  const settle = async (): Promise<void> => {
    if (!ended || !decided?.allowed) return
    // The client may leave while a route asks for more. Then `refundWhen` is asked about the final decision alone.
    const replaced = isReplaced(decided)
    if (isPromise(replaced) ? await replaced : replaced) return
    try {
      if (await refundWhen(ended, req, res)) await limiter.refund(decided)
    } catch (error) {
      // The response is over, so no error handler can answer: a warning is the only way to report this.
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

/** Releases a request's slots when its response is over, or at once if it is over already. */
function releaseLater<Req, Res>(adapter: HttpAdapter<Req, Res>, decision: Decision, res: Res): void {
  if (hasSlots(decision)) adapter.onEnd(res, () => void decision.release())
}
