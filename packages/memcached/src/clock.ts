import { performance } from 'node:perf_hooks'
import { StoreError } from '@tollgate/core/store'
import type { Command, MemcachedPort, Reply } from './clients/port.js'

/** How often a process that decides compares its clock with the others, in ms. */
const COMPARED_EVERY_MS = 100
/** How often it compares it with the server's, in ms. */
const CHECKED_EVERY_MS = 10_000
/** A server tells whole seconds, and counts them once a second: its time is at most this much later, in ms. */
const SERVER_TICK_MS = 2100
/** Without news from the server, another process's clock is believed if it is at most this far away, in ms. */
const MOST_APART_MS = 60_000
const KEPT_S = 120
/** A written time that is older than this may be of processes that do not decide any more, in ms. */
const OLDEST_FRESH_MS = 150
/** So often a new process looks whether others write the time, before it goes by its own. */
const LOOKS_WHEN_JOINING = 4

/** A process that found a time earlier than its own, and does not know yet whether others decide by it. */
interface Joining {
  readonly found: Reply
  /** As its own clock would have it. */
  readonly origin: number
  readonly looks: number
}
/** How long the time of the server is waited for before the first decision, in ms. */
const LONGEST_TOLD_MS = 1000

/**
 * The time that all processes decide by. Memcached has no clock in ms, so they agree on one: each writes its time beside the
 * counters when it is the latest, and who reads a later one than its own goes on from there. The server's clock in seconds
 * says what is possible: a process whose clock is off by more is set right by it first.
 *
 * So clocks of processes that decide differ by a comparison and a trip: 0.25 s at most.
 */
export class CommonClock {
  readonly #port: MemcachedPort
  readonly #shard: number
  readonly #key: string
  readonly #testClock: (() => number) | undefined
  /** The time of this process in ms since 1970 is this much ahead of its monotonic clock. */
  #origin: number
  #latestUs = 0
  #comparedAt = -Infinity
  #checkedAt = -Infinity
  /** The latest time that the server told, in ms, and when. */
  #told: { readonly ms: number; readonly at: number } | undefined
  #synced: Promise<void> | undefined
  isSynced: boolean
  #joining: Joining | undefined

  constructor(
    port: MemcachedPort,
    shard: number,
    { key, now }: { readonly key: string; readonly now?: (() => number) | undefined },
  ) {
    this.#port = port
    this.#shard = shard
    this.#key = key
    this.#testClock = now
    this.#origin = Date.now() - performance.now()
    this.isSynced = now !== undefined
  }

  /** The server's time in ms, roughly: also where a test sets the time that decides. */
  get wallMs(): number {
    return this.#nowMs()
  }

  /** The time in whole µs since 1970. It goes back only where the server's clock says that it was wrong. */
  nowUs(): number {
    if (this.#testClock) return timeOf(this.#testClock())
    return (this.#latestUs = Math.max(this.#latestUs, Math.floor(this.#nowMs() * 1000)))
  }

  /** Asks the server and the other processes once, before the first decision. */
  sync(): Promise<void> {
    return (this.#synced ??= this.#check().then(
      () => void (this.isSynced = true),
      (error: unknown) => {
        this.#synced = undefined
        throw error
      },
    ))
  }

  /** The command that compares this clock with the others, if it is time to. */
  comparison(): Command | undefined {
    const at = performance.now()
    if (this.#testClock || at - this.#comparedAt < COMPARED_EVERY_MS) return undefined
    this.#comparedAt = at
    if (at - this.#checkedAt >= CHECKED_EVERY_MS) this.#check().catch(() => {})
    return { kind: 'read', key: this.#key }
  }

  /** Takes the reply to `comparison`. */
  compare(reply: Reply): void {
    const latest = typeof reply === 'string' ? Number(reply) : NaN
    if (this.#joining && this.#stillJoins(reply)) return
    const now = this.#nowMs()
    const isPossible = this.#isPossible(latest, now)
    if (isPossible && latest > now) this.#origin += latest - now
    else if (isPossible && !this.isSynced && now - latest > OLDEST_FRESH_MS) this.#join(reply, now - latest)
    // An answer that does not come is none that anybody waits for.
    else this.#port.run([this.#writing()], this.#shard).catch(() => {})
  }

  /**
   * A clock that is later than the common one would push all processes forward, and windows would be skipped. So it begins with the
   * common time, and goes by its own only if nobody else writes one.
   */
  #join(reply: Reply, aheadMs: number): void {
    this.#joining = { found: reply, origin: this.#origin, looks: 0 }
    this.#setBack(aheadMs)
  }

  /** Whether it is not known yet if others decide. */
  #stillJoins(reply: Reply): boolean {
    const { found, origin, looks } = this.#joining as Joining
    this.#joining = undefined
    if (reply !== found) return false
    if (looks < LOOKS_WHEN_JOINING) {
      this.#joining = { found, origin, looks: looks + 1 }
      return true
    }
    this.#origin = Math.max(this.#origin, origin)
    return false
  }

  async #check(): Promise<void> {
    const at = performance.now()
    this.#checkedAt = at
    this.#comparedAt = at
    const told = this.#port
      .serverTime(this.#shard)
      .then((seconds) => {
        if (seconds !== undefined && Number.isFinite(seconds)) this.#learn(seconds * 1000, at)
      })
      // A client that does not tell it: the other processes' clock is enough.
      .catch(() => {})
    const reading = this.#port.run([{ kind: 'read', key: this.#key }], this.#shard)
    const [replies] = await Promise.all([reading, Promise.race([told, pause(LONGEST_TOLD_MS)])])
    this.compare(replies[0])
  }

  /** @param askedAt the server had told this time at some moment since then */
  #learn(ms: number, askedAt: number): void {
    this.#told = { ms, at: performance.now() }
    const now = this.#nowMs()
    const late = ms - now
    const early = now - (ms + SERVER_TICK_MS + (performance.now() - askedAt))
    if (late > 0) this.#origin += late
    else if (early > 0) this.#setBack(early)
  }

  #setBack(ms: number): void {
    this.#origin -= ms
    this.#latestUs = 0
  }

  #isPossible(latest: number, now: number): boolean {
    if (!Number.isFinite(latest)) return false
    if (!this.#told) return Math.abs(latest - now) <= MOST_APART_MS
    const passed = performance.now() - this.#told.at
    // An earlier one was written before the server told its time.
    return latest >= this.#told.ms && latest - passed <= this.#told.ms + 2 * SERVER_TICK_MS
  }

  #writing(): Command {
    return { kind: 'set', key: this.#key, text: this.#nowMs().toFixed(3), ttl: KEPT_S }
  }

  #nowMs(): number {
    return this.#origin + performance.now()
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref())
}

function timeOf(given: unknown): number {
  if (Number.isFinite(given)) return Math.round((given as number) * 1000)
  throw new StoreError(`now gave ${String(given)}, expected ms since 1970`)
}
