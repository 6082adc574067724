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
import { createClient, createClientPool, createCluster } from 'redis'
import { createClient as createClient5, createClientPool as createClientPool5 } from 'redis5'
import {
  createLimiter,
  redisStore,
  type Limiter,
  type RedisClient,
  type StoreError,
} from '../../../src/index.js'

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
    ['an address', 'redis://127.0.0.1', /got a text of 17 characters.*write redisStore\(new Redis\(url\)\)/],
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

describe('settings that could count requests twice cause one warning, with what to set', () => {
  const lazy = { lazyConnect: true }
  const nodes = [{ port: 1 }]
  const rootNodes = [{ url: 'redis://127.0.0.1:1' }]
  const offline = { disableOfflineQueue: true }
  test.each<[string, () => RedisClient, string[]]>([
    ['ioredis', () => new Redis(lazy), ['autoResendUnfulfilledCommands: false']],
    ['ioredis, set', () => new Redis({ ...lazy, autoResendUnfulfilledCommands: false }), []],
    [
      'ioredis Cluster',
      () => new Cluster(nodes, lazy),
      ['retryDelayOnFailover: 0', 'enableOfflineQueue: false'],
    ],
    [
      'ioredis Cluster, half set',
      () => new Cluster(nodes, { ...lazy, enableOfflineQueue: false }),
      ['retryDelayOnFailover: 0'],
    ],
    ['node-redis', () => createClient({}), ['disableOfflineQueue: true']],
    ['node-redis, set', () => createClient(offline), []],
    ['node-redis 5, set', () => createClient5(offline), []],
    ['node-redis cluster', () => createCluster({ rootNodes }), ['defaults: { disableOfflineQueue: true }']],
    ['node-redis cluster, set', () => createCluster({ rootNodes, defaults: offline }), []],
  ])('%s', (_, make, uses) => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const client = make()
    redisStore(client)
    redisStore(client, { prefix: 'another' })
    expect(warn).toHaveBeenCalledTimes(uses.length > 0 ? 1 : 0)
    if (uses.length > 0) {
      expect(warn.mock.calls[0]).toEqual([
        expect.stringContaining(`{ ${uses.join(', ')} }`),
        { type: 'TollgateWarning', code: 'TOLLGATE_REDIS_CLIENT' },
      ])
    }
  })
})

test('a reply lost with its connection is an error at once, and its command is not sent again', async () => {
  const client = new Redis(deployment.ports[0] as number, { autoResendUnfulfilledCommands: false })
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
  ['node-redis', () => createClient({ url: testRedisUrl(), disableOfflineQueue: true })],
  [
    'a pool of node-redis',
    () => createClientPool({ url: testRedisUrl(), disableOfflineQueue: true }, QUICK_TO_END),
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
  const client = new Redis({ lazyConnect: true, autoResendUnfulfilledCommands: false })
  redisStore(client)
  const before = client.eventNames().map((name) => client.listenerCount(name))
  for (let i = 0; i < 20; i += 1) redisStore(client, { prefix: `p${i}` })
  expect(client.eventNames().map((name) => client.listenerCount(name))).toEqual(before)
})
