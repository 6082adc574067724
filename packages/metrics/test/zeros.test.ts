// Series that alerts watch begin at 0: an increase from nothing to 1 is none for Prometheus.
import { createLimiter, memoryStore, type Store } from '@tollgate/core'
import { instrument, type Instrumentation } from '../src/index.js'
import { collect, type Collected, type Point } from './collect.ts'

let collected: Collected
let instrumentation: Instrumentation
beforeEach(() => {
  collected = collect()
})
afterEach(async () => {
  instrumentation.stop()
  await collected.close()
})

const names = (points: readonly Point[], attribute: string): unknown[] =>
  points.map(([attributes, value]) => {
    expect(value).toBe(0)
    return attributes[attribute]
  })

test('before the first request, all plans have the series that alerts watch', async () => {
  const limiter = createLimiter({ plans: { free: '10/min', pro: '100/min' } })
  instrumentation = instrument(limiter, { meterProvider: collected.provider })
  const unknown = await collected.points('tollgate.unknown_plan.requests')
  expect(names(unknown, 'tollgate.plan.name')).toEqual(['free', 'pro'])
  const overQuota = { 'tollgate.decision.result': 'denied', 'tollgate.decision.reason': 'quota-exceeded' }
  const decisions = await collected.points('tollgate.decisions')
  expect(names(decisions, 'tollgate.plan.name').toSorted()).toEqual(['free', 'free', 'pro', 'pro'])
  expect(names(decisions, 'tollgate.decision.source').toSorted()).toEqual([
    'cache',
    'cache',
    'store',
    'store',
  ])
  for (const [attributes] of decisions) expect(attributes).toMatchObject(overQuota)
  await limiter.close()
})

test('a thousand plans are not a thousand series before they are used', async () => {
  const plans = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`plan-${i}`, '10/min'] as const))
  const limiter = createLimiter({ plans, defaultPlan: 'plan-0' })
  instrumentation = instrument(limiter, { meterProvider: collected.provider })
  expect((await collected.points('tollgate.unknown_plan.requests')).length).toBe(100)
  await limiter.close()
})

test('requests that fail begin at 0 for each reason', async () => {
  const limiter = createLimiter({ limit: '10/min' })
  instrumentation = instrument(limiter, { meterProvider: collected.provider })
  const reasons = names(await collected.points('tollgate.store.failed_requests'), 'error.type')
  expect(reasons).toEqual(expect.arrayContaining(['timeout', 'unreachable', 'out-of-memory', 'unknown']))
  expect(reasons.length).toBe(14)
  await limiter.close()
})

test('a shard of a cluster begins at 0 with its first call', async () => {
  const inner = memoryStore()
  const store: Store = {
    ...{ synchronous: false, shards: 16, atomic: true },
    consume: async (batch) => inner.consume(batch),
    peek: async (batch) => inner.peek(batch),
    refund: async (batch) => inner.refund(batch),
    reset: async (keys, shard, sets) => inner.reset(keys, shard, sets),
  }
  const limiter = createLimiter({ limit: '10/min', store, deadlineMs: 10_000 })
  instrumentation = instrument(limiter, { meterProvider: collected.provider })
  const shards = async (): Promise<unknown[]> =>
    names(await collected.points('tollgate.breaker.changes'), 'tollgate.store.shard')
  expect(await shards()).toEqual([0])
  const called = new Set([0])
  limiter.on('storeCall', ({ shard }) => void called.add(shard))
  for (let i = 0; i < 50; i += 1) await limiter.consume(`tenant ${i}`)
  expect(called.size).toBeGreaterThan(5)
  expect(new Set(await shards())).toEqual(called)
  expect(await collected.sum('tollgate.breaker.status', { 'tollgate.breaker.state': 'closed' })).toBe(
    called.size,
  )
  await limiter.close()
})
