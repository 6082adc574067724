import { ConfigError, isA, StoreError } from '../base/errors.js'
import { isWhole, needWhole } from '../base/options.js'
import type { MaybePromise } from '../base/promises.js'
import { clearTimeout, setTimeout } from '../base/timers.js'

/** Commands that make a store fail. Each ends the one before it. */
export interface StoreFaults {
  /**
   * Replies come this much later. The store decides at once, so a reply after the limiter's deadline is one that the request
   * no longer waits for.
   *
   * @param ms a whole number from 0 to 60 000
   * @throws {ConfigError} when it is no such number
   */
  slow(ms: number): void
  /**
   * Each call fails at once, and the store does nothing.
   *
   * @param error what the calls reject with. Default: a StoreError with the reason `unreachable`
   * @throws {ConfigError} when it is no Error
   */
  down(error?: Error): void
  /** Calls get no answer. When the store fails in another way or is healed, it gets to them, as a paused server does. */
  hang(): void
  /**
   * The store does its work, but the reply is lost with the connection: the calls reject. Losing replies shows whether units are
   * counted twice.
   *
   * @param replies how many calls lose their reply; the store is then healed. Default: all
   * @throws {ConfigError} when it is not a whole number from 1
   */
  loseReplies(replies?: number): void
  /**
   * Ends the fault. If the limiter had given the store up, it asks it again after its breaker's next probe: within 250 ms, or within
   * 8 s if the store was slow.
   */
  heal(): void
}

type Fault =
  | { readonly kind: 'none' }
  | { readonly kind: 'slow'; readonly ms: number }
  | { readonly kind: 'down'; readonly error: Error }
  | { readonly kind: 'hang'; readonly over: Promise<void>; readonly end: () => void }
  | { readonly kind: 'lost replies'; left: number }

/** The longest deadline of a limiter, and so the longest that a request waits for a reply. */
const LONGEST_MS = 60_000
const NONE: Fault = { kind: 'none' }

/** One shard's fault. */
export class FailingShard implements StoreFaults {
  #fault: Fault = NONE
  /** They keep the process alive while a reply is to come, as a connection does. The limiter's own timers do not. */
  readonly #timers = new Set<ReturnType<typeof setTimeout>>()

  slow(ms: number): void {
    if (!isWhole(ms, 0, LONGEST_MS)) {
      throw ConfigError.wrong('slow', ms, `a whole number of ms from 0 to ${LONGEST_MS}, such as 500`)
    }
    this.#turnTo({ kind: 'slow', ms })
  }

  down(error: Error = unreachable('the store is down')): void {
    if (!isA(error, Error)) throw ConfigError.wrong('down', error, "an Error: new Error('disk full')")
    this.#turnTo({ kind: 'down', error })
  }

  hang(): void {
    let end = (): void => {}
    const over = new Promise<void>((resolve) => (end = resolve))
    this.#turnTo({ kind: 'hang', over, end })
  }

  loseReplies(replies?: number): void {
    needWhole('loseReplies', replies, { least: 1, such: 3 })
    this.#turnTo({ kind: 'lost replies', left: replies ?? Infinity })
  }

  heal(): void {
    this.#turnTo(NONE)
  }

  /** Does a call's work, as the fault lets it. */
  async call<T>(work: () => MaybePromise<T>): Promise<T> {
    while (this.#fault.kind === 'hang') await this.#alive(LONGEST_MS, this.#fault.over)
    const fault = this.#fault
    if (fault.kind === 'down') throw fault.error
    if (fault.kind === 'lost replies') {
      // Counted before the work: calls can be under way at the same time.
      fault.left -= 1
      if (fault.left === 0) this.heal()
      await work()
      throw unreachable('the connection was lost before the reply')
    }
    const answer = await work()
    if (fault.kind === 'slow') await this.#alive(fault.ms)
    return answer
  }

  /** Lets the process exit, whatever replies are to come. */
  close(): void {
    for (const timer of this.#timers) timer.unref()
  }

  /** Resolves with `over`, or else after `ms`, and keeps the process alive until then, at most for `ms`. */
  async #alive(ms: number, over?: Promise<void>): Promise<void> {
    let end = (): void => {}
    const ended = new Promise<void>((resolve) => (end = resolve))
    const timer = setTimeout(end, ms)
    this.#timers.add(timer)
    await (over ?? ended)
    clearTimeout(timer)
    this.#timers.delete(timer)
  }

  #turnTo(fault: Fault): void {
    const before = this.#fault
    this.#fault = fault
    if (before.kind === 'hang') before.end()
  }
}

const unreachable = (what: string): StoreError =>
  new StoreError(`${what}, as the test's failingStore was told`, { reason: 'unreachable' })
