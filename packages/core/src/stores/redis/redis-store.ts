import type { AlgorithmName } from '../../algorithms/registry.js'
import { ConfigError, StoreError } from '../../base/errors.js'
import { needOptions } from '../../base/option-checks.js'
import type { CompiledLimit } from '../../plans/limit-set.js'
import {
  ID_KEPT_MS,
  KEPT_UNDER_TEST_CLOCK_MS,
  type Answer,
  type Call,
  type RefundAnswer,
  type RefundRequest,
  type Store,
  type StoreRequest,
} from '../contract.js'
import { OUTSIDE, readAnswers, readRefunds, readReply } from './answers.js'
import { portOf, type RedisClient, type RedisPort, type ScriptArg } from './clients/index.js'
import { layoutOf, type Layout } from './layout.js'
import { encodeOne, LimitSets } from './limit-sets.js'
import { ReplicatedStore, type WaitForReplicasOptions } from './replicated-store.js'
import { storeErrorOf } from './replies.js'
import { encodeRefunds, encodeRequests } from './requests.js'
import { refuseLate, Script } from './script.js'
import { consumeOneScripts, consumeScript, refundScript } from './scripts.generated.js'
import { warnOfServer } from './server-check.js'

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
  const store = new RedisStore(port, layoutOf(prefix, port.isCluster, shards), now)
  return waitForReplicas === undefined ? store : new ReplicatedStore(store, port, waitForReplicas)
}

/** Take units, or only look. */
type Mode = 'take' | 'look'

class RedisStore implements Store {
  readonly synchronous = false
  readonly atomic = true
  readonly clock = 'server'
  readonly shards?: number
  readonly #port: RedisPort
  readonly #layout: Layout
  readonly #now: (() => number) | undefined
  /** How much longer than they must keys stay, under a test's clock. */
  readonly #keptMs: number
  readonly #consume: Script
  readonly #consumeOne: Readonly<Record<AlgorithmName, Script>>
  readonly #refund: Script
  /** How far Redis's clock is ahead of ours, in ms. It only chooses which calendar windows are sent. */
  #aheadMs = 0

  constructor(port: RedisPort, layout: Layout, now: (() => number) | undefined) {
    if (layout.shards !== undefined) this.shards = layout.shards
    this.#port = port
    this.#layout = layout
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

  refund(batch: readonly RefundRequest[]): Promise<RefundAnswer[]> {
    const ask = (requests: readonly RefundRequest[]): Promise<(RefundAnswer | typeof OUTSIDE)[]> => {
      const sets = this.#limitSets()
      const { keys, args } = encodeRefunds(requests, sets, this.#layout)
      const sent = [this.#nowUs(), sets.json(), ID_KEPT_MS + this.#keptMs, ...args]
      return this.#refund
        .run({ keys, args: sent, shard: shardOf(requests) })
        .then((given) => readRefunds(this.#learnTime(given)))
    }
    return ask(batch).then((answers) => againIfOutside(batch, answers, ask))
  }

  async reset(keys: readonly string[], shard: number): Promise<void> {
    if (keys.length === 0) return
    await this.#port.del(keys.map((key) => this.#layout.nameOf(key, shard))).catch((error: unknown) => {
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

  #limitSets(): LimitSets {
    return new LimitSets(this.#nowMs(), this.#keptMs)
  }

  #decide(batch: readonly StoreRequest[], mode: Mode, call: Call | undefined): Promise<Answer[]> {
    warnOfServer(this.#port)
    const asked = isOne(batch) ? this.#askOne(batch, mode, call) : this.#ask(batch, mode, call)
    return asked.then((answers) =>
      againIfOutside(batch, answers, (requests) => {
        refuseLate(call)
        return this.#ask(requests, mode, call)
      }),
    )
  }

  #askOne(
    batch: readonly [StoreRequest],
    mode: Mode,
    call: Call | undefined,
  ): Promise<(Answer | typeof OUTSIDE)[]> {
    const [{ shard, parts }] = batch
    const [{ set, key, cost }] = parts as readonly [StoreRequest['parts'][number]]
    const script = this.#consumeOne[(set.limits[0] as CompiledLimit).algorithm]
    const args = [this.#nowUs(), mode, cost, ...encodeOne(set, this.#nowMs(), this.#keptMs)]
    const keys = [this.#layout.nameOf(key, shard)]
    return script.run({ keys, args, shard, call }).then((given) => readAnswers(batch, this.#learnTime(given)))
  }

  #ask(
    batch: readonly StoreRequest[],
    mode: Mode,
    call: Call | undefined,
  ): Promise<(Answer | typeof OUTSIDE)[]> {
    const sets = this.#limitSets()
    const { keys, args } = encodeRequests(batch, sets, this.#layout)
    const isForce = mode === 'take' && batch.some(({ grant }) => grant === 'force')
    const sent = [this.#nowUs(), isForce ? 'force' : mode, sets.json(), ID_KEPT_MS + this.#keptMs, ...args]
    return this.#consume
      .run({ keys, args: sent, shard: shardOf(batch), call })
      .then((given) => readAnswers(batch, this.#learnTime(given)))
  }

  #learnTime(given: unknown): readonly unknown[] {
    const reply = readReply(given)
    this.#aheadMs = Math.round(Number(reply[0]) / 1000) - Date.now()
    return reply
  }
}

/** Asks again for those whose calendar was too far from Redis's time, which is known now. Nothing of them was done. */
function againIfOutside<Request, A>(
  batch: readonly Request[],
  answers: readonly (A | typeof OUTSIDE)[],
  ask: (requests: readonly Request[]) => Promise<readonly (A | typeof OUTSIDE)[]>,
): (A | StoreError)[] | Promise<(A | StoreError)[]> {
  const outside = batch.filter((_, i) => answers[i] === OUTSIDE)
  if (outside.length === 0) return answers as A[]
  return ask(outside).then((again) => {
    let next = 0
    return answers.map((answer) => {
      const given = answer === OUTSIDE ? (again[next++] as A | typeof OUTSIDE) : answer
      return given === OUTSIDE ? new StoreError("Redis's clock jumped while it was asked") : given
    })
  })
}

/** Every batch is of one shard. */
function shardOf(batch: readonly { readonly shard: number }[]): number {
  return batch[0]?.shard ?? 0
}

function isOne(batch: readonly StoreRequest[]): batch is readonly [StoreRequest] {
  const [first] = batch
  return (
    batch.length === 1 &&
    first?.grant === 'all' &&
    first.parts.length === 1 &&
    first.parts[0]?.set.limits.length === 1
  )
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
