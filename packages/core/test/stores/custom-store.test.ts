import {
  createLimiter,
  memoryStore,
  StoreError,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '../../src/index.js'
import type { Answer } from '../../src/stores/contract.js'
import { comesToStay } from '../support/outage.js'
import { asyncStore } from '../support/stores.js'

type Batch = Parameters<Store['consume']>[0]
type Give = (batch: Batch) => unknown

const plans = { free: '5/min', two: ['5/min', '9/h'] } as const
const state = { wait: 0, remaining: 4, reset: 60_000_000 }
const outcomeOf = ({ parts }: Batch[number]): object => ({
  at: 1,
  limits: parts.flatMap(({ set }) => set.limits.map(() => state)),
})
const fine: Give = (batch) => batch.map(outcomeOf)

/** A limiter on a store that breaks the contract: it returns whatever `give` returns. */
function limiterOn(
  synchronous: boolean,
  give: Give,
  onStoreFailure: LimiterOptions['onStoreFailure'] = 'closed',
): { limiter: Limiter; errors: StoreError[]; left: () => number } {
  const answer = (batch: Batch): never => (synchronous ? give(batch) : (async () => give(batch))()) as never
  const store: Store = { synchronous, consume: answer, peek: answer, refund: () => [], reset: () => false }
  const limiter = createLimiter({ store, plans, defaultPlan: 'free', onStoreFailure, warnings: false })
  const errors: StoreError[] = []
  let left = 0
  limiter.on('storeError', (error, requests) => {
    errors.push(error)
    left += requests
  })
  return { limiter, errors, left: () => left }
}

const limits = (...given: unknown[]): Give => {
  return (batch) => batch.map(() => ({ at: 1, limits: given }))
}

/** An object that throws when this property is read. */
const unreadable = (name: string): object => {
  const get = (): never => {
    throw new Error('unreadable')
  }
  return Object.defineProperty({ at: 1 }, name, { get })
}
const hostile: ProxyHandler<object> = {
  get: () => {
    throw new Error('unreadable')
  },
  getPrototypeOf: () => {
    throw new Error('unreadable')
  },
}

const broken: [what: string, give: Give][] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['no array', () => ({})],
  ['no outcomes', () => []],
  ['an array of nothing', () => Array(3)],
  ['nulls', (batch) => batch.map(() => null)],
  ['truths', (batch) => batch.map(() => true)],
  ['outcomes without limits', (batch) => batch.map(() => ({ at: 1 }))],
  ['limits that are no array', (batch) => batch.map(() => ({ at: 1, limits: { length: 1 } }))],
  ['outcomes without a time', (batch) => batch.map(() => ({ limits: [state] }))],
  ['fewer limits than the plan has', limits()],
  ['more limits than the plan has', limits(state, state)],
  ['no limit where one should be', (batch) => batch.map(() => ({ at: 1, limits: Array(1) }))],
  ['a limit that is null', limits(null)],
  ['a limit without a wait', limits({ remaining: 4, reset: 0 })],
  ['a wait that is no number', limits({ ...state, wait: Number.NaN })],
  ['a remaining that is text', limits({ ...state, remaining: '4' })],
  ['a reset without end', limits({ ...state, reset: Number.POSITIVE_INFINITY })],
  ['a remaining below nothing', limits({ ...state, remaining: -1 })],
  ['half a unit remaining', limits({ ...state, remaining: 0.5 })],
  ['a remaining beyond whole numbers', limits({ ...state, remaining: 1e300 })],
  ['a wait beyond whole numbers', limits({ ...state, wait: 1e300 })],
  ['a reset beyond whole numbers', limits({ ...state, reset: 1e300 })],
  ['outcomes that cannot be read', (batch) => batch.map(() => unreadable('limits'))],
  ['a limit that cannot be read', limits(unreadable('wait'))],
  ['what throws at every look', (batch) => batch.map(() => new Proxy({}, hostile))],
  [
    'a throw',
    () => {
      throw new Error('down')
    },
  ],
  [
    'a throw of nothing',
    () => {
      throw undefined
    },
  ],
  ['a rejected promise', () => Promise.reject(new Error('down'))],
  ['an error for each', (batch) => batch.map(() => new StoreError('down'))],
]

describe.each([
  ['that answers at once', true],
  ['that answers with a promise', false],
])('a store %s', (_, synchronous) => {
  test.each(broken)('giving %s leaves the request to the failure policy', async (_what, give) => {
    const { limiter, errors, left } = limiterOn(synchronous, give)
    for (const decide of [limiter.consume, limiter.peek]) {
      const before = left()
      const decision = await decide.call(limiter, 'acme')
      expect(decision).toMatchObject({ allowed: false, reason: 'store-unavailable', source: 'closed' })
      expect(decision.limits).toEqual([])
      expect(left() - before).toBe(1)
    }
    expect(errors.map(({ code }) => code)).toEqual(['ERR_TOLLGATE_STORE', 'ERR_TOLLGATE_STORE'])

    const open = limiterOn(synchronous, give, 'open')
    expect(await open.limiter.consume('acme')).toMatchObject({ allowed: true, source: 'open' })
  })

  test('that keeps the contract decides', async () => {
    const { limiter, errors } = limiterOn(synchronous, fine)
    for (const plan of ['free', 'two']) {
      const decision = await limiter.consume({ id: 'acme', plan })
      expect(decision).toMatchObject({ allowed: true, source: 'store' })
      expect(decision.limits.map(({ remaining }) => remaining)).toEqual(plan === 'two' ? [4, 4] : [4])
    }
    expect(errors).toEqual([])
  })
})

test('requests of a batch without an outcome are left to the policy, and no others', async () => {
  const { limiter, errors, left } = limiterOn(false, (batch) => batch.slice(0, 2).map(outcomeOf))
  const decisions = await Promise.all(['a', 'b', 'c', 'd'].map((id) => limiter.consume(id)))
  expect(decisions.map(({ source }) => source)).toEqual(['store', 'store', 'closed', 'closed'])
  expect(left()).toBe(2)
  expect(errors[0]?.message).toContain('answered a request with undefined, expected { at, limits }')
})

test('a closed limiter answers a peek by its policy, without a `limited` event', async () => {
  const { limiter, errors } = limiterOn(true, fine)
  const limited = jest.fn()
  limiter.on('limited', limited)
  await limiter.close()
  expect((await limiter.peek('acme')).source).toBe('closed')
  expect(limited).not.toHaveBeenCalled()
  await limiter.consume('acme')
  expect(limited).toHaveBeenCalledTimes(1)
  expect(errors.map(({ code }) => code)).toEqual(['ERR_TOLLGATE_CLOSED', 'ERR_TOLLGATE_CLOSED'])
})

test.each<[string, Give]>([
  ['an object', () => [{}]],
  ['null', () => [null]],
  ['a number', () => [5]],
  ['nothing at all', () => undefined],
  ['a limit without numbers', () => [{ at: 1, limits: [{}] }]],
  ['an outcome that cannot be read', () => [unreadable('limits')]],
])('what is told a store that gives %s, of requests and of instances, ends no process', async (_, give) => {
  let isWell = true
  const { limiter } = limiterOn(false, (batch) => (isWell ? fine(batch) : give(batch)), 'local')
  expect((await limiter.consume('acme')).source).toBe('store')
  isWell = false
  expect(await limiter.consume('other')).toMatchObject({ source: 'local', allowed: true })
  // A charge would follow after 100 ms.
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(limiter.stats().reconciled.units).toBe(0)
  expect(await limiter.consume('third')).toMatchObject({ source: 'local', allowed: true })
  await limiter.close()
})

test('when one of several subjects fails, nothing stays taken from the others', async () => {
  const inner = memoryStore()
  const consume: Store['consume'] = async (batch) =>
    batch.map((request) =>
      request.parts[0]?.key === 'down' ? new StoreError('down') : (inner.consume([request]) as Answer[])[0],
    ) as Answer[]
  const store = asyncStore({ atomic: false, consume }, inner)
  const limiter = createLimiter({ limit: '5/min', store, onStoreFailure: 'closed', local: { instances: 1 } })
  const asked = [limiter.consume(['acme', 'down']), limiter.consume(['acme', 'ann'])]
  expect((await Promise.all(asked)).map(({ source }) => source)).toEqual(['closed', 'store'])
  await comesToStay(async () => (await limiter.peek('acme')).limits[0]?.remaining ?? -1, 4)
})

test('an answer that comes twice, after the deadline, is given back once', async () => {
  const inner = memoryStore()
  let isLate = false
  const twice = (answers: unknown): unknown => ({
    then: (resolve: (answers: unknown) => void) => {
      setTimeout(() => [resolve(answers), resolve(answers)], 60)
    },
  })
  const store: Store = {
    synchronous: false,
    consume: (batch) => (isLate ? twice(inner.consume(batch)) : inner.consume(batch)) as never,
    peek: inner.peek.bind(inner),
    refund: inner.refund.bind(inner),
    reset: inner.reset.bind(inner),
  }
  const limit = { quota: 1000, window: 'h', algorithm: 'fixed-window' } as const
  const limiter = createLimiter({ limit, store, deadlineMs: 20, onStoreFailure: 'closed' })
  await limiter.consume('acme', { cost: 100 })
  isLate = true
  expect((await limiter.consume('acme', { cost: 10 })).source).toBe('closed')
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(900)
})

test('settle resolves to the units taken, even if none went back', async () => {
  const inner = memoryStore()
  let isAway = false
  const store: Store = {
    synchronous: false,
    consume: async (batch) => inner.consume(batch),
    peek: async (batch) => inner.peek(batch),
    refund: async (request) => {
      if (isAway) throw new Error('away')
      return inner.refund(request)
    },
    reset: inner.reset.bind(inner),
  }
  const limiter = createLimiter({ limit: '100/min', store, local: { instances: 1 } })
  const [some, all] = [
    await limiter.consume('acme', { cost: 50 }),
    await limiter.consume('acme', { cost: 5 }),
  ]
  isAway = true
  expect([await limiter.settle(some, 10), await limiter.refund(all)]).toEqual([50, false])
  isAway = false
  expect([await limiter.settle(some, 10), await limiter.settle(all, 0)]).toEqual([50, 5])
  expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(45)
  const more = await limiter.consume('acme')
  expect([await limiter.settle(more, 3), await limiter.settle(more, 9)]).toEqual([3, 3])
})

test.each([true, false])(
  'a store that does not say whether anything was there (synchronous: %p)',
  async (synchronous) => {
    const answer = (): never => (synchronous ? undefined : Promise.resolve()) as never
    const store: Store = { synchronous, consume: () => [], peek: () => [], refund: () => [], reset: answer }
    expect(await createLimiter({ limit: '1/min', store }).reset('acme')).toBe(false)
  },
)

test.each([-2, -0.5])('a wait of %p is no outcome', async (wait) => {
  const { limiter } = limiterOn(true, limits({ ...state, wait }))
  expect((await limiter.consume('acme')).source).toBe('closed')
})

test.each(['consume', 'peek', 'refund', 'reset'] as const)('a store without %s is refused', (method) => {
  const store = {
    synchronous: true,
    consume: fine,
    peek: fine,
    refund: () => [],
    reset: () => false,
    [method]: undefined,
  }
  expect(() => createLimiter({ limit: '1/min', store: store as never })).toThrow(
    expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path: `store.${method}` }),
  )
})
