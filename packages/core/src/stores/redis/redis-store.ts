import type { AlgorithmName } from '../../algorithms/registry.js'
import { ConfigError, StoreError } from '../../base/errors.js'
import type { CompiledLimit } from '../../plans/limit-set.js'
import { needOptions } from '../../base/option-checks.js'
import {
  KEPT_UNDER_TEST_CLOCK_MS,
  type Answer,
  type Call,
  type RefundRequest,
  type Store,
  type StoreRequest,
} from '../contract.js'
import { errorIn, isOutsideCalendar, readAnswers, readReply } from './answers.js'
import { portOf, type RedisClient, type RedisPort, type ScriptArg } from './clients/index.js'
import { ConfirmedStore, type WaitForReplicasOptions } from './replicated-store.js'
import { encodeOne, encodeRuns, SetsEncoder } from './encode.js'
import { layoutOf, type Layout } from './layout.js'
import { storeErrorOf } from './replies.js'
import { refuseLate, Script } from './script.js'
import { ShardedStore } from './sharded-store.js'
import { consumeOneScripts, consumeScript, refundScript } from './scripts.generated.js'
import { warnOfOldServer } from './version.js'

export interface RedisStoreOptions {
  /** What every key begins with. Letters, digits and `_.:-`, at most 64. Default: `tollgate`. */
  readonly prefix?: string
  /**
   * In how many shards the keys of a cluster are; the requests of one tick that fall into one go in one call. Only for
   * a cluster client. Every process must have the same: with another number counts start anew. Default: 16.
   */
  readonly shards?: number
  /**
   * Gives decisions when so many replicas have them, so that one that becomes the primary has lost none. The connection
   * does nothing else meanwhile. Not for a cluster, pool or sentinel client of node-redis.
   */
  readonly waitForReplicas?: WaitForReplicasOptions
  /** Now, in ms since 1970, in place of Redis's own time; for tests. Keys then stay an hour longer. */
  readonly now?: () => number
}

/**
 * Counts in Redis 6.2 or newer, or Valkey, shared by every process that uses the same server and prefix. Redis's
 * own clock decides. Nothing is sent until the first request.
 *
 * @param client a client of ioredis 5 or 6, iovalkey, or node-redis 5 or 6, which stays yours: close it after the
 *               limiter. docs/redis.md has the settings it should have; one that lets requests count twice is warned of
 * @throws {ConfigError} when the client is of an unknown kind, the prefix cannot be one, or `shards` does not fit
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  needOptions(options, ['prefix', 'shards', 'waitForReplicas', 'now'], 'redisStore')
  const { prefix = 'tollgate', shards, waitForReplicas, now } = options
  if (typeof prefix !== 'string' || !/^[\w.:-]{1,64}$/.test(prefix)) {
    throw new ConfigError('prefix', prefix, '1 to 64 letters, digits or _.:-')
  }
  if (now !== undefined && typeof now !== 'function') {
    throw new ConfigError('now', now, 'a function that returns ms since 1970')
  }
  const port = portOf(client)
  const layout = layoutOf(prefix, port.isCluster, shards)
  const store = new RedisStore(port, layout, now)
  if (waitForReplicas !== undefined) return new ConfirmedStore(store, port, waitForReplicas)
  return port.isCluster ? new ShardedStore(store) : store
}

/** Take units, or only look. */
type Mode = 'take' | 'look'

/** Of one server, or of one shard at a time: every batch is of keys that are together. */
class RedisStore implements Store {
  readonly immediate = false
  readonly joins = true
  readonly #port: RedisPort
  readonly #layout: Layout
  readonly #now: (() => number) | undefined
  readonly #keptMs: number
  readonly #consume: Script
  readonly #consumeOne: Readonly<Record<AlgorithmName, Script>>
  readonly #refund: Script
  /** How far Redis's clock is ahead of ours, in ms. It only chooses which calendar windows are sent. */
  #aheadMs = 0

  constructor(port: RedisPort, layout: Layout, now: (() => number) | undefined) {
    this.#port = port
    this.#layout = layout
    this.#now = now
    this.#keptMs = now ? KEPT_UNDER_TEST_CLOCK_MS : 0
    this.#consume = new Script(port, consumeScript)
    this.#consumeOne = mapValues(consumeOneScripts, (script) => new Script(port, script))
    this.#refund = new Script(port, refundScript)
  }

  get shards(): number {
    return this.#layout.shards
  }

  shardOf(key: string): number {
    return this.#layout.shardOf(key)
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

  async refund({ key, set, limits }: RefundRequest): Promise<boolean> {
    const [first] = limits
    if (!first) return false
    const sets = this.#encoder()
    const request = [sets.indexOf(set), first.units, first.at]
    const told = limits.flatMap(({ remaining, reset }) => [remaining, reset])
    const args = [this.#nowUs(), sets.json(), ...request, ...told]
    const keys = [this.#layout.nameOf(key)]
    const reply = readReply(await this.#refund.run({ keys, args, shard: this.shardOf(key) }))
    const error = errorIn(reply[1])
    if (error) throw error
    return Number(reply[1]) === 1
  }

  async reset(key: string): Promise<void> {
    await this.#port.del(this.#layout.nameOf(key)).catch((error: unknown) => {
      throw storeErrorOf(error)
    })
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
    warnOfOldServer(this.#port)
    const asked = isOne(batch) ? this.#askOne(batch, mode, call) : this.#ask(batch, mode, call)
    return asked.then((answers) =>
      answers.some(isOutsideCalendar) ? this.#askAgain(batch, answers, mode, call) : answers,
    )
  }

  /** A request that is alone and simple; where what its subject has used is not, it is asked as any other. */
  #askOne(batch: readonly [StoreRequest], mode: Mode, call: Call | undefined): Promise<Answer[]> {
    const [{ set, key, cost }] = batch
    const script = this.#consumeOne[(set.limits[0] as CompiledLimit).kernel]
    const args = [this.#nowUs(), mode, cost, ...encodeOne(set, this.#nowMs(), this.#keptMs)]
    const keys = [this.#layout.nameOf(key)]
    return script.run({ keys, args, shard: this.shardOf(key), call }).then((given) => {
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
      keys.push(this.#layout.nameOf(key))
      if (also) keys.push(...also.map((ask) => this.#layout.nameOf(ask.key)))
    }
    const args = [this.#nowUs(), mode, sets.json(), ...runs]
    const shard = this.shardOf((batch[0] as StoreRequest).key)
    return this.#consume.run({ keys, args, shard, call }).then((given) => this.#read(batch, given))
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

function mapValues<Key extends string, T, U>(
  given: Readonly<Record<Key, T>>,
  map: (value: T) => U,
): Record<Key, U> {
  return Object.fromEntries(Object.entries<T>(given).map(([key, value]) => [key, map(value)])) as Record<
    Key,
    U
  >
}
