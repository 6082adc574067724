// What the client contract does not cover: values that are no client, settings that could count twice, and commands
// that must not be queued.
import {
  CLIENT_TROUBLES,
  deployOne,
  eventually,
  testPrefix,
  testRedisUrl,
  type Deployment,
} from '@tollgate/testing'
import { Cluster, Redis } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey'
import { createClient, createClientPool, createCluster } from 'redis'
import {
  createClient as createClient5,
  createClientPool as createClientPool5,
  createCluster as createCluster5,
} from 'redis5'
import {
  createLimiter,
  redisStore,
  type Limiter,
  type RedisClient,
  type StoreError,
} from '../../../src/index.js'

interface Ioredis {
  readonly Redis: typeof Redis
  readonly Cluster: typeof Cluster
}

/** A client, and what the warning about it says to set. */
type Row = [what: string, make: () => RedisClient, uses: string[]]

let deployment: Deployment
beforeAll(async () => {
  deployment = await deployOne()
})
afterAll(() => deployment.end())
const limiters: Limiter[] = []
afterEach(async () => {
  jest.restoreAllMocks()
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})

function limiterOn(client: RedisClient, deadlineMs = 5000): { limiter: Limiter; errors: StoreError[] } {
  const limiter = createLimiter({
    limit: '100/min',
    store: redisStore(client, { prefix: testPrefix() }),
    deadlineMs,
    warnings: false,
  })
  const errors: StoreError[] = []
  limiter.on('storeError', (error) => errors.push(error))
  limiters.push(limiter)
  return { limiter, errors }
}

describe('a value that is not a client is refused, with what to pass', () => {
  const client = createClient()
  test.each<[string, unknown, RegExp]>([
    [
      'an address',
      'redis://127.0.0.1',
      /got a string of 17 characters.*write redisStore\(new Redis\(url\)\)/,
    ],
    ['a URL', new URL('redis://127.0.0.1'), /write redisStore\(new Redis\(url\)\)/],
    ['a promise', Promise.resolve(client), /got a promise.*pass the client itself/],
    ['the legacy form of a client', client.legacy(), /not its legacy\(\) form/],
    ['a class', Redis, /got the class Redis.*an instance/],
    ['nothing', undefined, /got undefined, expected a Redis client: new Redis/],
    ['null', null, /got null/],
    ['an object', { get: () => {} }, /createClient/],
  ])('%s', (_, given, message) => {
    expect(() => redisStore(given as never)).toThrow(message)
    expect(() => redisStore(given as never)).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path: 'redisStore(client)' }),
    )
  })
})

describe('settings that count requests twice, lose them or are slow to come back cause one warning, with what to set', () => {
  const soon = (times: number): number => Math.min(50 * times, 250)
  const resends = 'autoResendUnfulfilledCommands: false'
  const retries = 'retryStrategy: (times) => Math.min(50 * times, 250)'
  const lazy = { lazyConnect: true }
  const once = { ...lazy, autoResendUnfulfilledCommands: false }
  const set = { ...once, retryStrategy: soon }
  const sentinel = { ...set, sentinels: [{ port: 1 }], name: 'mymaster' }
  const nodes = [{ port: 1 }]
  const clusterOnce = { ...lazy, retryDelayOnFailover: 0, enableOfflineQueue: false }
  const clusterRetries = `clusterRetryStrategy: (times) => Math.min(50 * times, 250)`
  const rootNodes = [{ url: 'redis://127.0.0.1:1' }]
  const offline = { disableOfflineQueue: true }
  const socket = { reconnectStrategy: soon }
  const reconnects = 'socket: { reconnectStrategy: (times) => Math.min(50 * times, 250) }'
  const ofIoredis = (name: string, { Redis: Single, Cluster: Several }: Ioredis): Row[] => [
    [name, () => new Single(lazy), [resends, retries]],
    [`${name}, set`, () => new Single(set), []],
    [`${name}, with its own retries`, () => new Single(once), [retries]],
    [`${name}, with slow retries`, () => new Single({ ...set, retryStrategy: (n) => 40 * n }), [retries]],
    [`${name}, with one slow retry`, () => new Single({ ...set, retryStrategy: () => 1001 }), [retries]],
    [`${name}, that gives up`, () => new Single({ ...set, retryStrategy: () => null }), []],
    [`${name}, that never retries`, () => new Single({ ...set, retryStrategy: null as never }), []],
    [`${name}, with Sentinel`, () => new Single(sentinel), ['failoverDetector: true']],
    [`${name}, with Sentinel, set`, () => new Single({ ...sentinel, failoverDetector: true }), []],
    [
      `${name}, with Sentinel and slow retries`,
      () => new Single({ ...sentinel, failoverDetector: true, sentinelRetryStrategy: () => 5000 }),
      ['sentinelRetryStrategy: (times) => Math.min(50 * times, 250)'],
    ],
    [
      `${name} Cluster`,
      () => new Several(nodes, lazy),
      ['retryDelayOnFailover: 0', 'enableOfflineQueue: false', clusterRetries],
    ],
    [
      `${name} Cluster, half set`,
      () => new Several(nodes, { ...lazy, enableOfflineQueue: false, clusterRetryStrategy: soon }),
      ['retryDelayOnFailover: 0'],
    ],
    [`${name} Cluster, with its own retries`, () => new Several(nodes, clusterOnce), [clusterRetries]],
    [`${name} Cluster, set`, () => new Several(nodes, { ...clusterOnce, clusterRetryStrategy: soon }), []],
  ]
  const ofNodeRedis = (name: string, make: typeof createClient, several: typeof createCluster): Row[] => [
    [name, () => make({}), ['disableOfflineQueue: true', reconnects]],
    [`${name}, with its own retries`, () => make(offline), [reconnects]],
    [`${name}, set`, () => make({ ...offline, socket }), []],
    [`${name}, with a time`, () => make({ ...offline, socket: { reconnectStrategy: 100 } }), []],
    [
      `${name}, with a long time`,
      () => make({ ...offline, socket: { reconnectStrategy: 5000 } }),
      [reconnects],
    ],
    [`${name}, that never retries`, () => make({ ...offline, socket: { reconnectStrategy: false } }), []],
    [
      `${name} cluster`,
      () => several({ rootNodes }),
      [`defaults: { disableOfflineQueue: true, ${reconnects} }`],
    ],
    [
      `${name} cluster, half set`,
      () => several({ rootNodes, defaults: { socket } }),
      ['defaults: { disableOfflineQueue: true }'],
    ],
    [`${name} cluster, set`, () => several({ rootNodes, defaults: { ...offline, socket } }), []],
  ]
  const thrown = (): never => {
    throw new Error('not now')
  }
  const strange: Row[] = [
    thrown,
    () => Promise.reject(new Error('later')),
    () => 'soon',
    () => Number.NaN,
  ].map((retryStrategy) => [
    `a strategy that is ${String(retryStrategy)}`,
    () => new Redis({ ...once, retryStrategy: retryStrategy as never }),
    [],
  ])

  test.each<Row>([
    ...ofIoredis('ioredis 6', { Redis, Cluster }),
    ...ofIoredis('ioredis 5', { Redis: Redis5, Cluster: Cluster5 } as never),
    ...ofIoredis('iovalkey', { Redis: Valkey, Cluster: ValkeyCluster } as never),
    ...ofNodeRedis('node-redis 6', createClient, createCluster),
    ...ofNodeRedis('node-redis 5', createClient5 as never, createCluster5 as never),
    ...strange,
  ])('%s', (_, make, uses) => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const client = make()
    redisStore(client)
    redisStore(client, { prefix: 'another' })
    expect(warn).toHaveBeenCalledTimes(uses.length > 0 ? 1 : 0)
    if (uses.length > 0) {
      expect(warn.mock.calls[0]).toEqual([
        expect.stringContaining(`Create it with { ${uses.join(', ')} }.`),
        { type: 'TollgateWarning', code: 'TOLLGATE_REDIS_CLIENT' },
      ])
    }
  })
})

test('a reply lost with its connection is an error at once, and its command is not sent again', async () => {
  const client = new Redis(deployment.ports[0] as number, {
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
  })
  const { limiter, errors } = limiterOn(client)
  await limiter.consume('acme')
  deployment.pause()
  const sent = jest.spyOn(client, 'evalsha')
  const decision = limiter.consume('acme')
  await eventually(() => expect(sent).toHaveBeenCalledTimes(1))
  client.stream.destroy()
  expect((await decision).source).toBe('local')
  // At once, not at the deadline: the reason would be a timeout then.
  expect(errors.map(({ reason }) => reason)).toEqual(['unreachable'])
  deployment.resume()
  // Only requests that were sent before count, and once each.
  expect((await limiter.peek('acme')).limits[0]?.remaining).toBeGreaterThanOrEqual(98)
  client.disconnect()
})

/** A pool's timer for idle connections outlives it, and keeps the process alive. */
const QUICK_TO_END = { cleanupDelay: 100 }

test.each<[string, () => RedisClient & { destroy(): unknown }]>([
  [
    'node-redis',
    () => createClient({ url: testRedisUrl(), disableOfflineQueue: true, socket: { reconnectStrategy: 50 } }),
  ],
  [
    'a pool of node-redis',
    () =>
      createClientPool(
        { url: testRedisUrl(), disableOfflineQueue: true, socket: { reconnectStrategy: 50 } },
        QUICK_TO_END,
      ),
  ],
])('%s: connected by its owner, or by the store', async (_, make) => {
  for (const connects of [true, false]) {
    const client = make()
    const { limiter } = limiterOn(client)
    if (connects) client.connect().catch(() => {})
    const decisions = await Promise.all(['a', 'a', 'b'].map((id) => limiter.consume(id)))
    expect(decisions.map(({ source, limits }) => [source, limits[0]?.remaining])).toEqual([
      ['store', 99],
      ['store', 98],
      ['store', 99],
    ])
    client.destroy()
    expect((await limiter.consume('a')).source).toBe('local')
  }
})

describe.each<[string, typeof createClientPool]>([
  ['node-redis 6', createClientPool],
  ['node-redis 5', createClientPool5 as never],
])('a pool of %s', (_, make) => {
  // It says only that it is offline when it is asked for a command.
  test.each(CLIENT_TROUBLES)(
    '%s while it is in use: the cause is told',
    async (__, { begin, end, words }) => {
      const said: string[] = []
      jest.spyOn(process, 'emitWarning').mockImplementation(((text: string) => void said.push(text)) as never)
      await deployment.setPassword('first')
      const socket = { host: '127.0.0.1', port: deployment.ports[0] as number, reconnectStrategy: 50 }
      const client = make({ socket, password: 'first', disableOfflineQueue: true }, QUICK_TO_END)
      const limiter = createLimiter({ limit: '100/min', store: redisStore(client as never) })
      limiters.push(limiter)
      await eventually(async () => (await limiter.consume('acme')).source === 'store')
      await begin(deployment)
      await deployment.cutOff()
      await eventually(async () => {
        await limiter.consume('acme')
        expect(said).toContainEqual(expect.stringMatching(words))
      })
      await end(deployment)
      await eventually(async () => (await limiter.consume('acme')).source === 'store')
      await limiter.close()
      client.destroy()
      await deployment.setPassword('')
    },
  )
})

test('a client that gives up after its first try is started again by later requests', async () => {
  const mine = await deployOne()
  await mine.kill()
  const socket = { host: '127.0.0.1', port: mine.ports[0] as number, reconnectStrategy: false as const }
  const client = createClient({ socket, disableOfflineQueue: true })
  const { limiter, errors } = limiterOn(client)
  for (let i = 0; i < 3; i += 1) expect((await limiter.consume('acme')).source).toBe('local')
  expect(new Set(errors.map(({ reason }) => reason))).toEqual(new Set(['unreachable']))
  await mine.restart()
  await eventually(async () => (await limiter.consume('acme')).source === 'store')
  client.destroy()
  await mine.end()
})

test('all stores of a client share its listeners', () => {
  const client = new Redis({
    lazyConnect: true,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
  })
  redisStore(client)
  const before = client.eventNames().map((name) => client.listenerCount(name))
  for (let i = 0; i < 20; i += 1) redisStore(client, { prefix: `p${i}` })
  expect(client.eventNames().map((name) => client.listenerCount(name))).toEqual(before)
})
