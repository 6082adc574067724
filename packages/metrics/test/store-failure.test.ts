import { createLimiter, redisStore, type Limiter, type LimiterOptions } from '@tollgate/core'
import { eventually, startRedis, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { instrument, type Instrumentation } from '../src/index.js'
import { collect, type Collected } from './collect.ts'

let server: RedisServer
let redis: Redis
let collected: Collected
let limiter: Limiter
let instrumentation: Instrumentation

const start = async (options: Partial<LimiterOptions> = {}): Promise<void> => {
  redis = new Redis(server.url, {
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
    maxRetriesPerRequest: null,
    // Without it, ioredis keeps a timer of 2 s after a second disconnect, which keeps the process alive.
    disconnectTimeout: 100,
  })
  redis.on('error', () => {})
  limiter = createLimiter({
    plans: { free: '5/min', pro: '1000/min' },
    defaultPlan: 'free',
    store: redisStore(redis),
    // Long, so that a busy machine is not taken for a fault.
    deadlineMs: 300,
    ...options,
  })
  instrumentation = instrument(limiter, { meterProvider: collected.provider })
}

const breakers = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await collected.points('tollgate.breaker.status')).map(([attributes, value]) => {
      expect(attributes['tollgate.store.shard']).toBe(0)
      return [String(attributes['tollgate.breaker.state']), value]
    }),
  )

const statuses = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await collected.points('tollgate.limiter.status')).map(([attributes, value]) => [
      String(attributes['tollgate.limiter.state']),
      value,
    ]),
  )

beforeEach(async () => {
  server = await startRedis()
  collected = collect()
})

afterEach(async () => {
  instrumentation.stop()
  await limiter.close()
  redis.disconnect()
  await Promise.all([collected.close(), server.kill()])
})

test('a Redis that dies and comes back: errors, breaker, health, fallback and reconciliation', async () => {
  await start()
  let [errors, fallbacks] = [0, 0]
  limiter.on('storeError', () => (errors += 1))
  limiter.on('fallback', () => (fallbacks += 1))
  await limiter.consume({ id: 'acme', plan: 'pro' })
  expect(await breakers()).toEqual({ closed: 1, open: 0, 'half-open': 0 })
  expect(await statuses()).toEqual({ ok: 1, degraded: 0, closed: 0 })

  await server.kill()
  await eventually(async () => {
    await limiter.consume({ id: 'acme', plan: 'pro' })
    return limiter.health().status === 'degraded'
  })
  await limiter.consume({ id: 'acme', plan: 'pro' })

  expect(await breakers()).toEqual({ closed: 0, open: 1, 'half-open': 0 })
  expect(await statuses()).toEqual({ ok: 0, degraded: 1, closed: 0 })
  expect(await collected.sum('tollgate.breaker.changes', { 'tollgate.breaker.state': 'open' })).toBe(1)
  expect(await collected.sum('tollgate.store.errors')).toBe(errors)
  expect(await collected.sum('tollgate.store.failed_requests')).toBe(limiter.stats().storeErrors)
  const reasons = (await collected.points('tollgate.store.errors')).map(
    ([attributes]) => attributes['error.type'],
  )
  expect(['unreachable', 'timeout']).toEqual(expect.arrayContaining(reasons))
  const local = { 'tollgate.failure_policy': 'local', 'tollgate.decision.result': 'allowed' }
  expect(await collected.sum('tollgate.fallback.decisions', local)).toBe(fallbacks)
  expect(await collected.sum('tollgate.decisions', { 'tollgate.decision.source': 'local' })).toBe(fallbacks)

  server = await startRedis({ port: server.port })
  await eventually(() => limiter.health().status === 'ok')
  await eventually(async () => (await breakers())['closed'] === 1)
  expect(await collected.sum('tollgate.breaker.changes', { 'tollgate.breaker.state': 'half-open' })).toBe(1)
  const charged = { 'tollgate.reconciliation.result': 'charged' }
  await eventually(async () => (await collected.sum('tollgate.reconciliation.units', charged)) === fallbacks)
  expect(limiter.stats().reconciled).toEqual({ units: fallbacks, dropped: 0 })
})

test.each(['open', 'closed'] as const)('the policy %s is told by its name', async (policy) => {
  await start({ onStoreFailure: policy })
  await server.kill()
  await eventually(async () => (await limiter.consume('acme')).source === policy)
  const result = policy === 'open' ? 'allowed' : 'denied'
  const told = { 'tollgate.failure_policy': policy, 'tollgate.decision.result': result }
  expect(await collected.sum('tollgate.fallback.decisions', told)).toBe(1)
  const reason = policy === 'open' ? {} : { 'tollgate.decision.reason': 'store-unavailable' }
  expect(await collected.sum('tollgate.decisions', { 'tollgate.decision.source': policy, ...reason })).toBe(1)
})

test('requests that wait for a Redis that hangs are pending', async () => {
  await start({ deadlineMs: 2000 })
  await limiter.consume('acme')
  server.pause()
  const waiting = [limiter.consume('acme'), limiter.consume('globex')]
  expect(await collected.points('tollgate.request.pending')).toEqual([[{}, 2]])
  server.resume()
  await Promise.all(waiting)
  expect(await collected.points('tollgate.request.pending')).toEqual([[{}, 0]])
})

test('a breaker that opened before the first listener is recorded as open', async () => {
  await start()
  instrumentation.stop()
  await server.kill()
  await eventually(async () => {
    await limiter.consume('acme')
    return limiter.health().status === 'degraded'
  })
  await collected.close()
  collected = collect()
  instrumentation = instrument(limiter, { meterProvider: collected.provider })
  expect(await breakers()).toEqual({ closed: 0, open: 1, 'half-open': 0 })
})

test('a closed limiter is recorded as closed', async () => {
  await start()
  await limiter.close()
  await limiter.consume('acme')
  expect(await statuses()).toEqual({ ok: 0, degraded: 0, closed: 1 })
  expect(await collected.points('tollgate.store.errors')).toEqual([[{ 'error.type': 'closed' }, 1]])
})
