// A store can have an algorithm of its own for limits that name none.
import { createLimiter, memoryStore, type Limiter, type LimiterOptions } from '../../src/index.js'
import type { AlgorithmName, Store } from '../../src/store.js'
import type { Algorithm } from '../../src/plans/limit/limit.js'

/** A store of counters that tells the algorithms it was asked for. */
function counters(defaultAlgorithm: Algorithm | undefined = 'sliding-window'): {
  store: Store
  asked: AlgorithmName[]
} {
  const inner = memoryStore()
  const asked: AlgorithmName[] = []
  const store: Store = {
    synchronous: true,
    atomic: true,
    algorithms: ['sliding-window', 'fixed-window', 'calendar-window'],
    ...(defaultAlgorithm && { defaultAlgorithm }),
    consume(batch) {
      for (const { parts } of batch)
        for (const { set } of parts) asked.push(...set.limits.map((one) => one.algorithm))
      return inner.consume(batch)
    },
    peek: (batch) => inner.peek(batch),
    refund: (batch) => inner.refund(batch),
    reset: (keys, shard) => inner.reset(keys, shard),
  }
  return { store, asked }
}

const on = (options: Omit<LimiterOptions, 'store'>, store = counters().store): Limiter =>
  createLimiter({ ...options, store })

test('limits that name no algorithm get it, unless their window calls for another', async () => {
  const { store, asked } = counters()
  const limiter = on(
    { limit: ['100/min', '5000000/month', { quota: 9, window: 'h', algorithm: 'fixed-window' }] },
    store,
  )
  await limiter.consume('acme')
  expect(asked).toEqual(['sliding-window', 'calendar-window', 'fixed-window'])
})

test('so do limits of groups, stacked ones, and plans that come later', async () => {
  const { store, asked } = counters('fixed-window')
  const limiter = on({ plans: { free: '5/min' } }, store)
  await limiter.scope({ group: 'search', limit: '9/min' }).consume('acme')
  await limiter.scope({ stacked: { export: '9/h' } }).consume('acme')
  limiter.setPlans({ free: '5/h' })
  await limiter.consume('acme')
  expect(asked).toEqual(['fixed-window', 'fixed-window', 'fixed-window', 'fixed-window'])
})

const HAS =
  "it counts algorithm: 'sliding-window', algorithm: 'fixed-window', algorithm: 'fixed-window' with a month, a year, timeZone or anchor"
const log = { quota: 5, window: 'min', algorithm: 'sliding-log' } as const
const bucket = "this store cannot count algorithm: 'token-bucket'"

test.each<[what: string, make: () => unknown, message: string]>([
  [
    'a limit',
    () => on({ limit: '50/s burst 100' }),
    `limit: ${bucket}; ${HAS}: write '50/s', which it counts by algorithm: 'sliding-window'`,
  ],
  [
    'a plan, by one of its limits',
    () => on({ plans: { pro: ['9/h', log] } }),
    `plans.pro: this store cannot count algorithm: 'sliding-log' (the limit 'minute'); ${HAS}: write '5/min', which it counts by algorithm: 'sliding-window'`,
  ],
  ['a group', () => on({ limit: '5/min' }).scope({ group: 'g', limit: '9/s burst 20' }), `limit: ${bucket}`],
  [
    'a stacked limit',
    () => on({ limit: '5/min' }).scope({ stacked: { export: '9/s burst 20' } }),
    `stacked.export: ${bucket}`,
  ],
  [
    'a plan that comes later',
    () => on({ limit: '5/min' }).setPlans({ pro: '9/s burst 20' }),
    `plans.pro: ${bucket}`,
  ],
  [
    'a limit without an algorithm, where the store has none of its own',
    () =>
      on(
        { limit: '5/min' },
        { ...counters().store, defaultAlgorithm: 'sliding-log', algorithms: ['fixed-window'] },
      ),
    'store.defaultAlgorithm',
  ],
  [
    'a limit without an algorithm',
    () => {
      const { defaultAlgorithm: _, ...store } = counters().store
      return on({ limit: '5/min' }, store)
    },
    `limit: this store cannot count algorithm: 'sliding-log'; ${HAS}: write algorithm: 'sliding-window'`,
  ],
])('%s that the store cannot count is refused, with what it can', (_, make, message) => {
  expect(make).toThrow(message)
})
