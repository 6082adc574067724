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
  /** What the middleware calls the length of a window, for errors. */
  readonly windowName: string
  /** Keeps its counts apart; left out: those of the subject itself. */
  readonly group?: string | undefined
}

/** Counts requests against limits that come with each of them. */
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

  /** ms after which a unit that is taken now counts no more, for certain. */
  countsForMs({ windowMs }: Limited): number {
    // In its own window and, in part, in the next one.
    return this.#slides ? 2 * windowMs : windowMs
  }

  /** Rejects with a ConfigError when the window is none. */
  take(id: string, limited: Limited): Promise<Decision> {
    return this.#ask(limited, () => this.#consumer.consume(this.#subject(id, limited)))
  }

  /** As `take`, but takes nothing. With the whole quota for `cost`: whether any of it is used, and until when. */
  peek(id: string, limited: Limited, cost = 1): Promise<Decision> {
    return this.#ask(limited, () => this.#consumer.peek(this.#subject(id, limited), { cost }))
  }

  /** @throws {StoreUnavailableError} if the store could not answer and the policy is `closed` */
  needAnswer(decision: Decision): Decision {
    if (decision.reason === 'store-unavailable') throw new StoreUnavailableError(this.#lastFault())
    return decision
  }

  /** Gives one unit back where only the subject is known. */
  async giveBack(id: string, limited: Limited): Promise<void> {
    await this.limiter.refund(this.#subject(id, limited), 1)
  }

  /** The limits, for stores that only know what they have under them. */
  async forget(id: string, limited: Limited): Promise<void> {
    await this.limiter.reset(this.#subject(id, limited))
  }

  async #ask({ windowMs }: Limited, ask: () => MaybePromise<Decision>): Promise<Decision> {
    try {
      return await ask()
    } catch (error) {
      // The limiter speaks of the subject's limits, which the user has not written.
      needWindow(windowMs, this.#windowName)
      throw error
    }
  }

  #subject(id: string, { quota, windowMs: window }: Limited): Subject {
    const algorithm = this.#algorithm
    return { ...subjectOf(id), limits: { quota, window, ...(algorithm && { algorithm }) } }
  }
}

/**
 * The middleware has made its key already: what looks like an address must not be taken for one, and grouped once more.
 */
function subjectOf(id: string): Subject {
  return { id, kind: 'id' }
}
