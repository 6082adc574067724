// Requests in flight are read from the counts of limiters when metrics are collected.
import { createLimiter } from '@tollgate/core'
import { instrument, instrumentAll } from '../src/index.js'
import { collect, type Collected } from './collect.ts'

let collected: Collected
beforeEach(() => {
  collected = collect()
})
afterEach(() => collected.close())

const inFlight = (): Promise<number> => collected.sum('tollgate.request.inflight')

test('what is in flight is told as of now, and falls when a request is over', async () => {
  const limiter = createLimiter({ limit: '2 concurrent' })
  instrument(limiter, { meterProvider: collected.provider })
  expect(await inFlight()).toBe(0)
  const [first] = [
    await limiter.consume('acme'),
    await limiter.consume('acme'),
    await limiter.consume('acme'),
  ]
  await limiter.consume('globex')
  expect(await inFlight()).toBe(3)
  first.release()
  first.release()
  expect(await inFlight()).toBe(2)
})

test('that of all limiters is added together', async () => {
  const { stop } = instrumentAll({ meterProvider: collected.provider })
  const [one, other] = [createLimiter({ limit: '9 concurrent' }), createLimiter({ limit: '9 concurrent' })]
  for (const limiter of [one, one, other]) await limiter.consume('acme')
  expect(await inFlight()).toBe(3)
  stop()
})
