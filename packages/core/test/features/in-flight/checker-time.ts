// Timers of processes that share one JavaScript: each process has its own, and the checker says when time passes.
interface Timer {
  readonly atMs: number
  readonly run: () => void
  unref(): Timer
}

export class Timers {
  nowMs = 0
  readonly #timers = new Set<Timer>()

  /** In how many ms each of them is to run. */
  state(): number[] {
    return [...this.#timers].map(({ atMs }) => Math.max(atMs - this.nowMs, 0))
  }

  /** Whether one of them is to run within so many ms. */
  isDue(ms: number): boolean {
    return this.#next(this.nowMs + ms) !== undefined
  }

  add(run: () => void, ms: number): Timer {
    const timer: Timer = { atMs: this.nowMs + ms, run, unref: () => timer }
    this.#timers.add(timer)
    return timer
  }

  remove(timer: Timer | undefined): void {
    if (timer) this.#timers.delete(timer)
  }

  /** Lets time pass. What is due runs in its order, and so does what it starts, unless the process stands still. */
  pass(ms: number, standsStill = false): void {
    const untilMs = this.nowMs + ms
    for (let next = this.#next(untilMs); next && !standsStill; next = this.#next(untilMs)) {
      this.#timers.delete(next)
      this.nowMs = Math.max(this.nowMs, next.atMs)
      within(this, next.run)
    }
    this.nowMs = untilMs
  }

  #next(untilMs: number): Timer | undefined {
    let next: Timer | undefined
    for (const timer of this.#timers)
      if (timer.atMs <= untilMs && (!next || timer.atMs < next.atMs)) next = timer
    return next
  }
}

let current = new Timers()

/** Does something as a process with these timers. */
export function within<T>(timers: Timers, work: () => T): T {
  const before = current
  current = timers
  try {
    return work()
  } finally {
    current = before
  }
}

/** In place of `base/timers`. */
export const mockTimers = {
  setImmediate: (run: () => void): Timer => current.add(run, 0),
  setTimeout: (run: () => void, ms: number): Timer => current.add(run, ms),
  clearTimeout: (timer: Timer | undefined): void => current.remove(timer),
  elapsedMs: (): number => current.nowMs,
}
