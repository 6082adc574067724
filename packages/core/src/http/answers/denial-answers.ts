import { chain, isPromise, type MaybePromise } from '../../base/promises.js'
import type { Block, Decision } from '../../limiter/decision/decision.js'
import { limitsOf } from '../../limiter/settle/settlement.js'
import type { HttpAdapter } from '../adapter.js'
import { toSeconds } from '../headers.js'
import type { RateLimitOptions } from '../options.js'
import {
  type DenialOptions,
  type Said,
  mediaTypeFor,
  renderBody,
  renderProblem,
  retryFor,
  statusFor,
  withReference,
  writeDenial,
  type ProblemType,
  type Rendered,
  type Retry,
} from './denial.js'
import { LONGEST_WAIT_IN_WORDS_MS } from './detail.js'

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
    this.#bodies = new DenialBodies(options)
  }

  /** Returns false: the request does not continue. */
  answer(req: Req, res: Res, decision: Decision): MaybePromise<boolean> {
    const adapter = this.#adapter
    const { onDenied, body } = this.#options
    const retry = retryFor(decision, this.#options)
    writeDenial(retry, adapter, res)
    if (onDenied) return this.#leaveTo(onDenied, { req, res, decision })
    if (!body) {
      const rendered = this.#bodies.render(decision, retry, adapter.header(req, 'accept'))
      const made = withReference(rendered, decision, this.#options)
      adapter.end(res, { status: made.status, contentType: made.contentType, body: made.body, decision })
      return false
    }
    return chain(body(decision, req), (made) => {
      if (!adapter.isSent(res))
        adapter.end(res, { ...renderBody(statusFor(decision, this.#options), made), decision })
      return false
    })
  }

  /** Leaves the answer to `onDenied`. If that throws, the preset status is undone: the answer to the error has its own. */
  #leaveTo(onDenied: OnDenied<Req, Res>, { req, res, decision }: Denied<Req, Res>): MaybePromise<boolean> {
    const preset = statusFor(decision, this.#options)
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

/** Far more than a flood needs, which is one for each second of its wait. With more, all are forgotten. */
const MOST_BODIES = 500
const MOST_TYPES = 100
/** Longer Accept headers are not cached, so that clients cannot fill the memory with them. */
const LONGEST_KEPT = 200

/** A body, and everything that it depends on. */
interface Latest {
  readonly limits: object
  readonly seconds: number
  readonly cost: number
  readonly type: ProblemType
  readonly violated: string | undefined
  readonly made: Rendered
}

/**
 * Renders the denials of one limiter or route. Caches bodies by everything that they depend on, so that denying a flood of
 * requests costs little.
 */
export class DenialBodies {
  readonly #options: DenialOptions
  #ofLimits = new WeakMap<object, Map<string, Rendered>>()
  readonly #ofBlocks = new Map<string, Rendered>()
  #size = 0
  /** Most denials in a flood are like the one before, and building a key for each would take longer than the rest. */
  #latest: Latest | undefined
  readonly #types = new Map<string, ProblemType>()

  constructor(options: DenialOptions) {
    this.#options = options
  }

  /**
   * @param retry  undefined when waiting would not help
   * @param accept the request's Accept header
   */
  render(decision: Decision, retry: Retry | undefined, accept: string | undefined): Rendered {
    const type = this.#typeFor(accept)
    const { namePlan, blockedStatus, nameReason } = this.#options
    const said = { retry, namePlan, blockedStatus, nameReason }
    if (retry && decision.block) return this.#renderBlock(decision, type, { ...said, retry })
    const limits = retry && isKept(decision, retry) ? limitsOf(decision) : undefined
    if (!limits) return renderProblem(decision, type, said)
    const { cost, violated } = decision
    const seconds = toSeconds((retry as Retry).waitMs)
    const latest = this.#latest
    if (latest?.limits === limits && latest.seconds === seconds && latest.cost === cost) {
      if (latest.type === type && latest.violated === violated[0]) return latest.made
    }
    const key = `${seconds} ${cost} ${type} ${violated[0]}`
    const made =
      this.#ofLimits.get(limits)?.get(key) ?? this.#keep(limits, key, renderProblem(decision, type, said))
    this.#latest = { limits, seconds, cost, type, violated: violated[0], made }
    return made
  }

  /** A long block's text has its end, and no wait. */
  #renderBlock(decision: Decision, type: ProblemType, said: Said & { readonly retry: Retry }): Rendered {
    const { until, reason = '' } = decision.block as Block
    const { waitMs } = said.retry
    const seconds = waitMs > LONGEST_WAIT_IN_WORDS_MS ? 0 : toSeconds(waitMs)
    const key = `${seconds} ${Number(until)} ${type} ${reason}`
    const known = this.#ofBlocks.get(key)
    if (known) return known
    if (this.#ofBlocks.size >= MOST_BODIES) this.#ofBlocks.clear()
    const made = renderProblem(decision, type, said)
    this.#ofBlocks.set(key, made)
    return made
  }

  #keep(limits: object, key: string, made: Rendered): Rendered {
    if (this.#size >= MOST_BODIES) {
      this.#ofLimits = new WeakMap()
      this.#size = 0
    }
    this.#size += 1
    const bodies = this.#ofLimits.get(limits) ?? new Map<string, Rendered>()
    this.#ofLimits.set(limits, bodies.set(key, made))
    return made
  }

  #typeFor(accept: string | undefined): ProblemType {
    if (accept === undefined || accept.length > LONGEST_KEPT) return mediaTypeFor(accept)
    const known = this.#types.get(accept)
    if (known !== undefined) return known
    if (this.#types.size >= MOST_TYPES) this.#types.clear()
    const type = mediaTypeFor(accept)
    this.#types.set(accept, type)
    return type
  }
}

/**
 * Whether the body can be kept for other denials with the same limits, violated limit, cost and seconds to wait. Not for a
 * long wait, whose text has a date. Not if the store did not decide: then the limits are another array each time.
 */
function isKept({ reason, limits, violated }: Decision, { waitMs }: Retry): boolean {
  return (
    reason === 'quota-exceeded' &&
    limits.length > 0 &&
    violated.length === 1 &&
    waitMs <= LONGEST_WAIT_IN_WORDS_MS
  )
}
