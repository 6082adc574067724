// Starts Redis servers that a test may break, and limiters on them.
import { eventually, startRedis, testPrefix, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import {
  createLimiter,
  redisStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
} from '../../src/index.js'

/** Long enough, in ms, that a busy machine is not taken for an outage. */
export const DEADLINE_MS = 300

const limiters: Limiter[] = []
const clients: { disconnect(): void }[] = []
const servers: RedisServer[] = []
/** Stops all servers, clients and limiters of a test. */
export async function endFaults(): Promise<void> {
  for (const server of servers) server.resume()
  // First the limiters: without their store they would try to reach it for ever.
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
  for (const client of clients.splice(0)) client.disconnect()
  await Promise.all(servers.splice(0).map((server) => server.kill()))
}

/** Options of ioredis that tests change. */
export interface ClientSettings {
  readonly enableOfflineQueue?: boolean
  readonly maxRetriesPerRequest?: number
  readonly lazyConnect?: boolean
  readonly autoResendUnfulfilledCommands?: boolean
  readonly socketTimeout?: number
  readonly retryStrategy?: (times: number) => number
}

export async function server(options?: Parameters<typeof startRedis>[0]): Promise<RedisServer> {
  const started = await startRedis(options)
  servers.push(started)
  return started
}

export function connect(port: number, options: ClientSettings = {}): Redis {
  const client = new Redis(port, '127.0.0.1', {
    retryStrategy: () => 50,
    // ioredis's disconnect timer outlives a client that is closed twice, and would keep the process running for 2 s.
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

export function closesWithTest(limiter: Limiter): Limiter {
  limiters.push(limiter)
  return limiter
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
    warnings: false,
    ...options,
  } as LimiterOptions)
  const errors: string[] = []
  limiter.on('storeError', (error) => errors.push(error.code))
  return { limiter: closesWithTest(limiter), errors }
}

export async function timed(limiter: Limiter): Promise<{ decision: Decision; ms: number }> {
  const started = performance.now()
  const decision = await limiter.consume('acme')
  return { decision, ms: performance.now() - started }
}

/** Waits until the store decides again. Resolves with the number of requests that the store decided meanwhile: one. */
export async function recovers(limiter: Limiter): Promise<number> {
  await eventually(async () => (await limiter.consume('acme')).source === 'store', 'the store decides')
  return 1
}

/**
 * Damaged copies of a value: cut off after each byte, and with any three bytes in a row set to extreme values. The
 * first byte, the format, stays as it is.
 */
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
