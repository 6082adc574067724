import { findRedisBinary } from '../redis/binary.ts'
import { startRedisContainer } from '../redis/docker.ts'
import { startRedis } from '../redis/server.ts'
import { REDIS_URL_VARIABLE } from '../redis/test-redis.ts'

/** Set here, called by `global-teardown`. Jest runs both in one process, but has no other way to share a value. */
export const run: { stop?: () => unknown } = ((globalThis as { tollgateRun?: object }).tollgateRun ??= {})

/**
 * Finds or starts the Redis of a test run, in this order: REDIS_URL, a server on the PATH, a Docker container, a server
 * that is installed now.
 */
export default async function globalSetup(): Promise<void> {
  const url = process.env['REDIS_URL'] ?? (await start())
  process.env[REDIS_URL_VARIABLE] = url
}

async function start(): Promise<string> {
  const container = hasBinary() ? undefined : startRedisContainer()
  const server = container ?? (await startRedis())
  run.stop = () => server.stop()
  return server.url
}

function hasBinary(): boolean {
  try {
    const path = process.env['PATH'] ?? ''
    return findRedisBinary({ path, isRoot: false, hasApt: false, install: () => {} }) !== ''
  } catch {
    return false
  }
}
