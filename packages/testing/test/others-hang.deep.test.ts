// docs/compare/features.md says that other packages wait as long as Redis does not answer. Here each of them does, by its
// fail-open option too, while Tollgate answers. migrate-express-rows.deep.test.ts has the same for express-rate-limit.
import { createLimiter, redisStore } from '@tollgate/core'
import Fastify, { type FastifyPluginAsync } from 'fastify'
import { Redis } from 'ioredis'
import Koa, { type Middleware } from 'koa'
import { RateLimiterMemory, RateLimiterRedis, RLWrapperTimeouts } from 'rate-limiter-flexible'
import { textOf } from './docs-pages.ts'
import { serveHandler, SOON_MS, startRedis, type RedisServer } from '../src/index.ts'

const open: (() => unknown)[] = []
let server: RedisServer
beforeEach(async () => {
  server = await startRedis()
  open.push(() => server.stop())
})
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

function connect(): Redis {
  const redis = new Redis(server.url, { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
  redis.on('error', () => {})
  open.push(() => redis.disconnect())
  return redis
}

/** Serves a handler. Returns a function that resolves to the status of a request. */
async function serve(handler: Parameters<typeof serveHandler>[0]): Promise<() => Promise<number>> {
  const served = await serveHandler(handler)
  open.push(() => served.close())
  return async () => (await fetch(served.url)).status
}

/** Imports by a variable: these packages have no types, or such as clash with those of @tollgate/fastify. */
const load = async <T>(name: string): Promise<T> => ((await import(name)) as { default: T }).default

const OPTIONS = { points: 100, duration: 60 }

/** Packages on Redis, with the option that should let requests pass without it. */
const OTHERS: Readonly<Record<string, () => Promise<() => Promise<number>>>> = {
  '@fastify/rate-limit, skipOnError': async () => {
    const app = Fastify()
    const plugin = await load<FastifyPluginAsync<Record<string, unknown>>>('@fastify/rate-limit')
    await app.register(plugin, { max: 100, redis: connect(), skipOnError: true })
    app.get('/', async () => 'home')
    await app.ready()
    open.push(() => app.close())
    return serve((req, res) => app.server.emit('request', req, res))
  },
  'koa-ratelimit': async () => {
    const app = new Koa()
    const ratelimit = await load<(options: object) => Middleware>('koa-ratelimit')
    app.use(ratelimit({ driver: 'redis', db: connect(), max: 100 }))
    app.use((ctx) => void (ctx.body = 'home'))
    return serve(app.callback())
  },
  'rate-limiter-flexible, insuranceLimiter': async () => {
    const insuranceLimiter = new RateLimiterMemory(OPTIONS)
    const limiter = new RateLimiterRedis({ ...OPTIONS, storeClient: connect(), insuranceLimiter })
    return serve((_req, res) => void limiter.consume('key').then(() => res.end('home')))
  },
}

async function serveTollgate(): Promise<() => Promise<number>> {
  const limiter = createLimiter({ limit: '100/min', store: redisStore(connect()), warnings: false })
  open.push(() => limiter.close())
  return serve(async (_req, res) => {
    const { allowed } = await limiter.consume('key')
    res.writeHead(allowed ? 200 : 429).end()
  })
}

test.each(Object.entries(OTHERS))('%s waits while Redis hangs, Tollgate answers', async (_, serveTheirs) => {
  const [theirs, ours] = [await serveTheirs(), await serveTollgate()]
  expect([await theirs(), await ours()]).toEqual([200, 200])
  server.pause()
  let isAnswered = false
  const waiting = theirs().finally(() => (isAnswered = true))
  // Many deadlines later.
  for (let i = 0; i < 10; i += 1) expect(await ours()).toBe(200)
  expect(isAnswered).toBe(false)
  server.resume()
  expect(await waiting).toBe(200)
})

test('RLWrapperTimeouts of rate-limiter-flexible bounds the wait', async () => {
  const limiter = new RateLimiterRedis({ ...OPTIONS, storeClient: connect() })
  const wrapped = new RLWrapperTimeouts({ limiter, timeoutMs: 50 })
  // Without a bound: a slow machine may need longer to connect.
  await limiter.consume('key')
  server.pause()
  await expect(wrapped.consume('key')).rejects.toThrow('timed out')
  server.resume()
})

test('the client bounds the wait of rate-limiter-flexible, if it times out', async () => {
  const storeClient = new Redis(server.url, { commandTimeout: SOON_MS, retryStrategy: () => 50 })
  storeClient.on('error', () => {})
  open.push(() => storeClient.disconnect())
  const limiter = new RateLimiterRedis({ ...OPTIONS, storeClient })
  await limiter.consume('key')
  server.pause()
  await expect(limiter.consume('key')).rejects.toThrow('timed out')
  server.resume()
  const [, row = ''] = /^\| Redis hangs \|(.*)\|$/m.exec(textOf('README.md')) ?? []
  const [, express, flexible] = row.split('|')
  for (const cell of [express, flexible])
    expect(cell).toMatch(/requests hang, unless your Redis client .*times out/)
})
