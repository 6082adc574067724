import { channel } from 'node:diagnostics_channel'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createLimiter, redisStore, type Decision, type Limiter } from '@tollgate/core'
import { channelFor } from '@tollgate/core/adapter'
import { eventually, freePort } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { instrument, instrumentAll, type Instrumentation } from '../src/index.js'
import { collect, type Collected } from './collect.ts'

let collected: Collected
let instrumentation: Instrumentation

beforeEach(() => {
  collected = collect()
  instrumentation = instrumentAll({ meterProvider: collected.provider })
})

afterEach(async () => {
  instrumentation.stop()
  await collected.close()
})

const limiters = async (state: string): Promise<number> =>
  collected.sum('tollgate.limiter.status', { 'tollgate.limiter.state': state })

const CHANGES = [
  'breaker',
  'evicted',
  'inFlight',
  'lease',
  'reconciliation',
  'storeCall',
  'storeError',
  'waiting',
] as const

/** Limiters that another test file has left in this process: one that ends its business now is counted, too. */
function limitersBeside(own: readonly Limiter[]): ReadonlySet<Limiter> {
  const found = new Set<Limiter>()
  for (const name of CHANGES) {
    channel(channelFor(name)).subscribe((message) => {
      const { limiter } = message as { readonly limiter: Limiter }
      if (!own.includes(limiter)) found.add(limiter)
    })
  }
  return found
}

test('counts what all limiters do, each known from its first event on', async () => {
  const [api, jobs, unused] = [
    createLimiter({ limit: '2/min' }),
    createLimiter({ limit: '1/min' }),
    createLimiter({ limit: '1/min' }),
  ]
  const others = limitersBeside([api, jobs, unused])
  for (let i = 0; i < 3; i += 1) await api.consume('acme')
  for (let i = 0; i < 3; i += 1) await jobs.consume('acme')
  expect(await collected.sum('tollgate.decisions', { 'tollgate.decision.result': 'allowed' })).toBe(3)
  expect(await collected.sum('tollgate.decisions', { 'tollgate.decision.result': 'denied' })).toBe(3)
  const counted = await limiters('ok')
  expect(counted - [...others].filter((limiter) => limiter.health().status === 'ok').length).toBe(2)
  await Promise.all([api, jobs, unused].map((limiter) => limiter.close()))
})

test('closed limiters are forgotten, unless they are used again', async () => {
  const limiter = createLimiter({ limit: '2/min' })
  await limiter.consume('acme')
  expect([await limiters('ok'), await limiters('closed')]).toEqual([1, 0])
  await limiter.close()
  expect([await limiters('closed'), await limiters('closed'), await limiters('ok')]).toEqual([1, 0, 0])
  await limiter.consume('acme')
  expect([await limiters('closed'), await limiters('closed')]).toEqual([1, 0])
})

test('records a store that fails: errors, policy, breaker', async () => {
  const redis = new Redis(await freePort(), '127.0.0.1', {
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
    disconnectTimeout: 100,
  })
  redis.on('error', () => {})
  const limiter = createLimiter({
    limit: '10/min',
    store: redisStore(redis),
    onStoreFailure: 'closed',
    deadlineMs: 20,
  })
  while (limiter.health().status === 'ok') await limiter.consume('acme')
  await limiter.consume('acme')
  expect(await collected.sum('tollgate.breaker.status', { 'tollgate.breaker.state': 'open' })).toBe(1)
  expect(await collected.sum('tollgate.breaker.changes')).toBe(1)
  expect(await collected.sum('tollgate.store.failed_requests')).toBe(limiter.stats().storeErrors)
  const { denied } = limiter.stats().decisions.closed
  expect(await collected.sum('tollgate.fallback.decisions', { 'tollgate.failure_policy': 'closed' })).toBe(
    denied,
  )
  await limiter.close()
  redis.disconnect()
})

test('records unknown plans and failed look-ups', async () => {
  const planOf = (): never => {
    throw new Error('no database')
  }
  const limiter = createLimiter({ plans: { free: '10/min' }, planOf, warnings: false })
  await limiter.consume('acme')
  await limiter.consume({ id: 'acme', plan: 'made up' })
  expect(await collected.sum('tollgate.plan_lookup.errors')).toBe(1)
  expect(await collected.counted('tollgate.unknown_plan.requests')).toEqual([
    [{ 'tollgate.plan.name': 'free' }, 1],
  ])
  await limiter.close()
})

test('records no plan for decisions of a list: the plan may not exist', async () => {
  const limiter = createLimiter({ limit: '10/min' })
  const decision: Partial<Decision> = {
    ...(await limiter.consume('acme')),
    allowed: false,
    violated: [],
    plan: 'made up',
    source: 'list',
    reason: 'blocked',
    cost: 0,
  }
  channel('tollgate:decision').publish({ limiter, decision })
  const blocked = { 'tollgate.decision.source': 'list', 'tollgate.decision.reason': 'blocked' }
  expect(await collected.sum('tollgate.decisions', blocked)).toBe(1)
  expect(JSON.stringify(await collected.all())).not.toContain('made up')
  await limiter.close()
})

test('other messages on a channel do not end the process', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const errors: unknown[] = []
  const note = (error: unknown): void => void errors.push(error)
  process.on('uncaughtException', note)
  for (const message of [undefined, null, {}, { limiter: {} }, { limiter: 7, decision: 7 }]) {
    channel('tollgate:decision').publish(message)
  }
  // Node throws a subscriber's error again in the next tick, which comes before this.
  await new Promise(setImmediate)
  await collected.all()
  process.off('uncaughtException', note)
  expect([errors, warn.mock.calls.length]).toEqual([[], 1])
  warn.mockRestore()
})

test('stop: nothing is recorded after it', async () => {
  const limiter = createLimiter({ limit: '10/min' })
  await limiter.consume('acme')
  instrumentation.stop()
  await limiter.consume('acme')
  expect(await collected.sum('tollgate.decisions')).toBe(1)
  expect(channel('tollgate:decision').hasSubscribers).toBe(false)
  await limiter.close()
})

test.each([
  ['instrumentAll', (): void => {}],
  ['instrument', (limiter: Limiter) => instrument(limiter, { meterProvider: collected.provider })],
])('a limiter that is no longer referenced is garbage collected: %s', async (_, begin) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const kept: unknown[] = []
  const use = async (): Promise<void> => {
    const limiter = createLimiter({ limit: '10/min' })
    kept.push(begin(limiter))
    await limiter.consume('acme')
  }
  await use()
  expect(await limiters('ok')).toBeGreaterThan(0)
  await eventually(async () => {
    collectGarbage()
    return (await limiters('ok')) === 0
  })
  // Whoever keeps `stop` does not keep the limiter.
  expect(kept.length).toBe(1)
})
