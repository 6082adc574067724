import { performance } from 'node:perf_hooks'
import { StoreError } from '@tollgate/core/store'
import type { Command, MemcachedPort, Reply } from './clients/port.js'
import { Joining } from './joining.js'
import { ToldTime } from './told-time.js'

/** How often a process that decides compares its clock with the others, in ms. */
const COMPARED_EVERY_MS = 100
/** How often it compares it with the server's, in ms. */
const CHECKED_EVERY_MS = 10_000
const KEPT_S = 120
/** A written time that is older than this may be of processes that do not decide any more, in ms. */
const OLDEST_FRESH_MS = 150
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
  readonly #told = new ToldTime()
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
    if (this.#joining && this.#stillJoins(this.#joining, reply)) return
    const now = this.#nowMs()
    const isPossible = this.#told.isPossible(latest, now)
    if (isPossible && latest > now) this.#origin += latest - now
    else if (isPossible && !this.isSynced && now - latest > OLDEST_FRESH_MS) {
      this.#joining = new Joining(reply, this.#origin)
      this.#setBack(now - latest)
    } else {
      // Nobody waits for it. If it fails, the next comparison writes the time again.
      this.#port.run([this.#writing()], this.#shard).catch(() => {})
    }
  }

  /** Whether it is not known yet if others decide. */
  #stillJoins(joining: Joining, reply: Reply): boolean {
    const seen = joining.look(reply)
    if (seen === 'unknown') return true
    this.#joining = undefined
    if (seen === 'nobody') this.#origin = Math.max(this.#origin, joining.origin)
    return false
  }

  async #check(): Promise<void> {
    const at = performance.now()
    this.#checkedAt = at
    this.#comparedAt = at
    const told = this.#port
      .serverTime(this.#shard)
      .then((seconds) => {
        if (seconds === undefined || !Number.isFinite(seconds)) return
        const wrong = this.#told.learn(seconds * 1000, at, this.#nowMs())
        if (wrong < 0) this.#setBack(-wrong)
        else this.#origin += wrong
      })
      // A client that does not tell it: the other processes' clock is enough.
      .catch(() => {})
    const reading = this.#port.run([{ kind: 'read', key: this.#key }], this.#shard)
    const [replies] = await Promise.all([reading, Promise.race([told, pause(LONGEST_TOLD_MS)])])
    this.compare(replies[0])
  }

  #setBack(ms: number): void {
    this.#origin -= ms
    this.#latestUs = 0
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
