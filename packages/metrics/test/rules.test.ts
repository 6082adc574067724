// Rules that are set at run time: their changes, each counted by one process, and the requests that they block.
import { createLimiter, redisStore, type Limiter } from '@tollgate/core'
import { eventually, testPrefix, testRedisUrl } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { instrument, instrumentAll } from '../src/index.js'
import { collect, type Collected } from './collect.ts'

let collected: Collected
beforeEach(() => {
  collected = collect()
})
afterEach(() => collected.close())

const changes = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await collected.points('tollgate.rule.changes')).map(([attributes, value]) => [
      `${String(attributes['tollgate.rule.kind'])} ${String(attributes['tollgate.rule.action'])}`,
      value,
    ]),
  )
const NONE = { 'block set': 0, 'override set': 0, 'scale set': 0, 'forgetPlan set': 0 }

test.each([
  ['instrument', (limiter: Limiter) => instrument(limiter, { meterProvider: collected.provider })],
  ['instrumentAll', () => instrumentAll({ meterProvider: collected.provider })],
])('%s counts rules that were set and lifted, by kind', async (_, begin) => {
  const limiter = createLimiter({ plans: { free: '100/min' } })
  const { stop } = begin(limiter)
  await limiter.consume('acme')
  expect(await changes()).toEqual(NONE)
  await limiter.block('acme', { for: '1h' })
  await limiter.block('acme', { for: '2h' })
  await limiter.unblock('acme')
  await limiter.override('acme', { factor: 2, for: '1h' })
  await limiter.scale('free', 0.5, { for: '1h' })
  await limiter.forgetPlan('acme', { everywhere: true })
  expect(await changes()).toEqual({
    'block set': 2,
    'block lifted': 1,
    'override set': 1,
    'scale set': 1,
    'forgetPlan set': 1,
  })
  stop()
  await limiter.close()
})

test('a blocked request is a decision by the rule, and names no plan, since none was looked up', async () => {
  const limiter = createLimiter({ plans: { free: '100/min' } })
  const { stop } = instrument(limiter, { meterProvider: collected.provider })
  await limiter.block('acme', { for: '1h' })
  await limiter.consume({ id: 'acme', plan: 'made up' })
  const attributes = {
    'tollgate.decision.source': 'rule',
    'tollgate.decision.result': 'denied',
    'tollgate.decision.reason': 'blocked',
  }
  expect(await collected.counted('tollgate.decisions')).toEqual([[attributes, 1]])
  stop()
  await limiter.close()
})

test('of two processes, the one that sets a rule counts it', async () => {
  const prefix = testPrefix()
  const clients = [1, 2].map(
    () => new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 }),
  )
  const [here, there] = clients.map((client) =>
    createLimiter({ limit: '100/min', store: redisStore(client, { prefix }), deadlineMs: 10_000 }),
  ) as [Limiter, Limiter]
  const { stop } = instrument(there, { meterProvider: collected.provider })
  await eventually(() => there.health().rules === 'current')
  await here.block('acme', { for: '1h' })
  await eventually(async () => !(await there.peek('acme')).allowed)
  expect(await changes()).toEqual(NONE)
  await there.unblock('acme')
  expect(await changes()).toEqual({ ...NONE, 'block lifted': 1 })
  stop()
  await Promise.all([here.close(), there.close()])
  for (const client of clients) client.disconnect()
})
