import { performance } from 'node:perf_hooks'

/** A server gives whole seconds, and counts them once a second. Its time is at most this much later, in ms. */
const SERVER_TICK_MS = 2100
/** Without news from the server, another process's clock is believed if it is at most this far away, in ms. */
const MOST_APART_MS = 60_000

/** What the server's clock, in seconds, says about the time. */
export class ToldTime {
  /** The latest time that it gave, in ms, and when. */
  #told: { readonly ms: number; readonly at: number } | undefined

  /**
   * @param askedAt the server gave this time at some moment since then
   * @param now     by this process's clock, in ms
   * @returns by how many ms that clock is to be set on, or back if below 0. The first time it must agree with the server. Later
   *   others follow it and would all jump, so it stays while they think it possible
   */
  learn(ms: number, askedAt: number, now: number): number {
    const at = performance.now()
    const spareMs = this.#told ? SERVER_TICK_MS : 0
    this.#told = { ms, at }
    const latest = ms + SERVER_TICK_MS + at - askedAt
    if (now < ms - spareMs) return ms - now
    return now > latest + spareMs ? latest - now : 0
  }

  /** Whether another process's time can be right. */
  isPossible(latest: number, now: number): boolean {
    if (!Number.isFinite(latest)) return false
    if (!this.#told) return Math.abs(latest - now) <= MOST_APART_MS
    const passed = performance.now() - this.#told.at
    // The server may have given it to the other process a tick earlier, or later.
    const { ms } = this.#told
    return latest >= ms - SERVER_TICK_MS && latest - passed <= ms + 2 * SERVER_TICK_MS
  }
}
