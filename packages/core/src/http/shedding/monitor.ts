import { processTiming, type Timing } from '../../base/clocks.js'
import { processWide } from '../../base/warnings.js'
import type { ResponseEnd } from '../adapter.js'
import { afterWindow, AT_REST, type Window } from './gradient.js'
import { LoopDelay, type Delays, type Turn } from './loop-delay.js'

/** How busy the process is. */
export interface Load extends Delays {
  /** Requests in flight, without the one that is asked about. */
  readonly inFlight: number
  /** The limit of the gradient. */
  readonly limit: number
}

/** A request that was let in. */
interface Ticket extends UnderWay {
  /** Its limits are being asked, the application works on it, or its response is over. */
  state: 'asking' | 'working' | 'over'
}

/** A request whose decision takes longer is waiting in line, which is no work for the process. */
const ASKING_MS = 100
/** A response that takes longer is a stream. It no longer counts as in flight, and its duration is not a latency. */
const STREAM_MS = 30_000

/** How busy this process is with requests. */
export class Monitor {
  readonly #timing: Timing
  readonly #tickets = new WeakMap<object, Ticket>()
  readonly #asking = new InOrder<Ticket>(ASKING_MS)
  readonly #working = new InOrder<Ticket>(STREAM_MS)
  readonly #samples = new WindowSamples()
  readonly #delay: LoopDelay
  #gradient = AT_REST

  constructor(timing: Timing) {
    this.#timing = timing
    this.#delay = new LoopDelay(timing, {
      onStart: (nowMs) => {
        this.#samples.start(nowMs)
        this.#gradient = { ...AT_REST, longMs: this.#gradient.longMs }
      },
      onTick: (turn, nowMs) => {
        const window = this.#samples.tick(turn, nowMs)
        if (window) this.#gradient = afterWindow(this.#gradient, window)
      },
    })
  }

  load(): Load {
    const nowMs = this.#timing.now()
    const delays = this.#delay.read(nowMs)
    const inFlight = this.#asking.count(nowMs) + this.#working.count(nowMs)
    return { inFlight, limit: this.#gradient.limit, ...delays }
  }

  /** Whether the request was let in already, by this limiter or another. */
  has(req: object): boolean {
    return this.#tickets.has(req)
  }

  /**
   * A request is let in; its limits are asked next.
   *
   * @returns call it when the response is over
   */
  enter(req: object): (end: ResponseEnd) => void {
    const nowMs = this.#timing.now()
    const ticket: Ticket = { sinceMs: nowMs, state: 'asking' }
    this.#tickets.set(req, ticket)
    this.#delay.begun()
    this.#asking.add(ticket, nowMs)
    this.#samples.inFlight(this.#asking.count(nowMs) + this.#working.count(nowMs))
    return (end) => this.#end(ticket, end)
  }

  /** Its limits let it in, too: the application starts to work on it. */
  begin(req: object): void {
    const ticket = this.#tickets.get(req)
    if (ticket?.state !== 'asking') return
    ticket.state = 'working'
    this.#asking.delete(ticket)
    this.#working.add(ticket, this.#timing.now())
  }

  refused(): void {
    this.#samples.refused()
  }

  #end(ticket: Ticket, end: ResponseEnd): void {
    const tookMs = this.#timing.now() - ticket.sinceMs
    ticket.state = 'over'
    this.#delay.ended()
    this.#asking.delete(ticket)
    if (!this.#working.delete(ticket) || tookMs > STREAM_MS) return
    // A request that failed or was aborted may have been quick for that reason, so it counts only if it took long.
    const isWhole = !end.isAborted && end.status < 400
    if (isWhole || tookMs > this.#gradient.longMs) this.#samples.latency(tookMs)
  }
}

/** The one monitor of this process: all its applications and limiters share the event loop and the processor. */
export function monitorOfProcess(): Monitor {
  return processWide('load monitor', () => new Monitor(processTiming))
}

interface UnderWay {
  /** When it started, in ms of a monotonic clock. */
  sinceMs: number
}

/** What is under way, in the order in which it started. Anything that takes longer than a bound drops out. */
class InOrder<T extends UnderWay> {
  readonly #mostMs: number
  readonly #members = new Set<T>()

  constructor(mostMs: number) {
    this.#mostMs = mostMs
  }

  add(member: T, nowMs: number): void {
    member.sinceMs = nowMs
    this.#members.add(member)
  }

  /** Returns whether it was still there. */
  delete(member: T): boolean {
    return this.#members.delete(member)
  }

  /** Without those that took too long. */
  count(nowMs: number): number {
    for (const member of this.#members) {
      if (nowMs - member.sinceMs <= this.#mostMs) break
      this.#members.delete(member)
    }
    return this.#members.size
  }
}

const WINDOW_MS = 100
/** A window lasts until it has this many latencies, or is LONGEST_WINDOW_MS long. */
const LEAST_SAMPLES = 10
const LONGEST_WINDOW_MS = 1000
/** A window keeps only the latest latencies. */
const MOST_SAMPLES = 256

/** Measures what happens, in windows of time. */
class WindowSamples {
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
    // A long turn weighs more, since more requests arrive in it.
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
