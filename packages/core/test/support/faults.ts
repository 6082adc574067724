// A Redis of one's own to break, and a limiter on it.
import { setTimeout as sleep } from 'node:timers/promises'
import { startRedis, testPrefix, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import {
  createLimiter,
  redisStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
} from '../../src/index.js'

export const DEADLINE_MS = 100
/** What a busy machine may add. */
export const LATE_MS = 150

const clients: { disconnect(): void }[] = []
const servers: RedisServer[] = []
/** Stops all servers and clients of a test. */
export async function endFaults(): Promise<void> {
  for (const client of clients.splice(0)) client.disconnect()
  for (const server of servers.splice(0)) {
    server.resume()
    await server.kill()
  }
}

/** The settings of a client that tests change. */
export interface ClientSettings {
  readonly enableOfflineQueue?: boolean
  readonly maxRetriesPerRequest?: number
  readonly lazyConnect?: boolean
  readonly autoResendUnfulfilledCommands?: boolean
  readonly socketTimeout?: number
}

export async function server(options?: Parameters<typeof startRedis>[0]): Promise<RedisServer> {
  const started = await startRedis(options)
  servers.push(started)
  return started
}

export function connect(port: number, options: ClientSettings = {}): Redis {
  const client = new Redis(port, '127.0.0.1', {
    retryStrategy: () => 50,
    // Its timer outlives a client that is closed twice, and keeps the process up.
    disconnectTimeout: 100,
    autoResendUnfulfilledCommands: false,
    ...options,
  })
  client.on('error', () => {})
  endsWithTest(client)
  return client
}

export function endsWithTest(client: { disconnect(): void }): void {
  clients.push(client)
}

export function limiterOn(
  client: Redis,
  options: Partial<LimiterOptions> = {},
): { limiter: Limiter; errors: string[] } {
  const store = redisStore(client, { prefix: testPrefix() })
  const limiter = createLimiter({
    limit: '1000/min',
    store,
    deadlineMs: DEADLINE_MS,
    ...options,
  } as LimiterOptions)
  const errors: string[] = []
  limiter.on('storeError', (error) => errors.push(error.code))
  return { limiter, errors }
}

export async function timed(limiter: Limiter): Promise<{ decision: Decision; ms: number }> {
  const started = performance.now()
  const decision = await limiter.consume('acme')
  return { decision, ms: performance.now() - started }
}

/** Resolves with how many requests the store has decided when it is back: one. */
export async function recovers(limiter: Limiter): Promise<number> {
  for (const until = Date.now() + 3000; Date.now() < until; await sleep(20)) {
    if ((await limiter.consume('acme')).source === 'store') return 1
  }
  throw new Error('the limiter did not recover')
}

/** The value cut off anywhere, and with any three bytes in a row, all but the format, set to what breaks most. */
export function damaged(value: Buffer): Buffer[] {
  const cut = Array.from(value.keys(), (end) => value.subarray(0, end + 1))
  const bytes = [0, 1, 8, 255]
  const triples = bytes.flatMap((a) => bytes.flatMap((b) => bytes.map((c) => [a, b, c])))
  const changed = [...value.keys()].slice(1, -2).flatMap((at) =>
    triples.map((triple) => {
      const copy = Buffer.from(value)
      copy.set(triple, at)
      return copy
    }),
  )
  return [...cut, ...changed]
}
