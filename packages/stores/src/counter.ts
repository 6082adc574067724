import type { Consumer, Decision, Limiter, Subject } from '@tollgate/core'
import type { MaybePromise } from '@tollgate/core/store'
import type { Limited } from './hit.js'
import { needWindow } from './limited.js'
import type { Backed } from './store-options.js'
import { StoreUnavailableError } from './unavailable.js'

export interface CounterOptions extends Pick<
  Backed,
  'limiter' | 'algorithm' | 'defaultAlgorithm' | 'lastFault'
> {
  /** The middleware's name for a window's length, for errors. */
  readonly windowName: string
  /** Counts in this group. Left out: in the subject's own counts. */
  readonly group?: string | undefined
}

/** Counts requests that each bring their own limit. */
export class Counter {
  readonly limiter: Limiter
  readonly #consumer: Consumer
  readonly #algorithm: Backed['algorithm']
  readonly #windowName: string
  readonly #slides: boolean
  readonly #lastFault: Backed['lastFault']

  constructor(options: CounterOptions) {
    const { limiter, algorithm, defaultAlgorithm, lastFault, windowName, group } = options
    this.limiter = limiter
    this.#windowName = windowName
    this.#consumer = group === undefined ? limiter : limiter.scope({ group })
    this.#algorithm = algorithm
    this.#lastFault = lastFault
    this.#slides = (algorithm ?? defaultAlgorithm) === 'sliding-window'
  }

  /** After how many ms a unit taken now certainly no longer counts. */
  countsForMs({ windowMs }: Limited): number {
    // It counts in its own window and partly in the next one.
    return this.#slides ? 2 * windowMs : windowMs
  }

  /** Takes a unit. Rejects with a ConfigError if the window is wrong. */
  take(id: string, limited: Limited): Promise<Decision> {
    return this.#ask(limited, () => this.#consumer.consume(this.#subject(id, limited)))
  }

  /** Like `take`, but takes nothing. If `cost` is the whole quota: whether any of it is used, and until when. */
  peek(id: string, limited: Limited, cost = 1): Promise<Decision> {
    return this.#ask(limited, () => this.#consumer.peek(this.#subject(id, limited), { cost }))
  }

  /** @throws {StoreUnavailableError} if the store could not answer and the policy is `closed` */
  needAnswer(decision: Decision): Decision {
    if (decision.reason === 'store-unavailable') throw new StoreUnavailableError(this.#lastFault())
    return decision
  }

  /** Gives one unit back if only the subject is known. */
  async giveBack(id: string, limited: Limited): Promise<void> {
    await this.limiter.refund(this.#subject(id, limited), 1)
  }

  /** Forgets a subject's counts. Passes its limits, since some stores find counts only by these. */
  async forget(id: string, limited: Limited): Promise<void> {
    await this.limiter.reset(this.#subject(id, limited))
  }

  async #ask({ windowMs }: Limited, ask: () => MaybePromise<Decision>): Promise<Decision> {
    try {
      return await ask()
    } catch (error) {
      // The limiter's error would name the subject's limits, which the user has not written.
      needWindow(windowMs, this.#windowName)
      throw error
    }
  }

  #subject(id: string, { quota, windowMs: window }: Limited): Subject {
    const algorithm = this.#algorithm
    return { ...subjectOf(id), limits: { quota, window, ...(algorithm && { algorithm }) } }
  }
}

/** The middleware has already made its key. Even if that looks like an address, it must not be grouped like one. */
function subjectOf(id: string): Subject {
  return { id, kind: 'id' }
}
