// The clocks of this process, which a test sets as an administrator or NTP does. Import it before anything of src, and mock
// src/base/timers.js by `withProcessTime`.
const realNow = Date.now
let passedMs = 0
let setMs = 0
// Bound, so that its text is that of native code: it is not to be taken for a fake of a user's test.
Date.now = (() => Math.floor(realNow() + passedMs + setMs)).bind(undefined)

/** Within this time the clock that was set is read. */
const NOTICED_MS = 20

export const processTime = {
  /** Lets time pass, on both clocks. */
  pass(ms: number): void {
    passedMs += ms
  },
  /** Sets the system's clock by so many ms, forward or back, and lets 20 ms pass. */
  set(ms: number): void {
    setMs += ms
    passedMs += NOTICED_MS
  },
  /** Sets the system's clock to a time in ms since 1970. */
  setTo(ms: number): void {
    this.set(ms - Date.now())
  },
}

/** Node's timers, whose monotonic clock `pass` moves on. */
export function withProcessTime<Timers extends { elapsedMs(): number }>(timers: Timers): Timers {
  return { ...timers, elapsedMs: () => timers.elapsedMs() + passedMs }
}
