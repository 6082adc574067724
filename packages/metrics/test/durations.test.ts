// Histograms: how long calls of the store took, and how long requests waited in line.
import { createLimiter, memoryStore, redisStore, type Limiter } from '@tollgate/core'
import { failingStore } from '@tollgate/core/testing'
import { testPrefix, testRedisUrl } from '@tollgate/testing'
import type { Histogram } from '@opentelemetry/sdk-metrics'
import { Redis } from 'ioredis'
import { instrument } from '../src/index.js'
import { collect, type Collected } from './collect.ts'

let collected: Collected
beforeEach(() => {
  collected = collect()
})
afterEach(() => collected.close())

async function histograms(name: string): Promise<[Record<string, unknown>, Histogram][]> {
  return (await collected.points(name)).map(([attributes, value]) => [
    attributes,
    value as unknown as Histogram,
  ])
}

const start = (limiter: Limiter): (() => void) =>
  instrument(limiter, { meterProvider: collected.provider }).stop

test('each call to Redis is a value in seconds, however many requests it decides', async () => {
  const redis = new Redis(testRedisUrl())
  const store = redisStore(redis, { prefix: testPrefix() })
  const limiter = createLimiter({ limit: '100/min', store, deadlineMs: 10_000 })
  const stop = start(limiter)
  const calls: number[] = []
  limiter.on('storeCall', ({ durationMs }) => void calls.push(durationMs / 1000))
  await Promise.all([1, 2, 3, 4, 5].map((id) => limiter.consume(`tenant ${id}`)))
  await limiter.consume('acme')
  const [[attributes, { count, sum, buckets }]] = (await histograms('tollgate.store.duration')) as [
    [object, Histogram],
  ]
  expect(attributes).toEqual({})
  expect(calls.length).toBeLessThan(6)
  expect(count).toBe(calls.length)
  expect(sum).toBeCloseTo(calls.reduce((all, one) => all + one))
  expect([buckets.boundaries[0], buckets.boundaries.at(-1)]).toEqual([0.0001, 1])
  stop()
  await limiter.close()
  redis.disconnect()
})

test('a call that fails has its reason, and the store that is down has no calls', async () => {
  const store = failingStore(memoryStore())
  const limiter = createLimiter({ limit: '100/min', store, deadlineMs: 10_000, warnings: false })
  const stop = start(limiter)
  await limiter.consume('acme')
  store.down()
  while (limiter.health().status === 'ok') await limiter.consume('acme')
  for (let i = 0; i < 5; i += 1) await limiter.consume('acme')
  const counts = (await histograms('tollgate.store.duration')).map(([attributes, { count }]) => [
    attributes,
    count,
  ])
  expect(counts).toEqual([
    [{ 'error.type': 'unreachable' }, 3],
    [{}, 1],
  ])
  stop()
  await limiter.close()
})

test('the memory store has no calls', async () => {
  const limiter = createLimiter({ limit: '100/min' })
  const stop = start(limiter)
  await limiter.consume('acme')
  expect(await histograms('tollgate.store.duration')).toEqual([])
  stop()
  await limiter.close()
})

test('a request that waits in line adds its time, by plan', async () => {
  const plans = { line: { limits: '1/s', wait: { maxDelay: '1s' } } }
  const limiter = createLimiter({ plans })
  const stop = start(limiter)
  const decisions = [limiter.consume('acme'), limiter.consume('acme')]
  const waited = (await Promise.all(decisions)).map(({ waitedMs = 0 }) => waitedMs / 1000)
  const [[attributes, { count, sum }]] = (await histograms('tollgate.request.wait_time')) as [
    [object, Histogram],
  ]
  expect(attributes).toEqual({ 'tollgate.plan.name': 'line', 'tollgate.decision.result': 'allowed' })
  expect(count).toBe(1)
  expect(sum).toBeCloseTo(waited.reduce((all, one) => all + one))
  expect(sum).toBeGreaterThan(0)
  stop()
  await limiter.close()
})
