import type { KernelName } from '../../algorithms/algorithm.js'
import { OUTSIDE_CALENDAR } from '../../algorithms/kernel.js'
import { ConfigError, StoreError } from '../../errors.js'
import type { CompiledLimit } from '../../limit-set.js'
import { needOptions } from '../../options.js'
import {
  KEPT_UNDER_TEST_CLOCK_MS,
  type Answer,
  type Call,
  type LimitOutcome,
  type RefundRequest,
  type Store,
  type StoreRequest,
} from '../store.js'
import { portOf, type RedisClient, type RedisPort, type ScriptArg } from './clients.js'
import { encodeOne, encodeRuns, SetsEncoder } from './encode.js'
import { refuseLate, Script } from './script.js'
import { consumeOneScripts, consumeScript, refundScript } from './scripts.generated.js'

export interface RedisStoreOptions {
  /** What every key begins with. Letters, digits and `_.:-`, at most 64. Default: `tollgate`. */
  readonly prefix?: string
  /** Now, in ms since 1970, in place of Redis's own time; for tests. Keys then stay an hour longer. */
  readonly now?: () => number
}

/**
 * Counts in Redis 6.2 or newer, or Valkey, shared by every process that uses the same server and prefix. Redis's
 * own clock decides. Nothing is sent until the first request.
 *
 * @param client an ioredis client, version 5 or 6, which stays yours: close it after the limiter. Make it with
 *               `autoResendUnfulfilledCommands: false`, or a lost connection can count requests twice
 * @throws {ConfigError} when the client is of an unknown kind or the prefix cannot be one
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  needOptions(options, ['prefix', 'now'], 'redisStore')
  const { prefix = 'tollgate', now } = options
  if (typeof prefix !== 'string' || !/^[\w.:-]{1,64}$/.test(prefix)) {
    throw new ConfigError('prefix', prefix, '1 to 64 letters, digits or _.:-')
  }
  if (now !== undefined && typeof now !== 'function') {
    throw new ConfigError('now', now, 'a function that returns ms since 1970')
  }
  return new RedisStore(portOf(client), prefix, now)
}

/** Take units, or only look. */
type Mode = 'take' | 'look'

class RedisStore implements Store {
  readonly immediate = false
  readonly joins = true
  readonly #port: RedisPort
  readonly #prefix: string
  readonly #now: (() => number) | undefined
  readonly #keptMs: number
  readonly #consume: Script
  readonly #consumeOne: Readonly<Record<KernelName, Script>>
  readonly #refund: Script
  /** How far Redis's clock is ahead of ours, in ms. It only chooses which calendar windows are sent. */
  #aheadMs = 0

  constructor(port: RedisPort, prefix: string, now: (() => number) | undefined) {
    this.#port = port
    this.#prefix = prefix
    this.#now = now
    this.#keptMs = now ? KEPT_UNDER_TEST_CLOCK_MS : 0
    this.#consume = new Script(port, consumeScript)
    this.#consumeOne = mapValues(consumeOneScripts, (script) => new Script(port, script))
    this.#refund = new Script(port, refundScript)
  }

  ready(): Promise<void> | undefined {
    return this.#port.ready()
  }

  consume(batch: readonly StoreRequest[], call?: Call): Promise<Answer[]> {
    return this.#decide(batch, 'take', call)
  }

  peek(batch: readonly StoreRequest[], call?: Call): Promise<Answer[]> {
    return this.#decide(batch, 'look', call)
  }

  async refund({ key, set, limits }: RefundRequest, call?: Call): Promise<boolean> {
    const [first] = limits
    if (!first) return false
    const sets = this.#encoder()
    const request = [sets.indexOf(set), first.units, first.at]
    const told = limits.flatMap(({ remaining, reset }) => [remaining, reset])
    const args = [this.#nowUs(), sets.json(), ...request, ...told]
    const reply = readReply(await this.#refund.run([this.#keyOf(key)], args, call))
    const error = errorIn(reply[1])
    if (error) throw error
    return Number(reply[1]) === 1
  }

  async reset(key: string): Promise<void> {
    await this.#port.del(this.#keyOf(key))
  }

  #keyOf(key: string): string {
    return `${this.#prefix}:${key}`
  }

  #nowUs(): ScriptArg {
    return this.#now ? Math.round(this.#now() * 1000) : ''
  }

  /** Redis's time, near enough to choose the windows of a calendar around it. */
  #nowMs(): number {
    return this.#now ? this.#now() : Date.now() + this.#aheadMs
  }

  #encoder(): SetsEncoder {
    return new SetsEncoder(this.#nowMs(), this.#keptMs)
  }

  #decide(batch: readonly StoreRequest[], mode: Mode, call: Call | undefined): Promise<Answer[]> {
    const asked = isOne(batch) ? this.#askOne(batch, mode, call) : this.#ask(batch, mode, call)
    return asked.then((answers) =>
      answers.some(isOutsideCalendar) ? this.#askAgain(batch, answers, mode, call) : answers,
    )
  }

  /** A request that is alone and simple; where what its subject has used is not, it is asked as any other. */
  #askOne(batch: readonly [StoreRequest], mode: Mode, call: Call | undefined): Promise<Answer[]> {
    const [{ set, key, cost }] = batch
    const script = this.#consumeOne[(set.limits[0] as CompiledLimit).kernel]
    const limit = encodeOne(set, this.#nowMs(), this.#keptMs)
    return script.run([this.#keyOf(key)], [this.#nowUs(), mode, cost, ...limit], call).then((given) => {
      if (!Array.isArray(given) || given.length > 0) return this.#read(batch, given)
      refuseLate(call)
      return this.#ask(batch, mode, call)
    })
  }

  #ask(batch: readonly StoreRequest[], mode: Mode, call: Call | undefined): Promise<Answer[]> {
    const sets = this.#encoder()
    const runs = encodeRuns(batch, sets)
    const keys: string[] = []
    for (const { key, also } of batch) {
      keys.push(this.#keyOf(key))
      if (also) keys.push(...also.map((ask) => this.#keyOf(ask.key)))
    }
    const args = [this.#nowUs(), mode, sets.json(), ...runs]
    return this.#consume.run(keys, args, call).then((given) => this.#read(batch, given))
  }

  #read(batch: readonly StoreRequest[], given: unknown): Answer[] {
    const reply = readReply(given)
    this.#aheadMs = Math.round(Number(reply[0]) / 1000) - Date.now()
    return readAnswers(batch, reply)
  }

  /** Those whose calendar was too far from Redis's time, which is known now. They have not been counted. */
  async #askAgain(
    batch: readonly StoreRequest[],
    answers: Answer[],
    mode: Mode,
    call: Call | undefined,
  ): Promise<Answer[]> {
    refuseLate(call)
    const outside = answers.flatMap((answer, i) => (isOutsideCalendar(answer) ? [i] : []))
    const requests = outside.map((i) => batch[i] as StoreRequest)
    const again = await this.#ask(requests, mode, call)
    outside.forEach((i, j) => {
      const answer = again[j] as Answer
      answers[i] = isOutsideCalendar(answer)
        ? new StoreError("Redis's clock jumped while it was asked")
        : answer
    })
    return answers
  }
}

function isOne(batch: readonly StoreRequest[]): batch is readonly [StoreRequest] {
  const [first] = batch
  return batch.length === 1 && first?.also === undefined && first?.set.limits.length === 1
}

function isOutsideCalendar(answer: Answer): boolean {
  return 'limits' in answer && answer.limits.some(({ wait }) => wait === OUTSIDE_CALENDAR)
}

function readReply(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply) && reply.length > 0) return reply
  throw new StoreError('Redis answered the script with something that is not a list')
}

function readAnswers(batch: readonly StoreRequest[], reply: readonly unknown[]): Answer[] {
  const at = Number(reply[0])
  let next = 1
  const readLimit = (): LimitOutcome => {
    const outcome = {
      wait: Number(reply[next]),
      remaining: Number(reply[next + 1]),
      reset: Number(reply[next + 2]),
    }
    next += 3
    return outcome
  }
  return batch.map((request) => {
    const error = errorIn(reply[next])
    if (error) {
      next += 1
      return error
    }
    const limits = request.set.limits.map(readLimit)
    for (const { set } of request.also ?? []) limits.push(...set.limits.map(readLimit))
    return { at, limits }
  })
}

/** A request that could not be decided has its error text in place of its numbers. */
function errorIn(value: unknown): StoreError | undefined {
  if (typeof value === 'number') return undefined
  // Clients can be told to answer numbers as strings.
  if (typeof value === 'string' && /^-?\d+$/.test(value)) return undefined
  return new StoreError(`Redis could not decide a request: ${String(value)}`)
}

function mapValues<Key extends string, T, U>(
  given: Readonly<Record<Key, T>>,
  map: (value: T) => U,
): Record<Key, U> {
  return Object.fromEntries(Object.entries<T>(given).map(([key, value]) => [key, map(value)])) as Record<
    Key,
    U
  >
}
