// Subjects near a limit are counted by plan, limit and share; units beyond a quota by plan and limit; bookings by kind.
import { createLimiter, memoryStore } from '@tollgate/core'
import { instrument } from '../src/index.js'
import { collect } from './collect.ts'

test('one for each share that a subject passes, and the units beyond its quota', async () => {
  const collected = collect()
  const limits = { quota: 4, window: 'month', overage: true } as const
  const limiter = createLimiter({
    plans: { pro: { limits, warnAt: [0.5, 1, 2] } },
    defaultPlan: 'pro',
    store: memoryStore(),
  })
  const stop = instrument(limiter, { meterProvider: collected.provider, attributes: { app: 'api' } })
  for (const id of ['acme', 'other']) for (let i = 0; i < 6; i += 1) await limiter.consume(id)
  await limiter.peek('acme')
  const of = { app: 'api', 'tollgate.plan.name': 'pro', 'tollgate.limit.name': 'month' }
  expect(await collected.sum('tollgate.limit.warnings', { ...of, 'tollgate.limit.share': 0.5 })).toBe(2)
  expect(await collected.sum('tollgate.limit.warnings', { ...of, 'tollgate.limit.share': 1 })).toBe(2)
  expect(await collected.sum('tollgate.limit.overage', { ...of, 'tollgate.decision.source': 'store' })).toBe(
    4,
  )
  await limiter.consume('acme', { cost: 10 })
  expect(await collected.sum('tollgate.limit.warnings', { ...of, 'tollgate.limit.share': 2 })).toBe(1)
  expect(await collected.sum('tollgate.limit.overage', { ...of, 'tollgate.decision.source': 'store' })).toBe(
    14,
  )
  stop.stop()
  await collected.close()
})

test('bookings are counted by kind, and repeated ones are not', async () => {
  const collected = collect()
  const limiter = createLimiter({
    plans: { pro: { limits: { quota: 4, window: 'month' } } },
    defaultPlan: 'pro',
  })
  const stop = instrument(limiter, { meterProvider: collected.provider })
  const key = 'order-17'
  for (let i = 0; i < 2; i += 1) await limiter.topUp('acme', { limit: 'month', units: 2, for: '1d', key })
  await limiter.renew('acme', { limit: 'month', key: 'invoice-1' })
  const of = { 'tollgate.plan.name': 'pro', 'tollgate.limit.name': 'month' }
  expect(await collected.sum('tollgate.bookings', { ...of, 'tollgate.booking.kind': 'topUp' })).toBe(1)
  expect(await collected.sum('tollgate.bookings', { ...of, 'tollgate.booking.kind': 'renewal' })).toBe(1)
  stop.stop()
  await collected.close()
})
