import type { Consumer, Decision, Limiter, MaybePromise, Subject } from '@tollgate/core'
import type { Limited } from './hit.js'
import { needWindow } from './limited.js'
import type { Backed } from './store-options.js'

/** Counts requests against limits that come with each of them. */
export class Counter {
  readonly limiter: Limiter
  readonly #consumer: Consumer
  readonly #algorithm: Backed['algorithm']
  readonly #windowName: string

  /**
   * @param windowName what the middleware calls the length of a window, for errors
   * @param group keeps its counts apart; left out: those of the subject itself
   */
  constructor({ limiter, algorithm }: Omit<Backed, 'now'>, windowName: string, group?: string) {
    this.limiter = limiter
    this.#windowName = windowName
    this.#consumer = group === undefined ? limiter : limiter.scope({ group })
    this.#algorithm = algorithm
  }

  /** Rejects with a ConfigError when the window is none. */
  take(id: string, limited: Limited): Promise<Decision> {
    return this.#ask(limited, () => this.#consumer.consume(this.#subject(id, limited)))
  }

  /** As `take`, but takes nothing. */
  peek(id: string, limited: Limited): Promise<Decision> {
    return this.#ask(limited, () => this.#consumer.peek(this.#subject(id, limited)))
  }

  /** Gives one unit back where only the subject is known. */
  async giveBack(id: string, limited: Limited): Promise<void> {
    await this.limiter.refund(this.#subject(id, limited), 1)
  }

  async forget(id: string): Promise<void> {
    await this.limiter.reset(subjectOf(id))
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
