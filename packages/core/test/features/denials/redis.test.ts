import { eventually, startRedis, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createLimiter, redisStore, type Limiter } from '../../../src/index.js'

const RECHECK_MS = 100

let server: RedisServer
const clients: Redis[] = []

beforeAll(async () => {
  server = await startRedis()
})

afterAll(async () => {
  for (const client of clients) client.disconnect()
  await server.stop()
})

function connect(): Redis {
  const client = new Redis(server.port, '127.0.0.1', {
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
  })
  client.on('error', () => {})
  clients.push(client)
  return client
}

/** A limiter as in a process of its own. Windows are far longer than the test. */
function limiterOf(client: Redis): Limiter {
  return createLimiter({
    limit: '1/h',
    store: redisStore(client),
    denials: { recheckMs: RECHECK_MS },
    onStoreFailure: 'closed',
    deadlineMs: 2000,
    local: { instances: 1 },
    warnings: false,
  })
}

/** Uses the subject up, and returns once it is denied from memory. */
async function exhaust(limiter: Limiter, id: string): Promise<void> {
  await eventually(async () => expect((await limiter.consume(id)).source).toBe('cache'))
}

async function admitted(limiter: Limiter, id: string): Promise<void> {
  await eventually(async () => {
    expect(await limiter.consume(id)).toMatchObject({ allowed: true, source: 'store' })
  })
}

async function scriptCalls(client: Redis): Promise<number> {
  const [, calls = '0'] = /cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats')) ?? []
  return Number(calls)
}

test('a flood costs Redis one call each recheckMs', async () => {
  const client = connect()
  const limiter = limiterOf(client)
  await exhaust(limiter, 'flooding')
  const before = await scriptCalls(client)
  const start = performance.now()
  let calls = 0
  while (calls < 3) {
    const flood = await Promise.all(Array.from({ length: 500 }, () => limiter.consume('flooding')))
    expect(flood.filter(({ allowed }) => allowed)).toEqual([])
    calls = (await scriptCalls(client)) - before
    expect(calls).toBeLessThanOrEqual(Math.floor((performance.now() - start) / RECHECK_MS) + 1)
  }
  expect(limiter.stats().decisions.store.denied).toBeLessThanOrEqual(calls + 2)
})

test('a reset by another process, a flush, a hang and a crash end a denial', async () => {
  const client = connect()
  const limiter = limiterOf(client)
  const other = limiterOf(connect())

  await exhaust(limiter, 'acme')
  await other.reset('acme')
  await admitted(limiter, 'acme')

  await exhaust(limiter, 'acme')
  await connect().flushall()
  await admitted(limiter, 'acme')

  await exhaust(limiter, 'acme')
  server.pause()
  await eventually(async () => expect((await limiter.consume('acme')).source).toBe('closed'))
  server.resume()
  await exhaust(limiter, 'acme')

  const { port } = server
  await server.kill()
  await eventually(async () => expect((await limiter.consume('acme')).source).toBe('closed'))
  server = await startRedis({ port })
  await admitted(limiter, 'acme')
})
