import {
  KEPT_UNDER_TEST_CLOCK_MS,
  type Answer,
  type Call,
  type LimitSet,
  type RefundAnswer,
  type RefundRequest,
  type Store,
  type StoreListener,
  type StoreRequest,
} from '@tollgate/core/store'
import { Batch } from '../batch.js'
import { LARGEST_QUOTA } from './cell-value.js'
import { Charges } from './charges.js'
import type { Command, MemcachedPort } from '../clients/port.js'
import { CommonClock } from '../clock.js'
import { ALGORITHMS } from './counted-window.js'
import { Counters } from './counters.js'
import { storeErrorOf } from '../errors.js'
import { GiveBacks } from './give-backs.js'
import { Layout, longestTtlMs } from '../layout.js'
import type { Moment } from '../load.js'
import { comparing, synced, type Shard } from '../shard.js'

export interface CountingStoreOptions {
  readonly prefix: string
  readonly maxCounters: number
  readonly space: object
  readonly now: (() => number) | undefined
}

/** Counts on Memcached. To read on: batch.ts decides, load.ts is one counter in one batch, clock.ts the common clock. */
export class CountingStore implements Store {
  readonly synchronous = false
  readonly atomic = false
  readonly clock = 'server'
  readonly algorithms = ALGORITHMS
  readonly defaultAlgorithm = 'sliding-window'
  readonly largestQuota = LARGEST_QUOTA
  readonly longestTtlMs: number
  readonly shards: number
  readonly space: object
  readonly testClock?: () => number
  readonly #port: MemcachedPort
  readonly #layout: Layout
  readonly #spareS: number
  readonly #shards: readonly Shard[]
  readonly #losses = new Losses()
  readonly #charges = new OnceById<Answer>()
  readonly #refunds = new OnceById<RefundAnswer>()

  constructor(port: MemcachedPort, { prefix, maxCounters, space, now }: CountingStoreOptions) {
    this.#port = port
    this.shards = port.shards
    this.longestTtlMs = longestTtlMs(Date.now())
    this.space = space
    this.#layout = new Layout(prefix)
    this.#spareS = now ? KEPT_UNDER_TEST_CLOCK_MS / 1000 : 0
    if (now) this.testClock = now
    this.#shards = Array.from({ length: port.shards }, (_, shard) => ({
      clock: new CommonClock(port, shard, { key: this.#layout.clock, now }),
      counters: new Counters(Math.ceil(maxCounters / port.shards), this.#layout),
      run: (commands: readonly Command[]) => port.run(commands, shard),
    }))
  }

  async consume(batch: readonly StoreRequest[], call?: Call): Promise<readonly Answer[]> {
    const shard = this.#shardOf(batch)
    if (!shard.clock.isSynced) await synced(shard, call)
    const moment = this.#momentOf(shard)
    const run = comparing(shard)
    const decided = batch.filter(({ grant }) => grant !== 'force')
    if (decided.length === batch.length) return new Batch(run, shard.counters, moment).consume(batch)
    const charges = new Charges(run, shard.counters, { layout: this.#layout, moment })
    const answers = new Map<StoreRequest, Answer>()
    for (const one of batch) {
      if (one.grant !== 'force') continue
      const charged = this.#charges.do(one.id, () => charges.charge(one))
      answers.set(one, await charged.catch((error: unknown): Answer => storeErrorOf(error)))
    }
    const others = decided.length > 0 ? await new Batch(run, shard.counters, moment).consume(decided) : []
    decided.forEach((one, i) => answers.set(one, others[i] as Answer))
    return batch.map((one) => answers.get(one) as Answer)
  }

  async peek(batch: readonly StoreRequest[], call?: Call): Promise<readonly Answer[]> {
    const shard = this.#shardOf(batch)
    if (!shard.clock.isSynced) await synced(shard, call)
    return new Batch(comparing(shard), shard.counters, this.#momentOf(shard)).peek(batch)
  }

  async refund(batch: readonly RefundRequest[]): Promise<readonly RefundAnswer[]> {
    const shard = this.#shardOf(batch)
    if (!shard.clock.isSynced) await synced(shard, undefined)
    const answers: RefundAnswer[] = []
    // One after another: units of one key that go back twice at once could make its counter less than nothing.
    for (const one of batch) {
      const given = this.#refunds.do(one.id, () => this.#giveBacks(shard).refund(one))
      answers.push(await given.catch((error: unknown): RefundAnswer => storeErrorOf(error)))
    }
    return answers
  }

  async reset(keys: readonly string[], shard: number, sets: readonly LimitSet[] = []): Promise<boolean> {
    const of = this.#shards[shard] as Shard
    if (!of.clock.isSynced) await synced(of, undefined)
    return this.#giveBacks(of).reset(keys, sets)
  }

  observe(listener: StoreListener): () => void {
    return this.#losses.observe(listener)
  }

  async close(): Promise<void> {
    for (const { clock } of this.#shards) clock.close()
    await this.#port.close?.()
  }

  #giveBacks(shard: Shard): GiveBacks {
    return new GiveBacks(shard.run, shard.counters, { layout: this.#layout, moment: this.#momentOf(shard) })
  }

  #momentOf({ clock }: Shard): Moment {
    return {
      nowUs: clock.nowUs(),
      spareS: this.#spareS,
      wallMs: clock.wallMs,
      onLost: () => this.#losses.add(),
    }
  }

  #shardOf(batch: readonly { readonly shard: number }[]): Shard {
    return this.#shards[batch[0]?.shard ?? 0] as Shard
  }
}

/** What is under way in this process, by its id: a repetition that comes meanwhile gets the answer of the first. */
class OnceById<T> {
  readonly #underWay = new Map<string, Promise<T>>()

  /** @param id undefined: it can be done any number of times */
  do(id: string | undefined, work: () => Promise<T>): Promise<T> {
    if (id === undefined) return work()
    const underWay = this.#underWay.get(id)
    if (underWay) return underWay
    const begun = work().finally(() => this.#underWay.delete(id))
    this.#underWay.set(id, begun)
    return begun
  }
}

const REPORTED_EVERY_MS = 1000

/** Reports how many counters Memcached lost, at most once a second, and never while requests are decided. */
class Losses {
  readonly #listeners = new Set<(lost: number) => void>()
  #lost = 0
  #timer: NodeJS.Timeout | undefined

  add(): void {
    if (this.#listeners.size === 0) return
    this.#lost += 1
    // Does not keep the process alive. The rest is reported when a listener leaves.
    this.#timer ??= setTimeout(() => this.#report(), REPORTED_EVERY_MS).unref()
  }

  observe(listener: StoreListener): () => void {
    const report = (lost: number): void => listener.onEvicted(lost)
    this.#listeners.add(report)
    return () => {
      this.#report()
      this.#listeners.delete(report)
    }
  }

  #report(): void {
    clearTimeout(this.#timer)
    const lost = this.#lost
    this.#timer = undefined
    this.#lost = 0
    if (lost > 0) for (const report of this.#listeners) report(lost)
  }
}
