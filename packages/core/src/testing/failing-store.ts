import { atCaller, ConfigError } from '../base/errors.js'
import { isWhole } from '../base/options.js'
import type { Store, StoreAbilities, StoreListener } from '../stores/contract.js'
import { checkStore } from '../stores/store-check.js'
import { FailingShard, type StoreFaults } from './failing-shard.js'

export type { StoreFaults }

/** A store that fails on command. Its commands are for all shards, and `shard` has those for one. */
export interface FailingStore extends Store, StoreFaults {
  /**
   * Loses all counts, as when a replica without any of the writes takes over. Faults stay: for requests that fail during the
   * failover, call `down` before and `heal` after it.
   *
   * @throws {ConfigError} when the store was not given as a function that makes one
   */
  failOver(): void
  /**
   * The commands for one shard alone.
   *
   * @param shard its number, from 0
   * @throws {ConfigError} when the store has no such shard
   */
  shard(shard: number): StoreFaults
}

/**
 * Wraps a store so that it fails on command, to test what an application does then. It answers with promises, as a store behind
 * a network does, so the limiter's deadline, breaker, failure policy and reconciliation run as in production. They run on real
 * timers: no clock of a test moves them.
 *
 * @param store the store, or a function that makes an empty one. Only with the function it can `failOver`
 * @throws {ConfigError} when it is no store
 * @example
 * const store = failingStore(() => clock.memoryStore())
 * const limiter = createTestLimiter({ limit: '5/min', store, warnings: false })
 * store.down()
 * expectAllowed(await limiter.consume('acme'), { source: 'local' })
 * store.heal()
 */
export function failingStore(store: Store | (() => Store)): FailingStore {
  return atCaller(failingStore, () => {
    const first = typeof store === 'function' ? store() : store
    checkStore(first, 'store')
    return wrapped(first, typeof store === 'function' ? store : undefined)
  })
}

/** The abilities that the wrapper has if the store has them. The record names each, so that none is forgotten. */
const PASSED_ON: Readonly<Record<Exclude<keyof StoreAbilities, 'synchronous' | 'space'>, true>> = {
  ...{ atomic: true, shards: true, algorithms: true, defaultAlgorithm: true, largestQuota: true },
  ...{
    longestTtlMs: true,
    leases: true,
    blocks: true,
    observers: true,
    overage: true,
    accounts: true,
    billingDays: true,
    slots: true,
    holds: true,
    clock: true,
    testClock: true,
  },
}

function abilitiesOf(store: Store): StoreAbilities {
  const names = Object.keys(PASSED_ON) as (keyof typeof PASSED_ON)[]
  const given = names.filter((name) => store[name] !== undefined).map((name) => [name, store[name]])
  return { ...Object.fromEntries(given), synchronous: false, space: store.space ?? store }
}

function wrapped(first: Store, make: (() => Store) | undefined): FailingStore {
  const inner = new Replaceable(first)
  const shards = Array.from({ length: first.shards ?? 1 }, () => new FailingShard())
  const at = (shard: number | undefined): FailingShard => shards[shard ?? 0] as FailingShard
  const store: FailingStore = {
    ...abilitiesOf(first),
    consume: (batch, call) => at(batch[0]?.shard).call(() => inner.store.consume(batch, call)),
    peek: (batch, call) => at(batch[0]?.shard).call(() => inner.store.peek(batch, call)),
    refund: (batch) => at(batch[0]?.shard).call(() => inner.store.refund(batch)),
    reset: (keys, shard, sets) => at(shard).call(() => inner.store.reset(keys, shard, sets)),
    ready: () => inner.store.ready?.(),
    whyNotReady: () => inner.store.whyNotReady?.(),
    observe: (listener) => inner.observe(listener),
    close() {
      for (const shard of shards) shard.close()
      return inner.store.close?.()
    },
    ...commandsOf(shards),
    failOver: () => inner.replace(atCaller(store.failOver, () => needMaker(make)())),
    shard(number) {
      if (isWhole(number, 0, shards.length - 1)) return commandsOf([at(number)])
      const last = `a whole number from 0 to ${shards.length - 1}, since the store has ${shards.length}`
      return atCaller(store.shard, () => {
        throw ConfigError.wrong('shard', number, last)
      })
    },
  }
  return store
}

function needMaker(make: (() => Store) | undefined): () => Store {
  if (make) return make
  throw new ConfigError(
    'failOver',
    'the store that takes over has to be made; give failingStore a function: failingStore(() => clock.memoryStore())',
  )
}

/** The same commands for several shards. */
function commandsOf(shards: readonly FailingShard[]): StoreFaults {
  const commands: StoreFaults = {
    slow: (ms) => atCaller(commands.slow, () => shards.forEach((shard) => shard.slow(ms))),
    down: (error) => atCaller(commands.down, () => shards.forEach((shard) => shard.down(error))),
    hang: () => shards.forEach((shard) => shard.hang()),
    loseReplies: (replies) =>
      atCaller(commands.loseReplies, () => shards.forEach((shard) => shard.loseReplies(replies))),
    heal: () => shards.forEach((shard) => shard.heal()),
  }
  return commands
}

/** The store that answers now, and its listeners, which a store that takes over gets. */
class Replaceable {
  store: Store
  /** For each listener: the function that stops the store's reports to it. */
  readonly #stops = new Map<StoreListener, (() => void) | undefined>()

  constructor(store: Store) {
    this.store = store
  }

  replace(store: Store): void {
    this.store = store
    for (const [listener, stop] of this.#stops) {
      stop?.()
      this.#stops.set(listener, store.observe?.(listener))
    }
  }

  observe(listener: StoreListener): () => void {
    this.#stops.set(listener, this.store.observe?.(listener))
    return () => {
      this.#stops.get(listener)?.()
      this.#stops.delete(listener)
    }
  }
}
