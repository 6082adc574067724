import { clearTimeout, elapsedMs, setImmediate, setTimeout } from '../../base/timers.js'

/** Something that must end within the deadline. Held in a list with the others: the oldest is the next to be late. */
export interface Timed {
  /** Whether a request waits for it; if not, it does not keep the process alive. */
  readonly isAwaited: boolean
  /** When it began, in ms since the process started. Set by `add`, as are the two below. */
  sinceMs: number
  older: Timed | undefined
  newer: Timed | undefined
  expire(): void
}

/**
 * The deadline of all calls, with one timer for them all: making and clearing a timer for each costs more than the rest of a
 * call. It runs once in a deadline at most, and keeps the process alive only while a request waits. What is added ends
 * `deadlineMs` later, and up to 2 ms after that: timers count in whole ms.
 */
export class Deadlines {
  readonly deadlineMs: number
  #oldest: Timed | undefined
  #newest: Timed | undefined
  /** How many of them a request waits for. */
  #awaited = 0
  #timer: NodeJS.Timeout | undefined
  /** Whether the timer has fired, and what is late will be ended when the event loop has read what has arrived. */
  #isEnding = false

  /** @param deadlineMs in ms */
  constructor(deadlineMs: number) {
    this.deadlineMs = deadlineMs
  }

  /** @param sinceMs when it began, in ms since the process started: now, or before */
  add(one: Timed, sinceMs: number): void {
    let older = this.#newest
    let newer: Timed | undefined
    while (older && older.sinceMs > sinceMs) [older, newer] = [older.older, older]
    one.sinceMs = sinceMs
    one.older = older
    one.newer = newer
    if (older) older.newer = one
    else this.#oldest = one
    if (newer) newer.older = one
    else this.#newest = one
    if (one.isAwaited && (this.#awaited += 1) === 1) this.#timer?.ref()
    const isNext = newer !== undefined && older === undefined
    if (isNext) clearTimeout(this.#timer)
    if ((isNext || !this.#timer) && !this.#isEnding) this.#armFor(one)
  }

  /** Called once for each that was added, when it ends or is late. */
  remove(one: Timed): void {
    const { older, newer } = one
    if (older) older.newer = newer
    else this.#oldest = newer
    if (newer) newer.older = older
    else this.#newest = older
    one.older = one.newer = undefined
    // The timer stays: the next call will want it.
    if (one.isAwaited && (this.#awaited -= 1) === 0) this.#timer?.unref()
  }

  #armFor({ sinceMs }: Timed): void {
    const ms = Math.max(1, Math.ceil(sinceMs + this.deadlineMs - elapsedMs()))
    this.#timer = setTimeout(this.#fire, ms)
    if (this.#awaited === 0) this.#timer.unref()
  }

  readonly #fire = (): void => {
    this.#timer = undefined
    if (!this.#oldest) return
    this.#isEnding = true
    const lateSinceMs = elapsedMs() - this.deadlineMs
    // When the process was busy, replies that have arrived are read before the immediate runs: they are not late.
    setImmediate(() => this.#end(lateSinceMs))
  }

  #end(lateSinceMs: number): void {
    for (let one = this.#oldest; one && one.sinceMs <= lateSinceMs; one = this.#oldest) {
      this.remove(one)
      one.expire()
    }
    this.#isEnding = false
    if (this.#oldest) this.#armFor(this.#oldest)
  }
}
