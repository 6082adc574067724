import type { ConsumeOptions, Consumer } from './limiter.js'
import type { RequestBuilder } from '../requests/request-builder.js'
import type { Pipeline } from './pipeline.js'
import type { Request } from '../requests/request.js'
import type { Scope } from '../requests/scope.js'
import type { Subjects } from '../requests/subject.js'
import { ConfigError } from '../base/errors.js'
import { isPromise, type MaybePromise } from '../base/maybe-promise.js'
import type { Decision } from './decision.js'
import type { Subject } from '../plans/subject.js'
import { needOptions, type KnownOptions } from '../base/option-checks.js'
import { quiet } from '../base/quiet.js'
import { needCost } from '../requests/cost.js'

/** Counts the requests of one scope. */
export class ScopedConsumer implements Consumer {
  readonly #builder: RequestBuilder
  readonly #pipeline: Pipeline
  readonly #scope: Scope

  constructor(builder: RequestBuilder, pipeline: Pipeline, scope: Scope) {
    this.#builder = builder
    this.#pipeline = pipeline
    this.#scope = scope
    builder.add(scope)
  }

  consume(subjects: Subjects, options?: ConsumeOptions): MaybePromise<Decision> {
    const request = this.#build(subjects, options)
    const context = options?.context
    if (request instanceof Promise)
      return request.then((built) => this.#pipeline.consume(withContext(built, context)))
    return this.#pipeline.consume(withContext(request, context))
  }

  peek(subjects: Subjects, options?: ConsumeOptions): MaybePromise<Decision> {
    const request = this.#build(subjects, options)
    return request instanceof Promise
      ? request.then((built) => this.#pipeline.peek(built))
      : this.#pipeline.peek(request)
  }

  #build(subjects: Subjects, options: ConsumeOptions | undefined): MaybePromise<Request> {
    try {
      return this.#builder.build(subjects, readCost(options), this.#scope)
    } catch (error) {
      quiet(subjects)
      quiet(options)
      throw error
    }
  }

  async reset(subject: Subject | string): Promise<void> {
    await this.#pipeline.reset(this.#builder.keysOf(subject, this.#scope))
  }
}

function withContext(request: Request, context: object | undefined): Request {
  return context === undefined ? request : { ...request, context }
}

const CONSUME_OPTIONS: KnownOptions = {
  names: ['cost', 'context'],
  example: '{ cost: 5 }',
  remedyOf: () => undefined,
}

/** Checks all options. */
function readCost(options: ConsumeOptions | undefined): number {
  if (options === undefined) return 1
  needOptions(options, CONSUME_OPTIONS)
  const { cost = 1, context } = options
  needCost(cost, 1)
  if (context !== undefined) needContext(context)
  return cost
}

function needContext(given: unknown): void {
  if (typeof given === 'object' && given !== null && !isPromise(given)) return
  throw ConfigError.wrong('context', given, "an object, such as { job: 'export' }")
}
