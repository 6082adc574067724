import type { ConsumeOptions, Consumer } from './limiter.js'
import type { RequestBuilder } from '../requests/request-builder.js'
import type { Pipeline } from './pipeline.js'
import type { Request } from '../requests/request.js'
import type { Scope } from '../requests/scope.js'
import { needSubject, type Subjects } from '../requests/subject.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import type { Decision } from './decision.js'
import type { Subject, SubjectOf } from '../plans/subject.js'
import { needUnitsBack } from '../requests/cost.js'
import { newLeaseId } from '../failure/ids.js'
import { quiet } from '../base/quiet.js'
import { readConsumeOptions, withOptions } from './consume-options.js'
import { HeldReservation, reserving, type Reservation } from './reservation.js'
import { readReserveOptions, type ReserveOptions } from './reserve-options.js'
import { Settling } from './settling.js'

/** Counts the requests of one scope. */
export class ScopedConsumer implements Consumer {
  readonly #builder: RequestBuilder
  readonly #pipeline: Pipeline
  readonly #scope: Scope
  readonly #settling: Settling

  constructor(builder: RequestBuilder, pipeline: Pipeline, scope: Scope) {
    this.#builder = builder
    this.#pipeline = pipeline
    this.#scope = scope
    this.#settling = new Settling(pipeline)
    builder.add(scope)
  }

  consume(subjects: Subjects, options?: ConsumeOptions): MaybePromise<Decision> {
    const request = this.#build(subjects, options, readToConsume)
    if (request instanceof Promise) return request.then((built) => this.#consume(built, options))
    return this.#pipeline.consume(options === undefined ? request : withOptions(request, options))
  }

  /** After a look-up of the plan, in which the signal may have aborted. */
  #consume(request: Request, options: ConsumeOptions | undefined): MaybePromise<Decision> {
    options?.signal?.throwIfAborted()
    return this.#pipeline.consume(withOptions(request, options))
  }

  peek(subjects: Subjects, options?: ConsumeOptions): MaybePromise<Decision> {
    const request = this.#build(subjects, options, readConsumeOptions)
    return request instanceof Promise
      ? request.then((built) => this.#pipeline.peek(built))
      : this.#pipeline.peek(request)
  }

  async reserve(subjects: Subjects, options: ReserveOptions): Promise<Reservation> {
    const { cost, lengthMs, context } = readReserveOptions(options)
    this.#pipeline.holds.need()
    const request = await this.#build(subjects, options, () => cost)
    const asked = reserving(withOptions(request, context && { context }), newLeaseId(), lengthMs)
    const decision = await this.#pipeline.consume(asked)
    const isHeld = decision.allowed && decision.source !== 'unlimited'
    const onOver = isHeld ? this.#pipeline.holds.reserved(lengthMs) : (): void => {}
    return new HeldReservation(decision, { settling: this.#settling, lengthMs, onOver })
  }

  #build<Options extends object>(
    subjects: Subjects,
    options: Options | undefined,
    costOf: (options: Options | undefined) => number,
  ): MaybePromise<Request> {
    try {
      return this.#builder.build(subjects, costOf(options), this.#scope)
    } catch (error) {
      quiet(subjects)
      quiet(options)
      throw error
    }
  }

  async refund(subject: SubjectOf, units: number): Promise<boolean> {
    try {
      needUnitsBack(units)
      const request = await this.#builder.build(needSubject(subject), units, this.#scope)
      return await this.#pipeline.byKey.refund(request, units)
    } catch (error) {
      quiet(subject)
      throw error
    }
  }

  async reset(subject: Subject | string): Promise<boolean> {
    return this.#pipeline.byKey.reset(this.#builder.keysOf(subject, this.#scope))
  }
}

function readToConsume(options: ConsumeOptions | undefined): number {
  const cost = readConsumeOptions(options)
  options?.signal?.throwIfAborted()
  return cost
}
