// What becomes of clients when Sentinel makes another server the primary, with the settings of docs/operations/redis.md.
import { ask, eventually, startSentinel, type RedisSentinel, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { Redis as Valkey } from 'iovalkey'
import { createSentinel } from 'redis'
import { createSentinel as createSentinel5 } from 'redis5'
import { createLimiter, redisStore, type Limiter, type RedisClient } from '../../../src/index.js'
import { closesWithTest, endFaults, endsWithTest } from '../../support/faults.js'

let group: RedisSentinel
let warned: jest.SpyInstance
beforeEach(async () => {
  warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
  group = await startSentinel()
})
const destroying: Promise<unknown>[] = []
afterEach(async () => {
  await endFaults()
  await Promise.all(destroying.splice(0))
  await group.stop()
  warned.mockRestore()
})

const IOREDIS = { 'ioredis 6': Redis, 'ioredis 5': Redis5 as never, iovalkey: Valkey as never } as const
const APP = { username: 'app', password: 'old' }
/** Without a user, the default one. */
type Auth = Partial<typeof APP>
const KINDS: Readonly<Record<string, (auth?: Auth) => RedisClient>> = {
  ...Object.fromEntries(
    Object.entries(IOREDIS).map(([name, Kind]) => [name, (auth?: Auth) => ioredis(Kind, auth)]),
  ),
  'node-redis 6': (auth) => nodeRedis(createSentinel, auth),
  'node-redis 6, several connections': (auth) => nodeRedis(createSentinel, auth, { masterPoolSize: 3 }),
  'node-redis 5': (auth) => nodeRedis(createSentinel5 as never, auth),
}

function ioredis(Kind: typeof Redis, auth: Auth = {}, retryStrategy = (): number => 50): RedisClient {
  const client = new Kind({
    ...auth,
    sentinels: group.sentinels.map((each) => ({ ...each })),
    name: group.name,
    failoverDetector: true,
    autoResendUnfulfilledCommands: false,
    retryStrategy,
    disconnectTimeout: 100,
  })
  endsWithTest(client)
  return client
}

function nodeRedis(make: typeof createSentinel, auth: Auth = {}, options: object = {}): RedisClient {
  const client = make({
    name: group.name,
    sentinelRootNodes: group.sentinels.map((each) => ({ ...each })),
    maxCommandRediscovers: 0,
    scanInterval: 250,
    passthroughClientErrorEvents: true,
    nodeClientOptions: { ...auth, disableOfflineQueue: true, socket: { reconnectStrategy: 50 } },
    ...options,
  })
  endsWithTest({ disconnect: () => void destroying.push(client.destroy()) })
  return client
}

/** Resolves once the store has decided a request. */
async function limiterOn(client: RedisClient, prefix: string): Promise<Limiter> {
  const store = redisStore(client, { prefix })
  const limiter = closesWithTest(createLimiter({ limit: '100000/min', store, local: { instances: 1 } }))
  await decides(limiter)
  return limiter
}

function decides(limiter: Limiter, id = 'acme'): Promise<void> {
  return eventually(async () => (await limiter.consume(id)).source === 'store', 'the store decides')
}

/** Resolves once the limiter counts on this server. */
async function countsOn({ port }: RedisServer, limiter: Limiter, prefix: string): Promise<void> {
  let asked = 0
  await eventually(async () => {
    asked += 1
    const { source } = await limiter.consume(`after${asked}`)
    return source === 'store' && (await ask(port, 'EXISTS', `${prefix}/after${asked}`)) === 1
  }, `${prefix} counts on the new primary`)
}

test('a planned failover: each client follows, though the old primary goes on taking writes', async () => {
  const old = await group.primary()
  const limiters = await Promise.all(
    Object.entries(KINDS).map(async ([name, make]) => {
      const prefix = name.replaceAll(/[^\w]/g, '-')
      return { prefix, limiter: await limiterOn(make(), prefix) }
    }),
  )
  // Sentinels make it a replica after 10 s, and cut its clients off. It then does not obey.
  await ask(old.port, 'ACL', 'SETUSER', 'default', '-slaveof', '-replicaof')
  await ask(group.sentinels[0]?.port as number, 'SENTINEL', 'FAILOVER', group.name)
  await group.whenFailedOver(old)
  const next = await group.primary()
  await Promise.all(limiters.map(({ limiter, prefix }) => countsOn(next, limiter, prefix)))
  expect(String(await ask(old.port, 'INFO', 'replication'))).toContain('role:master')
  expect(warned.mock.calls.filter(([, { code }]) => code === 'TOLLGATE_REDIS_CLIENT')).toEqual([])
})

test('ioredis that hears of a failover while it asks the sentinels does not give up for good', async () => {
  // It asks them nearly all the time.
  const again = (): number => 1
  const clients = Object.values(IOREDIS).flatMap((Kind) =>
    Array.from({ length: 5 }, () => ioredis(Kind, {}, again)),
  )
  const limiters = await Promise.all(clients.map((client, i) => limiterOn(client, `p${i}`)))
  const dead = await group.killPrimary()
  await group.whenFailedOver(dead)
  await Promise.all(limiters.map((limiter) => decides(limiter)))
})

test('a client that its owner closes while it asks the sentinels stays closed', async () => {
  const client = ioredis(Redis, {}, () => 1) as Redis
  const limiter = await limiterOn(client, 'closed')
  await group.killPrimary()
  await eventually(() => client.status === 'connecting')
  client.disconnect()
  await eventually(() => client.status === 'end')
  await group.whenFailedOver(group.nodes[0] as RedisServer)
  const reasons: string[] = []
  limiter.on('storeError', ({ reason }) => reasons.push(reason))
  await eventually(async () => {
    await limiter.consume('acme')
    return reasons.includes('closed') || limiter.health().status === 'degraded'
  })
  expect(client.status).toBe('end')
})

test('a password that was changed is told', async () => {
  const onAll = async (...command: readonly [string, ...string[]]): Promise<void> => {
    for (const { port } of group.nodes) await ask(port, ...command)
  }
  // Sentinels and the replica have another user.
  await onAll('ACL', 'SETUSER', APP.username, 'on', `>${APP.password}`, '+@all', '~*')
  const limiters = await Promise.all(Object.values(KINDS).map((make, i) => limiterOn(make(APP), `p${i}`)))
  await onAll('ACL', 'SETUSER', APP.username, 'resetpass', '>new')
  await onAll('CLIENT', 'KILL', 'USER', APP.username)
  await eventually(async () => {
    await Promise.all(limiters.map(async (limiter) => limiter.consume('acme')))
    const said = warned.mock.calls.map(([text]: [string]) => text)
    const causes = said.filter((text) => text.includes('Redis refused the username or password'))
    expect(causes).toHaveLength(limiters.length)
  })
  await onAll('ACL', 'SETUSER', APP.username, 'resetpass', `>${APP.password}`)
  await Promise.all(limiters.map((limiter) => decides(limiter)))
})
