import { ConfigError, type StoreError } from '../../base/errors.js'
import { needOptions, isWhole } from '../../base/options.js'
import type {
  Answer,
  Call,
  RefundAnswer,
  RefundRequest,
  Store,
  StoreListener,
  StoreRequest,
} from '../contract.js'
import type { RedisPort } from './clients/index.js'
import { replicaWaitOf, type ReplicaWait, type WaitForReplicasOptions } from './replica-wait.js'

/**
 * A store that gives decisions only when replicas have them, so that none is lost when such a replica becomes the
 * primary. If too few replicas have a decision in time, it is given all the same, since it has been counted, and so are
 * those of the next second at once.
 *
 * @see https://redis.io/docs/latest/commands/wait/
 */
export class ReplicatedStore implements Store {
  readonly synchronous = false
  readonly atomic = true
  readonly leases: boolean
  readonly slots: boolean
  readonly holds: boolean
  readonly clock = 'server'
  readonly shards?: number
  readonly space?: object
  readonly testClock?: () => number
  readonly #store: Store
  readonly #replicas: ReplicaWait

  /** @throws {ConfigError} when an option is wrong, or the client cannot send WAIT on the connection of its writes */
  constructor(store: Store, port: RedisPort, options: WaitForReplicasOptions) {
    needOptions(options, ['count', 'timeoutMs'], 'waitForReplicas')
    for (const name of ['count', 'timeoutMs'] as const) {
      if (isWhole(options[name], 1)) continue
      throw ConfigError.wrong(
        `waitForReplicas.${name}`,
        options[name],
        `a whole number from 1: { count: 1, timeoutMs: 50 }`,
      )
    }
    const { wait } = port
    if (!wait) {
      const problem = 'this client writes on several connections, so none can wait for all'
      throw new ConfigError('waitForReplicas', `${problem}: leave it out, or use a client of one server`)
    }
    if (store.shards !== undefined) this.shards = store.shards
    if (store.space !== undefined) this.space = store.space
    if (store.testClock !== undefined) this.testClock = store.testClock
    this.leases = store.leases === true
    this.slots = store.slots === true
    this.holds = store.holds === true
    this.#store = store
    this.#replicas = replicaWaitOf(port, wait, options)
  }

  ready(): Promise<void> | undefined {
    return this.#store.ready?.()
  }

  whyNotReady(): StoreError | undefined {
    return this.#store.whyNotReady?.()
  }

  observe(listener: StoreListener): () => void {
    return this.#store.observe?.(listener) ?? ((): void => {})
  }

  async consume(batch: readonly StoreRequest[], call?: Call): Promise<readonly Answer[]> {
    const answers = await this.#store.consume(batch, call)
    await this.#replicas.written()
    return answers
  }

  async peek(batch: readonly StoreRequest[], call?: Call): Promise<readonly Answer[]> {
    return this.#store.peek(batch, call)
  }

  async refund(batch: readonly RefundRequest[]): Promise<readonly RefundAnswer[]> {
    const answers = await this.#store.refund(batch)
    await this.#replicas.written()
    return answers
  }

  async reset(keys: readonly string[], shard: number): Promise<boolean> {
    const wasThere = await this.#store.reset(keys, shard)
    await this.#replicas.written()
    return wasThere
  }
}
