import { ConfigError, isPassing } from '../../base/errors.js'
import { isWhole, needOptions } from '../../base/options.js'
import { thrownText, warn } from '../../base/warnings.js'
import { clearTimeout, elapsedMs, setTimeout } from '../../base/timers.js'
import type { RedisPort } from './clients/index.js'

/** How many replicas must have a write before `redisStore` returns its decision, and how long to wait for them. */
export interface WaitForReplicasOptions {
  /** The number of replicas, from 1. */
  readonly count: number
  /** How long to wait for them, in ms, from 1. Keep it well below `deadlineMs`, or the failure policy decides. */
  readonly timeoutMs: number
}

type Wait = NonNullable<RedisPort['wait']>

/** After replicas were late, how long decisions do not wait for them, in ms. */
const AGAIN_AFTER_MS = 1000
/** Redis ends an expired WAIT only when it next wakes up, which can be 100 ms late. Any command wakes it. */
const WAKE_EVERY_MS = 5
const MOST_WAKES = 40

/**
 * Waits for replicas with WAIT, which blocks the connection. So only one WAIT is under way at a time, for all batches answered
 * before it. After replicas were late, none is sent for a second.
 *
 * @see https://redis.io/docs/latest/commands/wait/
 */
export class ReplicaWait {
  readonly #port: RedisPort
  readonly #wait: Wait
  readonly #options: WaitForReplicasOptions
  /** The batches for which no WAIT has been sent yet. */
  #waiting: (() => void)[] = []
  #isUnderWay = false
  #againAtMs = Number.NEGATIVE_INFINITY
  #hasWarned = false

  constructor(port: RedisPort, wait: Wait, options: WaitForReplicasOptions) {
    this.#port = port
    this.#wait = wait
    this.#options = { ...options }
  }

  /** Resolves when replicas have everything that was answered on this connection before, or are late. Never rejects. */
  written(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (!this.#isUnderWay) void this.#serve()
    })
  }

  async #serve(): Promise<void> {
    this.#isUnderWay = true
    while (this.#waiting.length > 0) {
      const served = this.#waiting
      this.#waiting = []
      if (elapsedMs() >= this.#againAtMs && !(await this.#haveReplicas())) {
        this.#againAtMs = elapsedMs() + AGAIN_AFTER_MS
      }
      for (const resolve of served) resolve()
    }
    this.#isUnderWay = false
  }

  async #haveReplicas(): Promise<boolean> {
    try {
      return Number(await this.#ask()) >= this.#options.count
    } catch (error) {
      this.#warnOf(error)
      return false
    }
  }

  /** Sends WAIT, and wakes Redis when the time is up. Resolves to 0 if there is no reply long after that. */
  #ask(): Promise<unknown> {
    const { count, timeoutMs } = this.#options
    return new Promise((resolve, reject) => {
      let wakes = 0
      const wake = (): void => {
        if (wakes === MOST_WAKES) return resolve(0)
        wakes += 1
        // This one returns at once when its turn comes.
        this.#wait(0, 0).catch(() => {})
        timer = setTimeout(wake, WAKE_EVERY_MS).unref()
      }
      let timer = setTimeout(wake, timeoutMs + WAKE_EVERY_MS).unref()
      this.#wait(count, timeoutMs)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer))
    })
  }

  /** Warns once. Decisions themselves report what stops them, too, such as a lost connection. */
  #warnOf(thrown: unknown): void {
    const error = this.#port.errorOf(thrown)
    const { reason } = error
    if (this.#hasWarned || (reason !== 'unknown' && (isPassing(error) || reason === 'closed'))) return
    this.#hasWarned = true
    const remedy = reason === 'not-permitted' ? ' Run: ACL SETUSER name +wait' : ''
    warn(
      'TOLLGATE_REDIS_SERVER',
      `waitForReplicas has no effect, since Redis refuses WAIT (${thrownText(thrown)}), so a failover can lose decisions.${remedy}`,
    )
  }
}

/** Stores of one client with the same options share one, since they share the connection. */
const known = new WeakMap<RedisPort, Map<string, ReplicaWait>>()

/** @throws {ConfigError} when an option is wrong, or the client cannot send WAIT on the connection that it writes on */
export function replicaWaitOf(port: RedisPort, options: WaitForReplicasOptions): ReplicaWait {
  needOptions(options, ['count', 'timeoutMs'], 'waitForReplicas')
  for (const name of ['count', 'timeoutMs'] as const) {
    if (isWhole(options[name], 1)) continue
    const expected = 'a whole number from 1: { count: 1, timeoutMs: 50 }'
    throw ConfigError.wrong(`waitForReplicas.${name}`, options[name], expected)
  }
  if (!port.wait) {
    const problem = 'this client writes on several connections, and WAIT covers only one'
    throw new ConfigError('waitForReplicas', `${problem}: leave it out, or use a client with one connection`)
  }
  const ofPort = known.get(port) ?? new Map<string, ReplicaWait>()
  known.set(port, ofPort)
  const name = `${options.count}/${options.timeoutMs}`
  const replicas = ofPort.get(name) ?? new ReplicaWait(port, port.wait, options)
  ofPort.set(name, replicas)
  return replicas
}
