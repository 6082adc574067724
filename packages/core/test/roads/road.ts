// What a road is made of, and what the roads of several tests are on.
import { startCluster, testPrefix } from '@tollgate/testing'
import { Cluster, type Redis } from 'ioredis'
import { createLimiter, memoryStore, redisStore, type Limiter, type LimiterOptions } from '../../src/index.js'
import type { Store } from '../../src/store.js'
import { asyncStore } from '../support/stores.js'
import type { Circumstances } from './judge.js'

/** A clock that a schedule sets, in ms since 1970, with µs as the fraction. */
export interface Clock {
  now: number
}

export interface Road extends Circumstances {
  readonly name: string
  /** How many processes there are. Default: 1, or as many as the schedule says. */
  readonly processes?: number
  readonly denials?: LimiterOptions['denials']
  /**
   * Whether calls carry the clock. It then waits for calls that are under way: one that came after a later one would set
   * it back for the server.
   */
  readonly sendsClock?: boolean
  /** Whether requests that end are reported before the clock moves on, as memory is told of them at once. */
  readonly reportsFirst?: boolean
  /** Called before each step. */
  readonly onStep?: () => void
  /** Opens what a schedule counts in. Returns what makes a store for each process, all on the same counts. */
  open(clock: Clock): () => Store
}

export const inMemory: Road = {
  name: 'memory',
  grouping: 'all',
  open: (clock) => {
    const store = memoryStore({ now: () => clock.now })
    return () => store
  },
}

/** A store that decides each key for itself. */
export const notAtomic: Road = {
  name: 'not atomic',
  grouping: 'keys',
  open: (clock) => {
    const now = (): number => clock.now
    const inner = memoryStore({ now })
    const rules = inner.rules as NonNullable<Store['rules']>
    const store = asyncStore({ atomic: false, slots: true, testClock: now, rules }, inner)
    return () => store
  },
}

/** @param connect the connections of the processes, one each */
export function onRedis(
  road: Omit<Road, 'open'> & { readonly isLive?: boolean },
  connect: () => readonly (Redis | Cluster)[],
  prefixOf: () => string = testPrefix,
): Road {
  return {
    ...road,
    open: (clock) => {
      const [prefix, clients] = [prefixOf(), connect()]
      let made = 0
      return () => {
        const client = clients[made % clients.length] as Redis
        made += 1
        return redisStore(client, { prefix, ...(!road.isLive && { now: () => clock.now }) })
      }
    },
  }
}

/** A limiter as those of all roads are: an answer that is not the store's is a fault. */
export function limiterOn(
  { denials }: Pick<Road, 'denials'>,
  store: Store,
  plans: NonNullable<LimiterOptions['plans']>,
): Limiter {
  return createLimiter({
    ...{ plans, store, defaultPlan: 'free', warnings: false, deadlineMs: 60_000 },
    ...{ onStoreFailure: 'closed', local: { instances: 1 }, ...(denials !== undefined && { denials }) },
  })
}

/** Starts three primaries, and connects as some processes do. */
export async function clusterOf(
  processes: number,
): Promise<{ readonly clients: readonly Cluster[]; stop(): Promise<void> }> {
  // Nothing is killed here. With a short timeout, servers on a machine that stalls would report the cluster as down.
  const cluster = await startCluster({ primaries: 3, replicas: 0, nodeTimeoutMs: 120_000 })
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  const clients = Array.from({ length: processes }, () => {
    const redisOptions = { disconnectTimeout: 100, connectTimeout: 120_000 }
    return new Cluster(nodes, { slotsRefreshTimeout: 120_000, redisOptions })
  })
  return {
    clients,
    async stop() {
      for (const client of clients) client.disconnect()
      await cluster.stop()
    },
  }
}
