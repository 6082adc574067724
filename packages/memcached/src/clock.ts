import { performance } from 'node:perf_hooks'
import { StoreError } from '@tollgate/core/store'
import type { Command, Looked, MemcachedPort, Reply } from './clients/port.js'
import { ToldTime } from './told-time.js'

/** How often a process that decides compares its clock with the others, in ms. */
const COMPARED_EVERY_MS = 100
/** How often it compares it with the server's, in ms. */
const CHECKED_EVERY_MS = 10_000
const KEPT_S = 120
/** How long a process goes on writing the time after its last command, in ms. */
const WRITES_ON_FOR_MS = 2500
/** A process that begins goes by its own clock if that is later than the common time by at most this, in ms. */
const MOST_LATER_MS = 150
/** Within this others write the time if there are any, in ms. */
const WRITTEN_WITHIN_MS = 250
/** How often an impossible time lets a process ask the server, in ms. */
const DOUBTED_EVERY_MS = 1000
/** So often others may write the time between a look at it and the answer. */
const MOST_TRIES = 5
/** How long the time of the server is waited for before the first decision, in ms. */
const LONGEST_TOLD_MS = 1000

/** The common time as it was found, in ms, when that was, and the token to write another one in its place. */
interface Found {
  readonly ms: number
  readonly at: number
  readonly token: string | undefined
}

/**
 * The time that all processes decide by. Memcached has no clock in ms, so they agree on one: each writes its time beside the
 * counters if it is the latest. One that reads a later time goes on from there. The server's clock in seconds says what is
 * possible: a process whose clock is off by more is set right by it first.
 *
 * A process that begins takes over the time of the others, since a later one would push all of them forward, and windows would
 * be skipped. Of several that begin at once, the first one writes it. A time that is no longer written is old: then the process
 * goes by its own. So a process that decides writes it for a while between its commands, too.
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
  #usedAt = -Infinity
  #writing: NodeJS.Timeout | undefined
  isSynced: boolean

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
    return (this.#synced ??= this.#begin().then(
      () => void (this.isSynced = true),
      (error: unknown) => {
        this.#synced = undefined
        throw error
      },
    ))
  }

  /** The command that compares this clock with the others, if it is time to. */
  comparison(): Command | undefined {
    if (this.#testClock) return undefined
    const at = performance.now()
    this.#use(at)
    return at - this.#comparedAt < COMPARED_EVERY_MS ? undefined : this.#comparisonAt(at)
  }

  /** Takes the reply to `comparison`. */
  compare(reply: Reply): void {
    const found = foundOf(reply)
    const now = this.#nowMs()
    const isPossible = this.#told.isPossible(found.ms, now)
    if (isPossible && found.ms > now) this.#origin += found.ms - now
    // Nobody waits for it. If it fails, the next comparison writes the time again.
    else this.#write(found).catch(() => {})
    const isDoubted = !isPossible && Number.isFinite(found.ms)
    if (isDoubted && performance.now() - this.#checkedAt >= DOUBTED_EVERY_MS) void this.#askServer()
  }

  /** Writes the time no more, until the next command. */
  close(): void {
    clearInterval(this.#writing)
    this.#writing = undefined
  }

  #use(at: number): void {
    this.#usedAt = at
    if (!this.#port.isOwn) return
    this.#writing ??= setInterval(() => this.#writeOn(), COMPARED_EVERY_MS).unref()
  }

  #comparisonAt(at: number): Command {
    this.#comparedAt = at
    if (at - this.#checkedAt >= CHECKED_EVERY_MS) void this.#askServer()
    return this.#looking()
  }

  #writeOn(): void {
    const at = performance.now()
    if (at - this.#usedAt > WRITES_ON_FOR_MS) return this.close()
    if (at - this.#comparedAt < COMPARED_EVERY_MS / 2) return
    this.#port.run([this.#comparisonAt(at)], this.#shard).then(
      ([reply]) => this.compare(reply),
      () => {},
    )
  }

  async #begin(): Promise<void> {
    const told = this.#askServer()
    const found = await this.#look()
    await Promise.race([told, pause(LONGEST_TOLD_MS)])
    const ahead = await this.#agree(found)
    if (ahead < 0 || ahead > MOST_LATER_MS) this.#setOn(-ahead)
    this.#use(performance.now())
  }

  /** Resolves with how far this clock is ahead of the common time, in ms: 0 if this process's time has become that. */
  async #agree(first: Found): Promise<number> {
    let found = first
    let isFresh = false
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const ahead = this.#aheadOf(found)
      if (ahead !== undefined && (isFresh || ahead <= MOST_LATER_MS)) return ahead
      // An earlier time is that of others, or is no longer written. Another look shows which.
      const again = ahead === undefined ? found : await this.#lookLater()
      isFresh = again.token !== found.token
      found = again
      if (isFresh) continue
      if (await this.#write(found)) return 0
      found = await this.#look()
      isFresh = true
    }
    return 0
  }

  async #lookLater(): Promise<Found> {
    await new Promise((done) => void setTimeout(done, WRITTEN_WITHIN_MS))
    return this.#look()
  }

  /** How far this clock is ahead of the common time, in ms; undefined if that cannot be right. */
  #aheadOf({ ms, at }: Found): number | undefined {
    const [latest, now] = [ms + performance.now() - at, this.#nowMs()]
    return this.#told.isPossible(latest, now) ? now - latest : undefined
  }

  async #askServer(): Promise<void> {
    const at = performance.now()
    this.#checkedAt = at
    // If the client cannot ask for it, the other processes' clock is enough.
    const seconds = await this.#port.serverTime(this.#shard).catch(() => undefined)
    if (seconds === undefined || !Number.isFinite(seconds)) return
    this.#setOn(this.#told.learn(seconds * 1000, at, this.#nowMs()))
  }

  #setOn(ms: number): void {
    this.#origin += ms
    if (ms < 0) this.#latestUs = 0
  }

  #looking(): Command {
    return { kind: 'look', key: this.#key }
  }

  async #look(): Promise<Found> {
    const [reply] = await this.#port.run([this.#looking()], this.#shard)
    return foundOf(reply)
  }

  /** Writes this process's time, unless others have written since they were found. Resolves with whether it did. */
  async #write({ token }: Found): Promise<boolean> {
    const [key, text, ttl] = [this.#key, this.#nowMs().toFixed(3), KEPT_S]
    const [reply] = await this.#port.run(
      [token === undefined ? { kind: 'add', key, text, ttl } : { kind: 'swap', key, text, ttl, token }],
      this.#shard,
    )
    return reply === true
  }

  #nowMs(): number {
    return this.#origin + performance.now()
  }
}

function foundOf(reply: Reply): Found {
  const { text, token } = (reply ?? {}) as Partial<Looked>
  return { ms: text === undefined ? NaN : Number(text), at: performance.now(), token }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms).unref())
}

function timeOf(given: unknown): number {
  if (Number.isFinite(given)) return Math.round((given as number) * 1000)
  throw new StoreError(`now gave ${String(given)}, expected ms since 1970`)
}
