import { readDuration } from '../base/duration.js'
import { ConfigError, TollgateError, atCaller, fromCaller } from '../base/errors.js'
import { MOST_UNITS, needOptions, type KnownOptions } from '../base/options.js'
import { type MaybePromise, chain, isPromise, quiet } from '../base/promises.js'
import { type Request, needCost, needUnits } from '../requests/request.js'
import type { ConsumeOptions, Consumer, PeekOptions } from './limiter.js'
import type { RequestBuilder } from '../requests/request-builder.js'
import type { Pipeline } from './pipeline/pipeline.js'
import { onTopOf, type Scope } from '../requests/scope.js'
import { needSubject, type Subjects } from '../requests/subject/subject.js'
import {
  type Booking,
  checkUsageOptions,
  type Usage,
  type UsageOptions,
  usageRequest,
  bookingRequest,
  type BookingTerms,
  type PenalizeOptions,
  readBooking,
  type RenewOptions,
  type TopUpOptions,
} from './booking.js'
import type { Decision } from './decision/decision.js'
import type { Subject, SubjectOf } from '../plans/subject.js'
import { newLeaseId } from '../failure/outbox.js'
import type { Look } from './look.js'
import { needHolds } from './options/supported-plans.js'
import { HeldReservation, reserving, type Reservation } from './reservation.js'
import { Settling } from './settle/settlement.js'

const KNOWN: KnownOptions = {
  names: ['cost', 'context', 'signal'],
  example: '{ cost: 5 }',
  remedyOf: (name) => (name === 'onStoreFailure' ? 'pass it to createLimiter, or to peek' : undefined),
}
const OF_PEEK: KnownOptions = { ...KNOWN, names: [...KNOWN.names, 'onStoreFailure'] }

/** A method that decides: its name, and how it reads its options. */
interface Method<Options> {
  readonly name: 'consume' | 'peek' | 'reserve'
  /** Returns the cost. */
  readonly costOf: (options: Options | undefined) => number
}

const CONSUME: Method<ConsumeOptions> = { name: 'consume', costOf: readToConsume }
const PEEK: Method<PeekOptions> = { name: 'peek', costOf: readPeekOptions }

/** Counts the requests of one scope. */
export class ScopedConsumer implements Consumer {
  readonly #builder: RequestBuilder
  readonly #pipeline: Pipeline
  readonly #scope: Scope
  /** The object whose methods users call, for stack traces: this class, or one that passes calls on to it. */
  readonly #face: Consumer
  readonly #settling: Settling
  /** Consumers that `under` made, by the scope on top of this one. */
  readonly #onTop = new WeakMap<Scope, ScopedConsumer>()

  constructor(
    builder: RequestBuilder,
    pipeline: Pipeline,
    { scope, face = ScopedConsumer.prototype }: { readonly scope: Scope; readonly face?: Consumer },
  ) {
    this.#builder = builder
    this.#pipeline = pipeline
    this.#scope = scope
    this.#face = face
    this.#settling = new Settling(pipeline)
    builder.add(scope)
  }

  consume(subjects: Subjects, options?: ConsumeOptions): MaybePromise<Decision> {
    const request = this.#build(subjects, options, CONSUME)
    if (request instanceof Promise) return request.then((built) => this.#consume(built, options))
    return this.#pipeline.consume(options === undefined ? request : withOptions(request, options))
  }

  /** After a look-up of the plan, in which the signal may have aborted. */
  #consume(request: Request, options: ConsumeOptions | undefined): MaybePromise<Decision> {
    options?.signal?.throwIfAborted()
    return this.#pipeline.consume(withOptions(request, options))
  }

  peek(subjects: Subjects, options?: PeekOptions): MaybePromise<Decision> {
    const request = this.#build(subjects, options, PEEK)
    return request instanceof Promise
      ? request.then((built) => this.#pipeline.peek(built, options))
      : this.#pipeline.peek(request, options)
  }

  /**
   * @param behindBlock as in Internals
   * @throws {StoreError} when the store does not answer
   */
  async look(subjects: readonly Subject[], behindBlock = false): Promise<Look> {
    const scope = behindBlock ? { ...this.#scope, ignoresBlocks: true as const } : this.#scope
    const request = await this.#builder.build(subjects, 1, scope)
    const override = this.#builder.overrideOf(subjects)
    const seen = await this.#pipeline.look(request)
    return override || seen.decision.override ? { ...seen, override: { until: override?.until } } : seen
  }

  /** The consumer for requests that this one has let in and to which another adds its scope. */
  under(own: ScopedConsumer): ScopedConsumer {
    const scope = onTopOf(this.#scope, own.#scope)
    if (scope === this.#scope) return this
    const known = this.#onTop.get(own.#scope)
    if (known) return known
    const made = new ScopedConsumer(this.#builder, this.#pipeline, { scope })
    this.#onTop.set(own.#scope, made)
    return made
  }

  /** Decides again on a request that was let in, for its whole cost here. Returns the first decision if nothing is missing. */
  amend(first: Decision, subjects: Subjects, options: ConsumeOptions): MaybePromise<Decision> {
    return chain(this.#build(subjects, options, CONSUME), (request) => {
      options.signal?.throwIfAborted()
      return this.#pipeline.amending.amend(first, withOptions(request, options))
    })
  }

  async reserve(subjects: Subjects, options: ReserveOptions): Promise<Reservation> {
    const { cost, lengthMs, context } = atCaller(this.#face.reserve, () => {
      const read = readReserveOptions(options)
      needHolds(this.#pipeline.store)
      return read
    })
    const request = await this.#build(subjects, options, { name: 'reserve', costOf: () => cost })
    const asked = reserving(withOptions(request, context && { context }), newLeaseId(), lengthMs)
    const decision = await this.#pipeline.consume(asked)
    const isHeld = decision.allowed && decision.source !== 'unlimited'
    const onOver = isHeld ? this.#pipeline.holds.reserved(lengthMs) : (): void => {}
    return new HeldReservation(decision, { settling: this.#settling, lengthMs, onOver })
  }

  #build<Options extends object>(
    subjects: Subjects,
    options: Options | undefined,
    { name, costOf }: Method<Options>,
  ): MaybePromise<Request> {
    try {
      return this.#builder.build(subjects, costOf(options), this.#scope)
    } catch (error) {
      quiet(subjects)
      quiet(options)
      throw fromCaller(error, this.#face[name])
    }
  }

  async refund(subject: SubjectOf, units: number): Promise<boolean> {
    try {
      needUnits(units, 1, 'refund(subject, 2)')
      const scope = { ...this.#scope, ignoresBlocks: true } as const
      const request = await this.#builder.build(needSubject(subject), units, scope)
      return await this.#pipeline.refundByKey(request, units)
    } catch (error) {
      quiet(subject)
      throw error
    }
  }

  topUp(subject: Subject | string, options: TopUpOptions): Promise<Booking> {
    return this.#book('topUp', subject, options)
  }

  renew(subject: Subject | string, options: RenewOptions): Promise<Booking> {
    return this.#book('renewal', subject, options)
  }

  penalize(subject: Subject | string, options: PenalizeOptions): Promise<Booking> {
    return this.#book('penalty', subject, options)
  }

  async usageOf(given: Subject | string, options: UsageOptions): Promise<Usage> {
    try {
      checkUsageOptions(options, this.#pipeline.store)
      const request = await this.#builder.buildFor(given, this.#scope)
      return await this.#pipeline.usageOf(usageRequest(request, options, this.#builder.isPlanUnknown(given)))
    } catch (error) {
      quiet(given)
      throw error
    }
  }

  async #book(
    kind: BookingTerms['entry']['kind'],
    given: Subject | string,
    options: RenewOptions,
  ): Promise<Booking> {
    try {
      const terms = readBooking(kind, options, this.#pipeline.store)
      const request = await this.#builder.buildFor(given, this.#scope)
      return await this.#pipeline.book(bookingRequest(request, terms, this.#builder.isPlanUnknown(given)))
    } catch (error) {
      quiet(given)
      throw error
    }
  }

  async reset(subject: Subject | string): Promise<boolean> {
    return this.#pipeline.reset(this.#builder.keysOf(subject, this.#scope))
  }
}

function readToConsume(options: ConsumeOptions | undefined): number {
  if (options === undefined) return 1
  const cost = readConsumeOptions(options)
  options.signal?.throwIfAborted()
  return cost
}

/**
 * Checks all options. Returns the cost.
 *
 * @throws {ConfigError} when an option is wrong
 * @throws {TollgateError} ERR_TOLLGATE_COST
 */
function readConsumeOptions(options: ConsumeOptions | undefined, known = KNOWN): number {
  if (options === undefined) return 1
  needOptions(options, known)
  const { cost = 1, context, signal } = options
  needCost(cost, 1)
  if (context !== undefined) needContext(context)
  if (signal !== undefined) needSignal(signal)
  return cost
}

/** As `readConsumeOptions`, for `peek`. */
function readPeekOptions(options: PeekOptions | undefined): number {
  const cost = readConsumeOptions(options, OF_PEEK)
  const { onStoreFailure = 'throw' } = options ?? {}
  if (onStoreFailure === 'throw') return cost
  const expected = "'throw', or no option: the limiter's onStoreFailure then answers"
  throw ConfigError.wrong('onStoreFailure', onStoreFailure, expected)
}

function needContext(given: unknown): void {
  if (typeof given === 'object' && given !== null && !isPromise(given)) return
  throw ConfigError.wrong('context', given, "an object, such as { job: 'export' }")
}

/** A signal of any realm or package that works as Node's. */
function needSignal(given: unknown): void {
  const { aborted, addEventListener, removeEventListener } = (given ?? {}) as Partial<AbortSignal>
  const isSignal = typeof aborted === 'boolean' && typeof addEventListener === 'function'
  if (isSignal && typeof removeEventListener === 'function') return
  throw ConfigError.wrong(
    'signal',
    given,
    'an AbortSignal, such as AbortSignal.timeout(500) or controller.signal',
  )
}

/** Adds to the request what its options say besides the cost. */
function withOptions(request: Request, { context, signal }: ConsumeOptions = {}): Request {
  if (context === undefined && signal === undefined) return request
  return { ...request, ...(context && { context }), ...(signal && { signal }) }
}

/** Options for one call of `reserve`. */
export interface ReserveOptions {
  /** The most quota units that the request may turn out to cost: a whole number from 1. Default: 1. */
  readonly cost?: number | undefined
  /**
   * How long the units are held at most: `'2min'` or a number of ms, from 100 ms to 24 h. Units that are not committed by
   * then come back by themselves.
   */
  readonly for: string | number
  /** As in `ConsumeOptions`. */
  readonly context?: object | undefined
}

const [LEAST_MS, MOST_MS] = [100, 86_400_000]
const FOR = "write for: '2min', after which the units come back by themselves"
const REMEDIES: Readonly<Record<string, string>> = {
  ttl: FOR,
  ttlMs: FOR,
  duration: FOR,
  timeout: FOR,
  forMs: FOR,
}
const OF_RESERVE: KnownOptions = {
  names: ['cost', 'for', 'context'],
  example: "{ cost: 4000, for: '2min' }",
  remedyOf: (name) => (Object.hasOwn(REMEDIES, name) ? REMEDIES[name] : undefined),
}

/** @throws {TollgateError} ERR_TOLLGATE_COST when no store could hold so many units */
function needReservable(cost: number): void {
  needCost(cost, 1)
  if (cost <= MOST_UNITS) return
  throw new TollgateError('ERR_TOLLGATE_COST', `cost: got ${cost}, expected at most 10^12 units`)
}

/**
 * @throws {ConfigError} for `for`, `context` or an unknown option
 * @throws {TollgateError} ERR_TOLLGATE_COST
 */
function readReserveOptions(options: ReserveOptions): {
  cost: number
  lengthMs: number
  context: object | undefined
} {
  needOptions(options, OF_RESERVE)
  const { cost = 1, for: length, context } = options
  needReservable(cost)
  if (context !== undefined) needContext(context)
  const lengthMs = readDuration(length)?.ms ?? 0
  if (lengthMs >= LEAST_MS && lengthMs <= MOST_MS) return { cost, lengthMs, context }
  throw ConfigError.wrong(
    'for',
    length,
    "how long the units are held at most: from 100 ms to 24 h, such as '2min'",
  )
}
