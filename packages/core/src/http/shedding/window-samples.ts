import type { Window } from './gradient.js'
import type { Turn } from './loop-delay.js'

const WINDOW_MS = 100
/** A window goes on until it has so many latencies, or is this long, in ms. */
const LEAST_SAMPLES = 10
const LONGEST_WINDOW_MS = 1000
/** Of more latencies in a window the latest are kept. */
const MOST_SAMPLES = 256

/** Collects what happens into windows. */
export class WindowSamples {
  #sinceMs = 0
  #latencies: number[] = []
  #count = 0
  #inFlight = 0
  #weighedMs = 0
  #turnsMs = 0
  #hasRefused = false

  latency(ms: number): void {
    this.#latencies[this.#count % MOST_SAMPLES] = ms
    this.#count += 1
  }

  inFlight(count: number): void {
    if (count > this.#inFlight) this.#inFlight = count
  }

  refused(): void {
    this.#hasRefused = true
  }

  /**
   * The event loop came around.
   *
   * @returns the window that is over; undefined while it goes on, or when nothing happened in it
   */
  tick({ lateMs, turnMs, hasQueue }: Turn, nowMs: number): Window | undefined {
    // By its length, since that is how many requests meet it.
    if (hasQueue) this.#weighedMs += lateMs * turnMs
    this.#turnsMs += turnMs
    const lastedMs = nowMs - this.#sinceMs
    if (lastedMs < WINDOW_MS || (this.#count < LEAST_SAMPLES && lastedMs < LONGEST_WINDOW_MS))
      return undefined
    const window = this.#count === 0 ? undefined : this.#read()
    this.start(nowMs)
    return window
  }

  /** Forgets what was collected, and begins a window. */
  start(nowMs: number): void {
    this.#sinceMs = nowMs
    this.#latencies = []
    this.#count = this.#inFlight = this.#weighedMs = this.#turnsMs = 0
    this.#hasRefused = false
  }

  #read(): Window {
    const sorted = this.#latencies.toSorted((a, b) => a - b)
    return {
      medianMs: sorted[Math.floor(sorted.length / 2)] as number,
      inFlight: this.#inFlight,
      lateMs: this.#weighedMs / this.#turnsMs,
      hasRefused: this.#hasRefused,
    }
  }
}
