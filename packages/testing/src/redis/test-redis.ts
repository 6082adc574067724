import { randomBytes } from 'node:crypto'

export const REDIS_URL_VARIABLE = 'TOLLGATE_TEST_REDIS_URL'

/** @returns the URL of the Redis that all test files of this run share */
export function testRedisUrl(): string {
  const url = process.env[REDIS_URL_VARIABLE]
  if (url) return url
  throw new Error('no Redis for tests: run them with npm test, or jest from the root')
}

/** A unique key prefix, so that tests on the same Redis do not disturb each other. */
export function testPrefix(): string {
  return `test:${randomBytes(8).toString('hex')}`
}
