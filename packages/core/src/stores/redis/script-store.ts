import { StoreError } from '../../base/errors.js'
import { elapsedMs } from '../../base/timers.js'
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
import type { RedisPort, ScriptArg } from './clients/index.js'
import type { Layout } from './layout.js'
import type { ReplicaWait } from './replica-wait.js'
import {
  consumeRunScripts,
  consumeScript,
  consumeSlotsScripts,
  refundScript,
} from './scripts/scripts.generated.js'
import { RedisBoard } from './redis-board.js'
import { RedisRules } from './redis-rules.js'
import { refuseLate, Script, type Sending } from './script.js'
import { readAnswers, readRefunds, readReply, OUTSIDE } from './wire/decode.js'
import { encodeRefunds, encodeRequests, encodeSlots, LimitSets } from './wire/encode.js'
import { encodeOne, onlyRunOf, onlySlotsRunOf, type OnlyRun } from './wire/runs.js'

/** Whether to take units or only to look. */
type Mode = 'take' | 'look'

export interface ScriptStoreOptions {
  /** The same object for all stores of one client and prefix. */
  readonly space: object
  /** A test's clock, in ms since 1970. */
  readonly now: (() => number) | undefined
  /** Answers are given once replicas have what was written. */
  readonly replicas: ReplicaWait | undefined
  /** Called before the first request. */
  readonly onFirst: () => void
}

/** What is sent for a batch, and where its answers are, as `readAnswers` takes it. */
interface ScriptCall {
  readonly script: Script
  readonly sending: Sending
  readonly answered: readonly (readonly number[])[] | undefined
}

/** Counts in Redis by scripts, each batch by one. */
export class ScriptStore implements Store {
  readonly synchronous = false
  readonly atomic = true
  readonly leases = true
  readonly slots = true
  readonly holds = true
  readonly blocks = true
  readonly observers = true
  readonly overage = true
  readonly accounts = true
  readonly billingDays = true
  readonly clock = 'server'
  readonly shards?: number
  readonly space: object
  readonly testClock?: () => number
  readonly rules: RedisRules
  readonly board: RedisBoard
  readonly #port: RedisPort
  readonly #layout: Layout
  readonly #now: (() => number) | undefined
  /** How many ms longer than necessary keys are kept, under a test's clock. */
  readonly #keptMs: number
  readonly #consume: Script
  readonly #consumeRun: Readonly<Record<keyof typeof consumeRunScripts, Script>>
  readonly #consumeSlots: Readonly<Record<keyof typeof consumeSlotsScripts, Script>>
  readonly #refund: Script
  readonly #replicas: ReplicaWait | undefined
  #onFirst: (() => void) | undefined
  /** Redis's time less that since this process started, in ms, roughly: it selects the calendar windows to send. */
  #startedAtMs = Date.now() - elapsedMs()

  constructor(port: RedisPort, layout: Layout, { space, now, replicas, onFirst }: ScriptStoreOptions) {
    this.space = space
    this.#replicas = replicas
    this.#onFirst = onFirst
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
    const nowUs = (): ScriptArg => this.#nowUs()
    this.rules = new RedisRules(port, layout, nowUs, this.#keptMs)
    this.board = new RedisBoard(port, layout, nowUs, this.#keptMs)
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
    return this.#replicated(this.#decide(batch, 'take', call))
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
    return this.#replicated(ask(batch).then((answers) => againIfOutside(batch, answers, ask)))
  }

  async reset(keys: readonly string[], shard: number): Promise<boolean> {
    if (keys.length === 0) return false
    const names = keys.map((key) => this.#layout.nameOf(key, shard))
    const deleting = this.#port.del(names).catch((error: unknown) => {
      throw this.#port.errorOf(error, names[0])
    })
    const deleted = await this.#replicated(deleting)
    // A client may give numbers as texts or bigints.
    return Number(deleted) > 0
  }

  /** Gives an answer once replicas have what it says. If they are late it is given all the same: it has been counted. */
  #replicated<T>(answer: Promise<T>): Promise<T> {
    const replicas = this.#replicas
    return replicas ? answer.then((given) => replicas.written().then(() => given)) : answer
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
    this.#onFirst?.()
    this.#onFirst = undefined
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
      const { script, keys, args } = this.#encodeRun(run, mode, shard)
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

  #encodeRun(
    { set, cost, keys, times, sets: billed }: OnlyRun,
    mode: Mode,
    shard: number,
  ): Pick<ScriptCall, 'script'> & Pick<Sending, 'keys' | 'args'> {
    const names = keys.map((key) => this.#layout.nameOf(key, shard))
    const now = this.#nowUs()
    if (set.limits.length > 1 || set.blockAfter) {
      const sets = this.#limitSets()
      const run = [sets.indexOf(set), cost, keys.length, times.length, ...times.flatMap((n, i) => [i + 1, n])]
      const days = billed ? [sets.billingDays(billed)] : []
      const args = [now, mode, sets.json(), ID_KEPT_MS + this.#keptMs, ...run, ...days]
      return { script: this.#consume, keys: names, args }
    }
    const asked = mode === 'look' ? mode : times.join(' ')
    const days = billed ? [this.#limitSets().billingDays(billed)] : []
    const args = [now, asked, cost, ...encodeOne(set, this.#nowMs(), this.#keptMs), ...days]
    const { algorithm } = set.limits[0] as CompiledLimit
    return { script: this.#consumeRun[algorithm as keyof typeof consumeRunScripts], keys: names, args }
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
 * Some requests could not be decided because the calendar they came with does not include Redis's time. Sends these again, now
 * that the reply has given that time. The first attempt changed nothing.
 */
function againIfOutside<Request, A>(
  batch: readonly Request[],
  answers: readonly (A | typeof OUTSIDE)[],
  ask: (requests: readonly Request[]) => Promise<readonly (A | typeof OUTSIDE)[]>,
): (A | StoreError)[] | Promise<(A | StoreError)[]> {
  if (!answers.includes(OUTSIDE)) return answers as A[]
  const outside = batch.filter((_, i) => answers[i] === OUTSIDE)
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
