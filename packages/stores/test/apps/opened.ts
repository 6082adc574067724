import { memoryStore, redisStore, type Limiter, type LimiterStats, type Store } from '@tollgate/core'
import type { StoreOptions } from '@tollgate/stores/express-rate-limit'
import { Cluster, Redis } from 'ioredis'

export interface Redises {
  readonly ports: readonly number[]
  readonly prefix: string
  readonly isCluster?: boolean
}

/** An application to serve: plain data, since it may be served by another process. */
export interface Spec {
  readonly limit: number
  readonly windowMs: number
  /** Left out: it counts in memory. */
  readonly redis?: Redises
  /** Whether time passes only by `passTime`. */
  readonly isTimed?: boolean
  readonly options?: StoreOptions
  /** More options of the middleware. */
  readonly more?: object
}

/** An application that is served. */
export interface App {
  /** Ends with a slash. */
  readonly url: string
  passTime(ms: number): unknown
  stats(): LimiterStats | Promise<LimiterStats>
  /** Resolves to the limiter's status, once the application is closed. */
  close(): Promise<unknown>
}

/** Serves the middleware of a package with a store of Tollgate. */
export type Build = (
  given: Spec & { readonly store: Store },
) => Promise<{ readonly url: string; readonly limiter: Limiter; close(): Promise<unknown> }>

/** A second before a minute begins, where fixed windows would begin, too. */
const START_MS = 1_799_999_999_000

export async function open(spec: Spec, build: Build): Promise<App> {
  let now = START_MS
  const timed = spec.isTimed ? { now: (): number => now } : {}
  const client = spec.redis && connect(spec.redis)
  const store =
    client && spec.redis ? redisStore(client, { prefix: spec.redis.prefix, ...timed }) : memoryStore(timed)
  const { url, limiter, close } = await build({ ...spec, store })
  return {
    url,
    passTime: (ms) => (now += ms),
    stats: () => limiter.stats(),
    close: async () => {
      await close()
      const { status } = limiter.health()
      await limiter.close()
      client?.disconnect()
      return status
    },
  }
}

function connect({ ports, isCluster }: Redises): Redis | Cluster {
  const [port = 0] = ports
  const options = {
    autoResendUnfulfilledCommands: false,
    retryStrategy: (): number => 50,
    maxRetriesPerRequest: null,
    // Without it, ioredis keeps a timer of 2 s after a second disconnect, which keeps the process alive.
    disconnectTimeout: 100,
  }
  const client = isCluster
    ? new Cluster(
        ports.map((one) => ({ port: one, host: '127.0.0.1' })),
        {
          redisOptions: { autoResendUnfulfilledCommands: false },
          retryDelayOnFailover: 0,
          clusterRetryStrategy: () => 50,
        },
      )
    : new Redis(port, '127.0.0.1', options)
  client.on('error', () => {})
  return client
}
