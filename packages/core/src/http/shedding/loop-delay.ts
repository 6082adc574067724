import type { Timing } from '../../base/clocks.js'

/** One turn of the event loop: the time from one tick to the next. */
export interface Turn {
  /** How late the tick was, in ms. */
  readonly lateMs: number
  readonly turnMs: number
  /** Whether a queue stands. */
  readonly hasQueue: boolean
}

/** How long requests wait for the event loop, in ms. */
export interface Delays {
  /** How late the current turn is. */
  readonly delayMs: number
  /** How late the turn before was. */
  readonly beforeMs: number
}

const NO_DELAYS: Delays = { delayMs: 0, beforeMs: 0 }

/** Gets news of the event loop. */
export interface LoopListener {
  /** Requests come again after a time without any. */
  onStart(nowMs: number): void
  onTick(turn: Turn, nowMs: number): void
}

const TICK_MS = 10
/** After this many ticks without requests the timer stops, so that an idle process is not woken. */
const IDLE_TICKS = 100
/** A turn is late if its tick comes later than this, in ms. */
const TARGET_MS = 10
/** There is a queue once all turns were late for this long, in ms. */
const INTERVAL_MS = 200
/** A queue counts as standing for at least this long, in ms: refusals keep it short. */
const ALERT_MS = 1000
/** It counts as standing for at least this long after each late turn of the loop, in ms. */
const AGAIN_MS = 500

/**
 * How long requests wait for the event loop, measured by how late a timer is. As in CoDel (RFC 8289), only a standing
 * queue counts: one that no turn of the loop has emptied for a while. Bursts pass by themselves, and a turn that was late
 * for a single request held no other up.
 *
 * A request in the middle of a long turn must know how long that turn has lasted already: if handlers never wait, no two
 * requests are in flight, and the queue shows only in the loop. So `monitorEventLoopDelay` is no help: it reports only
 * turns that are over.
 */
export class LoopDelay {
  readonly #timing: Timing
  readonly #listener: LoopListener
  #dueAt = 0
  #beforeMs = 0
  #lateSince = Infinity
  #alertUntil = 0
  #begun = 0
  #ended = 0
  #idleTicks = 0
  #isRunning = false

  constructor(timing: Timing, listener: LoopListener) {
    this.#timing = timing
    this.#listener = listener
  }

  /** The delays of a standing queue; 0 without one. Measures from the first call on. */
  read(nowMs: number): Delays {
    this.#idleTicks = 0
    if (!this.#isRunning) this.#start(nowMs)
    if (!this.#hasQueue(nowMs)) return NO_DELAYS
    return { delayMs: Math.max(0, nowMs - this.#dueAt), beforeMs: this.#beforeMs }
  }

  #hasQueue(nowMs: number): boolean {
    if (nowMs - this.#lateSince >= INTERVAL_MS) this.#alertUntil = nowMs + ALERT_MS
    return nowMs < this.#alertUntil
  }

  /** A request was let in. */
  begun(): void {
    this.#begun += 1
  }

  /** A response is over. */
  ended(): void {
    this.#ended += 1
  }

  #start(nowMs: number): void {
    this.#isRunning = true
    this.#beforeMs = this.#begun = this.#ended = this.#alertUntil = 0
    this.#lateSince = Infinity
    this.#listener.onStart(nowMs)
    this.#wait(nowMs)
  }

  #wait(nowMs: number): void {
    this.#dueAt = nowMs + TICK_MS
    this.#timing.after(TICK_MS, this.#tick, false)
  }

  readonly #tick = (): void => {
    const nowMs = this.#timing.now()
    const lateMs = Math.max(0, nowMs - this.#dueAt)
    this.#beforeMs = lateMs
    const isQueue = lateMs > TARGET_MS && Math.max(this.#begun, this.#ended) > 1
    if (!isQueue) this.#lateSince = Infinity
    else if (this.#lateSince === Infinity) this.#lateSince = nowMs
    // Refusals empty the queue now and then, so one late turn keeps the alert.
    if (isQueue && this.#hasQueue(nowMs)) this.#alertUntil = Math.max(this.#alertUntil, nowMs + AGAIN_MS)
    this.#begun = this.#ended = 0
    this.#listener.onTick({ lateMs, turnMs: lateMs + TICK_MS, hasQueue: this.#hasQueue(nowMs) }, nowMs)
    this.#idleTicks += 1
    if (this.#idleTicks > IDLE_TICKS) this.#isRunning = false
    else this.#wait(nowMs)
  }
}
