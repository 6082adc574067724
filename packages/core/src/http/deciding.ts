import { chain, isPromise, type MaybePromise } from '../base/promises.js'
import { thrownText } from '../base/warnings.js'
import { type Decision, hasSlots } from '../limiter/decision/decision.js'
import { internalsOf } from '../limiter/internals.js'
import type { Consumer, ConsumeOptions, Limiter } from '../limiter/limiter.js'
import type { Subject } from '../plans/subject.js'
import { needCost, USE_SKIP } from '../requests/cost.js'
import type { HttpAdapter, ResponseEnd } from './adapter.js'
import { DenialAnswers } from './answers/denial-answers.js'
import {
  noteDecision,
  noteReplacing,
  replaceDecision,
  type CountedBy,
  type Passed,
  isReplaced,
  replacing,
} from './decisions.js'
import { contextOf } from './event-context.js'
import { createHeaderWriter, RATE_LIMIT_HEADERS, type HeaderWriter } from './headers.js'
import { warnOfCountedTwice } from './mistakes.js'
import type { RateLimitOptions } from './options.js'

/** Who pays. */
type Payers = readonly [Subject, ...Subject[]]

/** How a route goes on from a decision that has let the request in already. */
export interface GoingOn<Req> {
  readonly firstOf: (req: Req) => Passed | undefined
  /** Where that decision stands on the request. */
  readonly property: string
  /** Counts what the route itself says: its group and its stacked limits. */
  readonly own: Consumer
}

export interface DecidingOptions<Req, Res> {
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
  readonly onAllowed: ((req: Req) => void) | undefined
  readonly goingOn: GoingOn<Req> | undefined
}

/** Has requests decided once it is known who pays and how much, and answers those that are denied. */
export class Deciding<Req extends object, Res> {
  readonly #given: DecidingOptions<Req, Res>
  readonly #by: CountedBy
  readonly #responses: Responses<Req, Res>

  constructor(given: DecidingOptions<Req, Res>) {
    const { adapter, limiter, consumer, family, isOfRoute, options } = given
    this.#given = given
    this.#by = { limiter, group: options.group, consumer, family, isOfRoute }
    this.#responses = new Responses(adapter, options, limiter)
  }

  /** Returns whether the request continues. If it does not, it was answered, or its client has left. */
  decide(exchange: Exchange<Req, Res>, subjects: Payers, cost: number): MaybePromise<boolean> {
    needCost(cost, 1, USE_SKIP)
    const first = this.#given.goingOn?.firstOf(exchange.req)
    return first ? this.#goOn(exchange, first, { subjects, cost }) : this.#begin(exchange, subjects, cost)
  }

  /** Answers a request that is denied before its limits are asked. */
  refuse(exchange: Exchange<Req, Res>, decision: Decision): MaybePromise<boolean> {
    const passed: Passed = { decision, by: this.#by, subjects: [decision.subject] }
    const first = this.#given.goingOn?.firstOf(exchange.req)
    if (!first) return this.#conclude(exchange, passed)
    first.decision.release()
    return chain(this.#given.limiter.refund(first.decision), () => this.#replace(exchange, first, passed))
  }

  #begin(exchange: Exchange<Req, Res>, subjects: Payers, cost: number): MaybePromise<boolean> {
    const { adapter, consumer } = this.#given
    const settle = this.#settleLater(exchange)
    const who = subjects.length === 1 ? subjects[0] : subjects
    return this.#whileHere(
      exchange,
      (signal) => {
        const options = this.#optionsFor(exchange.req, cost, signal)
        return options ? consumer.consume(who, options) : consumer.consume(who)
      },
      (decision) => {
        settle?.(decision)
        releaseLater(adapter, decision, exchange.res)
        return this.#conclude(exchange, { decision, by: this.#by, subjects })
      },
    )
  }

  /** Has a request decided anew for all that it asks for by now, unless that was decided already. */
  #goOn(
    exchange: Exchange<Req, Res>,
    passed: Passed,
    { subjects, cost }: { readonly subjects: Payers; readonly cost: number },
  ): MaybePromise<boolean> {
    const { adapter, limiter } = this.#given
    const first = passed.decision
    const by = this.#byFor(passed.by)
    if (by === passed.by && cost === first.cost && isSame(subjects, passed.subjects)) return true
    const settle = this.#settleLater(exchange)
    const going = this.#whileHere(
      exchange,
      (signal) => {
        const options = this.#optionsFor(exchange.req, cost, signal) ?? { cost }
        return internalsOf(limiter).amend(by.consumer, { limiter, first, subjects, options })
      },
      (decision) => {
        if (decision === first) return true
        settle?.(decision)
        releaseLater(adapter, decision, exchange.res)
        return this.#replace(exchange, passed, { decision, by, subjects })
      },
    )
    if (isPromise(going)) noteReplacing(first, going)
    return going
  }

  #byFor(outer: CountedBy): CountedBy {
    const { limiter, consumer: alone, goingOn } = this.#given
    const { onTop } = internalsOf(limiter)
    const consumer = goingOn && onTop ? onTop(outer.consumer, goingOn.own) : alone
    if (consumer === outer.consumer) return outer
    return { ...this.#by, consumer, group: this.#by.group ?? outer.group }
  }

  /** Undefined if there is nothing to say. */
  #optionsFor(req: Req, cost: number, signal: AbortSignal | undefined): ConsumeOptions | undefined {
    const { adapter, options, addressOf } = this.#given
    const { eventContext } = options
    const context = eventContext && contextOf(eventContext, adapter, req, () => addressOf(req))
    if (cost === 1 && !context && !signal) return undefined
    return { cost, ...(context && { context }), ...(signal && { signal }) }
  }

  #settleLater(exchange: Exchange<Req, Res>): ((decision: Decision) => void) | undefined {
    const { adapter, limiter, options } = this.#given
    return options.refundWhen && refundLater(adapter, limiter, options.refundWhen, exchange)
  }

  #whileHere(
    { res }: Exchange<Req, Res>,
    ask: (signal?: AbortSignal) => MaybePromise<Decision>,
    conclude: (decision: Decision) => MaybePromise<boolean>,
  ): MaybePromise<boolean> {
    const { adapter, limiter } = this.#given
    if (!internalsOf(limiter).canWait()) return chain(ask(), conclude)
    return whileHere({ adapter, res }, ask, conclude)
  }

  #conclude({ req, res }: Exchange<Req, Res>, passed: Passed): MaybePromise<boolean> {
    const { limiter, onAllowed } = this.#given
    if (noteDecision(req, passed)) warnOfCountedTwice(limiter, internalsOf(limiter).warn)
    if (passed.decision.allowed) onAllowed?.(req)
    return this.#responses.write(req, res, passed.decision)
  }

  #replace({ req, res }: Exchange<Req, Res>, before: Passed, now: Passed): MaybePromise<boolean> {
    const { adapter, goingOn, onAllowed } = this.#given
    replaceDecision(before, now)
    if (goingOn) adapter.attach(req, now.decision, goingOn.property)
    if (now.decision.allowed) onAllowed?.(req)
    this.#responses.clear(res)
    return this.#responses.write(req, res, now.decision)
  }
}

function isSame(subjects: readonly Subject[], others: readonly Subject[]): boolean {
  return subjects.length === others.length && subjects.every((subject, i) => subject === others[i])
}

/** Writes decisions where the application and the client read them: on the request, and into the response. */
class Responses<Req, Res> {
  readonly #adapter: HttpAdapter<Req, Res>
  readonly #property: string
  readonly #writeHeaders: HeaderWriter<Res>
  readonly #denials: DenialAnswers<Req, Res>

  /** @param options checked before */
  constructor(adapter: HttpAdapter<Req, Res>, options: RateLimitOptions<Req, Res>, limiter: Limiter) {
    this.#adapter = adapter
    this.#property = options.requestProperty ?? 'rateLimit'
    this.#writeHeaders = createHeaderWriter(options.headers, internalsOf(limiter).hide)
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

/** A request and its response. */
interface Exchange<Req, Res> {
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
function refundLater<Req extends object, Res>(
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
function releaseLater<Req, Res>(adapter: HttpAdapter<Req, Res>, decision: Decision, res: Res): void {
  if (hasSlots(decision)) adapter.onEnd(res, () => void decision.release())
}

/**
 * Decides a request that may wait in line for as long as its client is there. One that has left gives its place back, and ends
 * without an answer, since nobody reads one.
 *
 * @param ask      has it decided; rejects once the signal has aborted
 * @param conclude answers it
 */
function whileHere<Req, Res>(
  { adapter, res }: { readonly adapter: HttpAdapter<Req, Res>; readonly res: Res },
  ask: (signal: AbortSignal) => MaybePromise<Decision>,
  conclude: (decision: Decision) => MaybePromise<boolean>,
): MaybePromise<boolean> {
  const leaving = new AbortController()
  adapter.onEnd(res, () => leaving.abort())
  const { signal } = leaving
  if (signal.aborted) return false
  const asked = ask(signal)
  if (!isPromise(asked)) return conclude(asked)
  return asked.then(conclude, (error: unknown) => {
    if (signal.aborted) return false
    throw error
  })
}
