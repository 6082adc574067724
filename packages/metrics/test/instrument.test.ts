import { metrics, type Meter } from '@opentelemetry/api'
import { AggregationTemporality } from '@opentelemetry/sdk-metrics'
import { createLimiter, memoryStore, type Limiter, type Store, type Subject } from '@tollgate/core'
import { internalsOf } from '@tollgate/core/adapter'
import { eventually } from '@tollgate/testing'
import { instrument, type Instrumentation, type InstrumentOptions } from '../src/index.js'
import { collect, type Collected } from './collect.ts'

const PLANS = { free: ['3/min', '100/h'], pro: '1000/min', internal: 'unlimited', out: 'blocked' } as const

let collected: Collected
let limiter: Limiter
let instrumentation: Instrumentation | undefined

const start = (options: InstrumentOptions = {}): void => {
  instrumentation = instrument(limiter, { meterProvider: collected.provider, ...options })
}

/** Sends requests one after another. */
const ask = async (times: number, subject: Subject, cost = 1): Promise<void> => {
  for (let i = 0; i < times; i += 1) await limiter.consume(subject, { cost })
}

beforeEach(() => {
  collected = collect()
  limiter = createLimiter({ plans: PLANS, defaultPlan: 'free' })
})

afterEach(async () => {
  instrumentation?.stop()
  instrumentation = undefined
  await Promise.all([collected.close(), limiter.close()])
})

describe('decisions', () => {
  const allowed = {
    'tollgate.plan.name': 'free',
    'tollgate.decision.source': 'store',
    'tollgate.decision.result': 'allowed',
  }
  const denied = {
    ...allowed,
    'tollgate.decision.result': 'denied',
    'tollgate.decision.reason': 'quota-exceeded',
  }

  test('are counted by result, source, plan and reason', async () => {
    start()
    await ask(5, { id: 'acme', plan: 'free' })
    await ask(2, { id: 'globex', plan: 'pro' })
    await ask(4, { id: 'cron', plan: 'internal' })
    await ask(1, { id: 'globex', plan: 'pro' }, 5000)
    await ask(1, { id: 'evil', plan: 'out' })
    const blocked = { 'tollgate.decision.reason': 'blocked', 'tollgate.decision.source': 'blocked' }
    expect(await collected.counted('tollgate.decisions')).toEqual(
      expect.arrayContaining([
        [allowed, 3],
        [denied, 2],
        [{ ...allowed, 'tollgate.plan.name': 'pro' }, 2],
        [{ ...allowed, 'tollgate.plan.name': 'internal', 'tollgate.decision.source': 'unlimited' }, 4],
        [{ ...denied, 'tollgate.plan.name': 'pro', 'tollgate.decision.reason': 'cost-exceeds-quota' }, 1],
        [{ ...denied, ...blocked, 'tollgate.plan.name': 'out' }, 1],
      ]),
    )
    expect(await collected.sum('tollgate.decisions')).toBe(13)
  })

  test('are recorded with their cost in units', async () => {
    start()
    await ask(2, { id: 'globex', plan: 'pro' }, 250)
    await ask(1, { id: 'globex', plan: 'pro' }, 800)
    const plan = { 'tollgate.plan.name': 'pro' }
    expect(await collected.sum('tollgate.units', { ...plan, 'tollgate.decision.result': 'allowed' })).toBe(
      500,
    )
    expect(await collected.sum('tollgate.units', { ...plan, 'tollgate.decision.result': 'denied' })).toBe(800)
  })

  test('that were denied count once for each limit without room', async () => {
    start()
    limiter.setPlans({ both: ['2/min', '2/h', '100/d'] }, { defaultPlan: 'both' })
    await ask(5, { id: 'acme' })
    const common = { 'tollgate.plan.name': 'both', 'tollgate.decision.source': 'store' }
    expect(await collected.points('tollgate.limit.violations')).toEqual([
      [{ ...common, 'tollgate.limit.name': 'hour' }, 3],
      [{ ...common, 'tollgate.limit.name': 'minute' }, 3],
    ])
  })

  test('of one turn of the event loop are added together, and none is lost', async () => {
    start()
    for (let i = 0; i < 1000; i += 1) void limiter.consume({ id: `tenant ${i}`, plan: 'pro' })
    const now = collected.sum('tollgate.decisions')
    await new Promise(setImmediate)
    await ask(1, { id: 'globex', plan: 'pro' })
    expect([await now, await collected.sum('tollgate.decisions')]).toEqual([1000, 1001])
  })

  test('are added without a collection of observables', async () => {
    const added: number[] = []
    const meter = fakeMeter({ add: (value) => void added.push(value) })
    instrumentation = instrument(limiter, { meter })
    added.length = 0
    for (let i = 0; i < 7; i += 1) void limiter.consume({ id: 'globex', plan: 'pro' }, { cost: 3 })
    expect(added).toEqual([])
    await new Promise(setImmediate)
    expect(added).toEqual([7, 21])
  })

  test('are exported as deltas on request', async () => {
    await collected.close()
    collected = collect(AggregationTemporality.DELTA)
    start()
    const sums = []
    for (const times of [3, 2]) {
      await ask(times, { id: 'globex', plan: 'pro' })
      sums.push(await collected.sum('tollgate.decisions'))
    }
    expect(sums).toEqual([3, 2])
  })

  test('that are only peeked at do not count', async () => {
    start()
    await limiter.peek({ id: 'globex', plan: 'pro' })
    expect(await collected.counted('tollgate.decisions')).toEqual([])
  })
})

describe('plans', () => {
  test('that do not exist are counted, but not by name', async () => {
    limiter = createLimiter({ plans: PLANS, defaultPlan: 'free', warnings: false })
    start()
    for (let i = 0; i < 50; i += 1) await limiter.consume({ id: 'acme', plan: `made up ${i}` })
    expect(await collected.counted('tollgate.unknown_plan.requests')).toEqual([
      [{ 'tollgate.plan.name': 'free' }, 50],
    ])
    expect(JSON.stringify(await collected.all())).not.toContain('made up')
  })

  test('whose look-up fails are counted', async () => {
    limiter = createLimiter({
      plans: PLANS,
      defaultPlan: 'free',
      planOf: () => {
        throw new Error('no database')
      },
    })
    start()
    await limiter.consume('acme')
    await limiter.consume('globex')
    expect(await collected.points('tollgate.plan_lookup.errors')).toEqual([[{}, 2]])
  })
})

function fail(): never {
  throw new Error('broken')
}

/** A meter that is not from the SDK. */
function fakeMeter(counter: { add: (value: number) => void }, observe = (): void => {}): Meter {
  return {
    createCounter: () => counter,
    createHistogram: () => ({ record: observe }),
    createObservableUpDownCounter: () => ({ addCallback: observe, removeCallback: observe }),
    addBatchObservableCallback: observe,
    removeBatchObservableCallback: observe,
  } as unknown as Meter
}

test('a meter that throws affects no request, and causes one warning', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
  instrumentation = instrument(limiter, { meter: fakeMeter({ add: fail }) })
  for (let i = 0; i < 5; i += 1) {
    expect(await limiter.consume({ id: 'acme', plan: 'made up' })).toMatchObject({ plan: 'free' })
    await new Promise(setImmediate)
  }
  // The limiter says by itself that the plan is made up.
  expect(warn.mock.calls).toEqual([
    ['Metrics could not be recorded: broken', { type: 'TollgateWarning', code: 'TOLLGATE_METRICS' }],
    [expect.stringContaining("'made up'"), { type: 'TollgateWarning', code: 'TOLLGATE_PLAN' }],
  ])
  warn.mockRestore()
})

test('units that the store has no room for are recorded as dropped', async () => {
  let isDown = true
  const full = { wait: 0, remaining: 0, reset: 1e6, granted: 0 }
  const store: Store = {
    synchronous: false,
    consume: async (batch) => {
      if (isDown) throw new Error('down')
      return batch.map(({ parts }) => ({
        at: Date.now() * 1000,
        limits: parts.flatMap(({ set }) => set.limits.map(() => full)),
      }))
    },
    peek: async () => [],
    refund: async (batch) => batch.map(() => false),
    reset: async () => false,
  }
  limiter = createLimiter({ limit: '5/min', store, local: { instances: 1 } })
  start()
  for (let i = 0; i < 9; i += 1) await limiter.consume('acme', { cost: 2 })
  isDown = false
  await new Promise<void>((resolve) => void limiter.on('reconciliation', () => resolve()))
  expect(await collected.points('tollgate.reconciliation.units')).toEqual([
    [{ 'tollgate.reconciliation.result': 'charged' }, 0],
    [{ 'tollgate.reconciliation.result': 'dropped' }, 4],
  ])
})

test('subjects that the store forgot for want of room are counted', async () => {
  limiter = createLimiter({ limit: '5/min', store: memoryStore({ maxSubjects: 2 }) })
  start()
  for (const id of ['acme', 'globex', 'initech', 'umbrella']) await limiter.consume(id)
  await eventually(async () => (await collected.sum('tollgate.store.evictions')) === 2)
  expect(limiter.stats().evicted).toBe(2)
})

test('rare counters start at 0, so that the first event is an increase', async () => {
  start()
  expect(await collected.points('tollgate.breaker.changes')).toEqual([
    [{ 'tollgate.breaker.state': 'open', 'tollgate.store.shard': 0 }, 0],
  ])
  for (const name of ['tollgate.plan_lookup.errors', 'tollgate.store.evictions']) {
    expect(await collected.points(name)).toEqual([[{}, 0]])
  }
})

test("everything has the user's attributes", async () => {
  limiter = createLimiter({ plans: PLANS, defaultPlan: 'free', warnings: false })
  start({ attributes: { 'service.namespace': 'shop', shard: 7 }, subjectAttribute: true })
  await ask(5, { id: 'acme', plan: 'made up' })
  const points = (await collected.all()).flatMap(({ metrics: all }) =>
    all.flatMap(({ dataPoints }) => dataPoints.map(({ attributes }) => attributes)),
  )
  expect(points.length).toBeGreaterThan(8)
  for (const attributes of points) {
    expect(attributes).toMatchObject({ 'service.namespace': 'shop', shard: 7 })
  }
})

test('stop: recorded values stay, and nothing is added', async () => {
  start()
  await ask(2, { id: 'globex', plan: 'pro' })
  instrumentation?.stop()
  await ask(2, { id: 'globex', plan: 'pro' })
  expect(await collected.sum('tollgate.decisions')).toBe(2)
  instrumentation?.stop()
})

test('without an SDK nothing is recorded, and nothing fails', async () => {
  instrumentation = instrument(limiter)
  await ask(2, { id: 'globex', plan: 'pro' })
})

test('the global provider is the default, and gets the name and version of the package', async () => {
  metrics.setGlobalMeterProvider(collected.provider)
  instrumentation = instrument(limiter)
  await ask(1, { id: 'globex', plan: 'pro' })
  metrics.disable()
  const [scope] = await collected.all()
  const { version } = jest.requireActual<{ version: string }>('../package.json')
  expect(scope?.scope).toMatchObject({ name: '@tollgate/metrics', version })
})

test('requests that were shed are counted by plan, and are no decisions', async () => {
  start()
  const { shed } = internalsOf(limiter)
  const told = { inFlight: 9, limit: 9, delayMs: 0 }
  for (const plan of ['free', 'free', 'pro']) shed({ ...told, subject: { id: 'acme' }, plan })
  expect(await collected.points('tollgate.request.shed')).toEqual([
    [{ 'tollgate.plan.name': 'free' }, 2],
    [{ 'tollgate.plan.name': 'pro' }, 1],
  ])
  expect(await collected.counted('tollgate.decisions')).toEqual([])
  expect(limiter.stats().shed).toBe(3)
})
