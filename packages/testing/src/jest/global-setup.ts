import { findRedisBinary } from '../redis/binary.ts'
import { findMemcachedBinary } from '../memcached/server.ts'
import { startRedisContainer } from '../redis/docker.ts'
import { startRedisOfRun } from '../redis/redis-of-run.ts'
import { REDIS_URL_VARIABLE } from '../redis/test-redis.ts'

/** Stopped by `global-teardown`. Both run in one process, but jest gives them no other way to share values. */
export const run: { stop?: () => unknown } = ((globalThis as { tollgateRun?: object }).tollgateRun ??= {})

/**
 * The Redis of a test run: REDIS_URL, else a server on the PATH, else a container, else one that gets installed now.
 */
export default async function globalSetup(): Promise<void> {
  // Tests start their own, several at a time: it is installed before, if need be.
  findMemcachedBinary()
  const url = process.env['REDIS_URL'] ?? (await start())
  process.env[REDIS_URL_VARIABLE] = url
}

async function start(): Promise<string> {
  const container = hasBinary() ? undefined : startRedisContainer()
  const server = container ?? (await startRedisOfRun())
  run.stop = () => server.stop()
  return server.url
}

function hasBinary(): boolean {
  try {
    const path = process.env['PATH'] ?? ''
    return findRedisBinary({ path, isRoot: false, hasApt: false, install: () => '' }) !== ''
  } catch {
    return false
  }
}
