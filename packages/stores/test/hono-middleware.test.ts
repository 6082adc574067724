// What hono-rate-limiter does with its store beside counting.
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve, upgradeWebSocket } from '@hono/node-server'
import { memoryStore, redisStore } from '@tollgate/core'
import { tollgateStore } from '@tollgate/stores/hono-rate-limiter'
import { Hono } from 'hono'
import { rateLimiter, webSocketLimiter } from 'hono-rate-limiter'
import { Redis } from 'ioredis'
import { WebSocket, WebSocketServer } from 'ws'

const MINUTE = 60_000
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

async function listen(app: Hono, websocket?: { server: WebSocketServer }): Promise<string> {
  const server = serve({
    fetch: app.fetch,
    port: 0,
    hostname: '127.0.0.1',
    ...({ websocket } as object),
  }) as Server
  if (!server.listening) await once(server, 'listening')
  closers.push(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const keyGenerator = (): string => 'acme'
const statusesOf = async (address: string, count: number, path = ''): Promise<number[]> => {
  const all: number[] = []
  for (let i = 0; i < count; i += 1) all.push((await fetch(`http://${address}${path}`)).status)
  return all
}

test('failed requests do not count, and refused ones give nothing back, though they failed, too', async () => {
  const store = tollgateStore(memoryStore())
  const app = new Hono()
  app.use(rateLimiter({ windowMs: MINUTE, limit: 2, keyGenerator, store, skipFailedRequests: true }))
  app.get('/', (c) => c.text('hello'))
  app.get('/fails', (c) => c.text('no', 500))
  app.onError((_, c) => c.text('no', 500))
  app.get('/throws', () => {
    throw new Error('no')
  })
  const address = await listen(app)
  expect(await statusesOf(address, 3, 'fails')).toEqual([500, 500, 500])
  expect(await statusesOf(address, 3, 'throws')).toEqual([500, 500, 500])
  expect(await statusesOf(address, 5)).toEqual([200, 200, 429, 429, 429])
  expect((await store.get('acme'))?.totalHits).toBe(2)
})

test('successful requests do not count', async () => {
  const store = tollgateStore(memoryStore())
  const app = new Hono()
  app.use(rateLimiter({ windowMs: MINUTE, limit: 2, keyGenerator, store, skipSuccessfulRequests: true }))
  app.get('/', (c) => c.text('hello'))
  expect(await statusesOf(await listen(app), 4)).toEqual([200, 200, 200, 200])
  expect(await store.get('acme')).toBeUndefined()
})

test('handlers can ask for a key, and reset it', async () => {
  const app = new Hono<{
    Variables: { rateLimitStore: { getKey(key: string): unknown; resetKey(key: string): unknown } }
  }>()
  app.use(
    rateLimiter({
      windowMs: MINUTE,
      limit: () => 2,
      keyGenerator,
      store: tollgateStore(memoryStore(), { warnings: false }),
    }),
  )
  app.get('/', async (c) => c.json(await c.get('rateLimitStore').getKey('acme')))
  app.get('/reset', async (c) => {
    await c.get('rateLimitStore').resetKey('acme')
    return c.text('reset')
  })
  const address = await listen(app as unknown as Hono)
  expect(await (await fetch(`http://${address}`)).json()).toMatchObject({ totalHits: 1 })
  expect(await statusesOf(address, 1, 'reset')).toEqual([200])
  expect(await statusesOf(address, 3)).toEqual([200, 200, 429])
})

test('messages of a WebSocket', async () => {
  const app = new Hono()
  const limiter = webSocketLimiter({
    windowMs: MINUTE,
    limit: 2,
    keyGenerator,
    store: tollgateStore(memoryStore()),
  })
  app.get(
    '/',
    upgradeWebSocket(limiter(() => ({ onMessage: (event, ws) => ws.send(`heard ${String(event.data)}`) }))),
  )
  const sockets = new WebSocketServer({ noServer: true })
  closers.push(() => sockets.close())
  const socket = new WebSocket(`ws://${await listen(app, { server: sockets })}`)
  closers.push(() => socket.terminate())
  await once(socket, 'open')
  const heard: string[] = []
  socket.on('message', (data: Buffer) => heard.push(data.toString()))
  const closed = once(socket, 'close')
  for (const text of ['a', 'b', 'c', 'd']) socket.send(text)
  expect((await closed)[0]).toBe(1008)
  expect(heard).toEqual(['heard a', 'heard b'])
})

test('an answer of its own where the store cannot answer and the policy is closed: 503 and Retry-After', async () => {
  const redis = new Redis(1, '127.0.0.1', {
    lazyConnect: true,
    retryStrategy: () => null,
    disconnectTimeout: 100,
  })
  redis.on('error', () => {})
  closers.push(() => redis.disconnect())
  const store = tollgateStore(redisStore(redis), { onStoreFailure: 'closed', warnings: false })
  const app = new Hono()
  app.use(rateLimiter({ windowMs: MINUTE, limit: 2, keyGenerator, store }))
  const { status, headers } = await fetch(`http://${await listen(app)}`)
  expect([status, headers.get('retry-after')]).toEqual([503, '1'])
  await store.shutdown()
})

test('a store with two middlewares is refused, and so is a limit that is none', () => {
  const store = tollgateStore(memoryStore())
  rateLimiter({ windowMs: MINUTE, limit: 2, keyGenerator, store })
  expect(() => webSocketLimiter({ windowMs: MINUTE, limit: 2, keyGenerator, store })).toThrow(
    'another middleware already uses it',
  )
  const other = tollgateStore(memoryStore())
  expect(() => rateLimiter({ windowMs: MINUTE, limit: -1, keyGenerator, store: other })).toThrow(
    'limit: got -1',
  )
})
