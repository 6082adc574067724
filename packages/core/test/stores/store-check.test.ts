import {
  checkStore,
  createLimitSetFor,
  createLimitSet,
  memoryStore,
  unsupportedBy,
  type Store,
} from '../../src/store.js'

const fine = (): Record<string, unknown> => ({
  synchronous: false,
  consume: async () => [],
  peek: async () => [],
  refund: async () => [],
  reset: async () => {},
})

test('a store is known by its methods, including those of a class', () => {
  expect(() => checkStore(fine(), 'store')).not.toThrow()
  expect(() => checkStore(memoryStore(), 'store')).not.toThrow()
  const able = {
    ...fine(),
    atomic: true,
    shards: 3,
    algorithms: ['token-bucket'],
    defaultAlgorithm: 'token-bucket',
    leases: true,
    slots: true,
    holds: true,
    clock: 'server',
    space: {},
    close: () => {},
  }
  expect(() => checkStore(able, 'store')).not.toThrow()
})

test.each<[given: unknown, path: string, expected: RegExp]>([
  [undefined, 'store', /redisStore\(client\)/],
  ['redis', 'store', /redisStore\(client\)/],
  [() => {}, 'store', /redisStore\(client\)/],
  // Like a Redis client, which has a `reset`, too.
  [{ get: () => {}, set: () => {}, reset: () => {} }, 'store', /redisStore\(client\).*writing-a-store/],
  ...['consume', 'peek', 'refund', 'reset'].map((name): [unknown, string, RegExp] => {
    return [{ ...fine(), [name]: undefined }, `store.${name}`, /a method/]
  }),
  [{ ...fine(), observe: true }, 'store.observe', /a method/],
  [{ ...fine(), synchronous: undefined }, 'store.synchronous', /promises/],
  [{ ...fine(), atomic: 'yes' }, 'store.atomic', /several keys/],
  [{ ...fine(), shards: 0 }, 'store.shards', /from 1/],
  [{ ...fine(), shards: 1.5 }, 'store.shards', /from 1/],
  [{ ...fine(), leases: 1 }, 'store.leases', /grant lease/],
  [{ ...fine(), slots: 'yes' }, 'store.slots', /in flight/],
  [{ ...fine(), holds: null }, 'store.holds', /places/],
  [{ ...fine(), clock: 'redis' }, 'store.clock', /'server'/],
  [{ ...fine(), space: 'redis' }, 'store.space', /an object/],
  [{ ...fine(), space: null }, 'store.space', /an object/],
  [{ ...fine(), algorithms: [] }, 'store.algorithms', /sliding-log/],
  [{ ...fine(), longestTtlMs: 0 }, 'store.longestTtlMs', /in ms, or nothing/],
  [{ ...fine(), algorithms: 'token-bucket' }, 'store.algorithms', /sliding-log/],
  [{ ...fine(), defaultAlgorithm: 'leaky' }, 'store.defaultAlgorithm', /'sliding-window'/],
  [
    { ...fine(), algorithms: ['token-bucket', 'calendar-window'], defaultAlgorithm: 'sliding-window' },
    'store.defaultAlgorithm',
    /^got 'sliding-window', expected one of 'token-bucket', which are those of `algorithms`, or nothing$/,
  ],
  [
    { ...fine(), algorithms: ['calendar-window'], defaultAlgorithm: 'fixed-window' },
    'store.defaultAlgorithm',
    /nothing, since/,
  ],
  [{ ...fine(), algorithms: ['token-bucket', 'leaky'] }, 'store.algorithms[1]', /sliding-log/],
])('%p is none, and the error names %s', (given, path, expected) => {
  expect(() => checkStore(given, 'store')).toThrow(
    expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path, problem: expect.stringMatching(expected) }),
  )
})

test('which algorithm of some limits a store does not support', () => {
  const set = createLimitSet('5/s burst 9', '100/month')
  const store = (algorithms?: Store['algorithms']): Store => ({ ...memoryStore(), algorithms }) as Store
  expect(unsupportedBy(store(), set)).toBeUndefined()
  expect(unsupportedBy(store(['token-bucket', 'calendar-window']), set)).toBeUndefined()
  expect(unsupportedBy(store(['token-bucket']), set)).toBe('calendar-window')
  expect(unsupportedBy(store(['sliding-log']), set)).toBe('token-bucket')
})

test('limits as a limiter on a store compiles them', () => {
  const algorithms = (store: Pick<Store, 'defaultAlgorithm'>): string[] =>
    createLimitSetFor(store, '5/s burst 9', '100/month', '5/min', {
      quota: 5,
      window: 'h',
      algorithm: 'sliding-log',
    }).limits.map(({ algorithm }) => algorithm)
  expect(algorithms(memoryStore())).toEqual(['token-bucket', 'calendar-window', 'sliding-log', 'sliding-log'])
  expect(algorithms({ defaultAlgorithm: 'sliding-window' })[2]).toBe('sliding-window')
})
