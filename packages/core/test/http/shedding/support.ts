import type { Timing } from '../../../src/base/clocks.js'

/** An event loop whose time is moved by hand. */
export class HandLoop implements Timing {
  nowMs = 1000
  #timers: { readonly dueAt: number; readonly callback: () => void }[] = []

  readonly now = (): number => this.nowMs

  readonly after = (ms: number, callback: () => void): (() => void) => {
    this.#timers.push({ dueAt: this.nowMs + ms, callback })
    return () => {}
  }

  get timers(): number {
    return this.#timers.length
  }

  /** A turn of the loop: timers that are due, then work that takes `ms`. */
  turn(ms: number, work: () => void = () => {}): void {
    const due = this.#timers.filter(({ dueAt }) => dueAt <= this.nowMs)
    this.#timers = this.#timers.filter((timer) => !due.includes(timer))
    for (const { callback } of due) callback()
    work()
    this.nowMs += ms
  }
}
