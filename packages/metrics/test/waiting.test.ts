// How many requests wait in line is read from the limiters when metrics are collected.
import { createLimiter, memoryStore } from '@tollgate/core'
import { instrumentAll } from '../src/index.js'
import { collect } from './collect.ts'

test('those who wait now, of all limiters together, with the attributes of the user', async () => {
  const collected = collect()
  const attributes = { 'service.namespace': 'shop' }
  const { stop } = instrumentAll({ meterProvider: collected.provider, attributes })
  let nowMs = 1_800_000_000_000
  const plans = { line: { limits: '1/s', wait: { maxDelay: '1s' } } }
  const limiters = [1, 2].map(() => createLimiter({ plans, store: memoryStore({ now: () => nowMs }) }))
  const sent = limiters.flatMap((limiter) => [limiter.consume('acme'), limiter.consume('acme')])
  expect(await collected.sum('tollgate.request.waiting', attributes)).toBe(2)
  nowMs += 1000
  await Promise.all(sent)
  expect(await collected.sum('tollgate.request.waiting', attributes)).toBe(0)
  stop()
  await collected.close()
})
