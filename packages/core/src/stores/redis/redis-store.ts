import { StoreError, atCaller, ConfigError } from '../../base/errors.js'
import { needClock, needOptions } from '../../base/options.js'
import { elapsedMs } from '../../base/timers.js'
import { warn } from '../../base/warnings.js'
import type { CompiledLimit } from '../../plans/limit/limit-set.js'
import {
  ID_KEPT_MS,
  KEPT_UNDER_TEST_CLOCK_MS,
  type Answer,
  type Call,
  type RefundAnswer,
  type RefundRequest,
  type Store,
  type StoreListener,
  type StoreRequest,
} from '../contract.js'
import { spaceOf } from '../store-check.js'
import { portOf, type RedisClient } from './clients/index.js'
import type { RedisPort, ScriptArg } from './clients/port.js'
import { type Layout, layoutOf } from './layout.js'
import type { WaitForReplicasOptions } from './replica-wait.js'
import { ReplicatedStore } from './replicated-store.js'
import { refuseLate, Script, type Sending } from './script.js'
import {
  consumeRunScripts,
  consumeScript,
  consumeSlotsScripts,
  refundScript,
} from './scripts/scripts.generated.js'
import { readAnswers, readRefunds, readReply, OUTSIDE } from './wire/decode.js'
import { encodeOne, LimitSets } from './wire/limit-sets.js'
import { encodeRefunds, encodeRequests } from './wire/encode.js'
import { onlyRunOf, onlySlotsRunOf, type OnlyRun, encodeSlots } from './wire/runs.js'

/** Whether to take units or only to look. */
export type Mode = 'take' | 'look'

export interface RedisStoreSettings {
  /** The same object for all stores of one client and prefix. */
  readonly space: object
  /** A test's clock, in ms since 1970. */
  readonly now: (() => number) | undefined
}

/** What is sent for a batch, and where its answers are, as `readAnswers` takes it. */
interface ScriptCall {
  readonly script: Script
  readonly sending: Sending
  readonly answered: readonly (readonly number[])[] | undefined
}

export class RedisStore implements Store {
  readonly synchronous = false
  readonly atomic = true
  readonly leases = true
  readonly slots = true
  readonly holds = true
  readonly clock = 'server'
  readonly shards?: number
  readonly space: object
  readonly testClock?: () => number
  readonly #port: RedisPort
  readonly #layout: Layout
  readonly #now: (() => number) | undefined
  /** How many ms longer than necessary keys are kept, under a test's clock. */
  readonly #keptMs: number
  readonly #consume: Script
  readonly #consumeRun: Readonly<Record<keyof typeof consumeRunScripts, Script>>
  readonly #consumeSlots: Readonly<Record<keyof typeof consumeSlotsScripts, Script>>
  readonly #refund: Script
  /** Redis's time less that since this process started, in ms, roughly: it selects the calendar windows to send. */
  #startedAtMs = Date.now() - elapsedMs()

  constructor(port: RedisPort, layout: Layout, { space, now }: RedisStoreSettings) {
    this.space = space
    if (layout.shards !== undefined) this.shards = layout.shards
    this.#port = port
    this.#layout = layout
    this.#now = now
    if (now) this.testClock = now
    this.#keptMs = now ? KEPT_UNDER_TEST_CLOCK_MS : 0
    this.#consume = new Script(port, consumeScript)
    this.#consumeRun = mapValues(consumeRunScripts, (script) => new Script(port, script))
    this.#consumeSlots = mapValues(consumeSlotsScripts, (script) => new Script(port, script))
    this.#refund = new Script(port, refundScript)
  }

  ready(): Promise<void> | undefined {
    return this.#port.ready()
  }

  whyNotReady(): StoreError | undefined {
    return this.#port.cause()
  }

  observe(listener: StoreListener): () => void {
    return this.#port.observe((error) => listener.onUnreached(error))
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
      return this.#refund.run({ keys, args: sent, shard: shardOf(requests) }, (given) =>
        readRefunds(this.#learnTime(given)),
      )
    }
    return ask(batch).then((answers) => againIfOutside(batch, answers, ask))
  }

  async reset(keys: readonly string[], shard: number): Promise<boolean> {
    if (keys.length === 0) return false
    const names = keys.map((key) => this.#layout.nameOf(key, shard))
    const deleted = await this.#port.del(names).catch((error: unknown) => {
      throw this.#port.errorOf(error, names[0])
    })
    // A client may give numbers as texts or bigints.
    return Number(deleted) > 0
  }

  #nowUs(): ScriptArg {
    return this.#now ? Math.round(this.#now() * 1000) : ''
  }

  #nowMs(): number {
    return this.#now ? this.#now() : this.#startedAtMs + elapsedMs()
  }

  #limitSets(): LimitSets {
    return new LimitSets(this.#nowMs(), this.#keptMs)
  }

  #decide(batch: readonly StoreRequest[], mode: Mode, call: Call | undefined): Promise<Answer[]> {
    warnOfServer(this.#port)
    return this.#ask(batch, { mode, call }, (answers) =>
      againIfOutside(batch, answers, (requests) => {
        refuseLate(call)
        return this.#ask(requests, { mode, call }, (again) => again)
      }),
    )
  }

  #ask<T>(
    batch: readonly StoreRequest[],
    { mode, call }: { readonly mode: Mode; readonly call: Call | undefined },
    conclude: (answers: (Answer | typeof OUTSIDE)[]) => T | Promise<T>,
  ): Promise<T> {
    const { script, sending, answered } = this.#encode(batch, mode, call)
    return script.run(sending, (given) => conclude(readAnswers(batch, this.#learnTime(given), answered)))
  }

  #encode(batch: readonly StoreRequest[], mode: Mode, call: Call | undefined): ScriptCall {
    // A look at one key several times is left to the script for everything.
    const run = mode === 'take' || batch.length === 1 ? onlyRunOf(batch) : undefined
    const shard = shardOf(batch)
    if (run) {
      const { keys, args } = this.#encodeRun(run, mode, shard)
      const script =
        this.#consumeRun[(run.set.limits[0] as CompiledLimit).algorithm as keyof typeof consumeRunScripts]
      return { script, sending: { keys, args, shard, call }, answered: run.answered }
    }
    const slotsRun = mode === 'take' ? onlySlotsRunOf(batch) : undefined
    if (slotsRun) {
      const [limit] = slotsRun.set.limits as readonly [CompiledLimit]
      const { keys, args, answered } = encodeSlots(slotsRun, this.#layout, {
        shard,
        nowMs: this.#nowMs(),
        keptMs: this.#keptMs,
      })
      const script = this.#consumeSlots[limit.algorithm as keyof typeof consumeSlotsScripts]
      return { script, sending: { keys, args: [this.#nowUs(), ...args], shard, call }, answered }
    }
    const sets = this.#limitSets()
    const { keys, args, answered } = encodeRequests(batch, sets, this.#layout)
    const isForce = mode === 'take' && batch.some(({ grant }) => grant === 'force')
    const sent = [this.#nowUs(), isForce ? 'force' : mode, sets.json(), ID_KEPT_MS + this.#keptMs, ...args]
    return { script: this.#consume, sending: { keys, args: sent, shard, call }, answered }
  }

  #encodeRun({ set, cost, keys, times }: OnlyRun, mode: Mode, shard: number): Pick<Sending, 'keys' | 'args'> {
    const asked = mode === 'look' ? mode : times
    return {
      keys: keys.map((key) => this.#layout.nameOf(key, shard)),
      args: [this.#nowUs(), asked, cost, ...encodeOne(set, this.#nowMs(), this.#keptMs)],
    }
  }

  #learnTime(given: unknown): readonly unknown[] {
    const reply = readReply(given)
    this.#startedAtMs = Math.round(Number(reply[0]) / 1000) - elapsedMs()
    return reply
  }
}

/** The shard of a batch: all its requests are for the same one. */
function shardOf(batch: readonly { readonly shard: number }[]): number {
  return batch[0]?.shard ?? 0
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

/**
 * Some requests could not be decided because the calendar they came with does not include Redis's time. Sends these
 * again, now that the reply has told that time. The first attempt changed nothing.
 */
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
      return given === OUTSIDE
        ? new StoreError("Redis's clock jumped while it was asked: let NTP keep the clock of its server")
        : given
    })
  })
}

const NEEDED = [6, 2] as const
const asked = new WeakSet<RedisPort>()

/** Warns once per client about a Redis that is too old or evicts keys. No permission for INFO: no warning. */
function warnOfServer(port: RedisPort): void {
  if (asked.has(port)) return
  asked.add(port)
  const ask = (section: string, warningFor: (info: string) => string | undefined): void => {
    port.info(section).then(
      (info) => {
        const warning = warningFor(String(info))
        if (warning !== undefined) warn('TOLLGATE_REDIS_SERVER', warning)
      },
      () => {},
    )
  }
  ask('server', versionWarning)
  ask('memory', evictionWarning)
}

/** The warning for an INFO server text whose version is older than the scripts need. */
export function versionWarning(info: string): string | undefined {
  const [, version, major, minor] = /^redis_version:((\d+)\.(\d+)[^\s]*)/m.exec(info) ?? []
  if (version === undefined) return undefined
  const isOld = Number(major) < NEEDED[0] || (Number(major) === NEEDED[0] && Number(minor) < NEEDED[1])
  if (!isOld) return undefined
  return (
    `This Redis is version ${version}, and Tollgate needs ${NEEDED.join('.')} or newer, or Valkey: ` +
    'requests can fail, and are then left to onStoreFailure.'
  )
}

/** The warning for an INFO memory text of a server that drops keys when it is full. */
export function evictionWarning(info: string): string | undefined {
  const [, maxmemory] = /^maxmemory:(\d+)/m.exec(info) ?? []
  const [, policy] = /^maxmemory_policy:([\w-]+)/m.exec(info) ?? []
  if (!Number(maxmemory) || policy === undefined || policy === 'noeviction') return undefined
  return (
    `This Redis drops keys when it is full (maxmemory-policy ${policy}): a subject whose key is dropped has all of its ` +
    'quota again. Type: CONFIG SET maxmemory-policy noeviction, or give Tollgate a Redis of its own.'
  )
}

export interface RedisStoreOptions {
  /** The beginning of every key: 1 to 64 letters, digits or `_.:-`. Default: `tollgate`. */
  readonly prefix?: string | undefined
  /**
   * Only for a cluster client: the number of shards that keys are divided into. Requests of one tick in the same shard
   * go in one call. All processes need the same number: with another one, counts start anew. Default: 16.
   */
  readonly shards?: number | undefined
  /**
   * Gives decisions only when this many replicas have them, so that none is lost when one of these becomes the primary.
   * The connection is blocked meanwhile. After replicas were late nobody waits for a second. Needs permission for WAIT.
   * Not for a cluster, nor for a pool or sentinel client of node-redis.
   */
  readonly waitForReplicas?: WaitForReplicasOptions | undefined
  /** Returns the time in ms since 1970, in place of Redis's own; for tests. Keys then stay an hour longer. */
  readonly now?: (() => number) | undefined
}

/**
 * Counts in Redis 6.2 or newer, or Valkey, shared by every process that uses the same server and prefix. Redis's
 * own clock decides. Nothing is sent until the first request.
 *
 * @param client a client of ioredis 5 or 6, iovalkey, or node-redis 5 or 6. It stays yours: close it after the limiter.
 *               docs/redis.md has the settings it needs; Tollgate warns when requests could count twice
 * @throws {ConfigError} when the client is of an unknown kind, or an option is wrong or does not fit the client
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  return atCaller(redisStore, () => makeStore(client, options))
}

function makeStore(client: RedisClient, options: RedisStoreOptions): Store {
  needOptions(options, ['prefix', 'shards', 'waitForReplicas', 'now'], 'redisStore')
  const { prefix = 'tollgate', shards, waitForReplicas, now } = options
  if (typeof prefix !== 'string' || !/^[\w.:-]{1,64}$/.test(prefix)) {
    throw ConfigError.wrong('prefix', prefix, "1 to 64 letters, digits or _.:-, such as 'myapp'")
  }
  needClock(now)
  const port = portOf(client)
  const space = spaceOf(client, prefix)
  const store = new RedisStore(port, layoutOf(prefix, port.isCluster, shards), { space, now })
  return waitForReplicas === undefined ? store : new ReplicatedStore(store, port, waitForReplicas)
}
