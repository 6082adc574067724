import { eventually, startRedis, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createLimiter, redisStore, type Limiter } from '../../../src/index.js'
import { closesWithTest, endFaults } from '../../support/faults.js'
import { scriptCallsOf } from '../../support/script-calls.js'

const RECHECK_MS = 100

let server: RedisServer
const clients: Redis[] = []

beforeAll(async () => {
  server = await startRedis()
})

afterEach(endFaults)
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
function limiterOf(client: Redis, recheckMs = RECHECK_MS): Limiter {
  const limiter = createLimiter({
    limit: '1/h',
    store: redisStore(client),
    denials: { recheckMs },
    onStoreFailure: 'closed',
    deadlineMs: 2000,
    local: { instances: 1 },
    warnings: false,
  })
  return closesWithTest(limiter)
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

test('a flood costs Redis nothing until recheckMs is over', async () => {
  // No slow machine takes as long.
  const limiter = limiterOf(connect(), 60_000)
  await exhaust(limiter, 'flooding')
  const { denied } = limiter.stats().decisions.store
  for (let i = 0; i < 10; i += 1) {
    const flood = await Promise.all(Array.from({ length: 500 }, () => limiter.consume('flooding')))
    expect(flood.filter(({ source }) => source !== 'cache')).toEqual([])
  }
  expect(limiter.stats().decisions.store.denied).toBe(denied)
})

test('a flood asks Redis again each recheckMs', async () => {
  const client = connect()
  const limiter = limiterOf(client)
  await exhaust(limiter, 'flooding')
  const [before, { denied }] = [await scriptCallsOf(client), limiter.stats().decisions.store]
  await eventually(async () => {
    const flood = await Promise.all(Array.from({ length: 500 }, () => limiter.consume('flooding')))
    expect(flood.filter(({ allowed }) => allowed)).toEqual([])
    expect(limiter.stats().decisions.store.denied - denied).toBeGreaterThanOrEqual(3)
  })
  expect((await scriptCallsOf(client)) - before).toBeGreaterThanOrEqual(3)
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
