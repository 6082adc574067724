// The page on @fastify/rate-limit, tried: rows of its table and what it says behaves differently, with both packages.
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import { Redis } from 'ioredis'
import {
  memoryStore,
  rateLimit as ours,
  redisStore,
  type RateLimitPluginOptions as OurOptions,
} from '../../fastify/src/index.ts'
import { startRedis } from '../src/index.ts'
import { askerAt, type Asker } from './migration-contract.ts'

type TheirOptions = Readonly<Record<string, unknown>>
// Not by import: the types of both packages cannot be in one program.
const theirs = require('@fastify/rate-limit') as FastifyPluginAsync<TheirOptions>

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

async function serve(register: (app: FastifyInstance) => unknown): Promise<Asker> {
  const app = Fastify()
  open.push(() => app.close())
  await register(app)
  app.get('/', async () => 'home')
  return askerAt(await app.listen({ port: 0, host: '127.0.0.1' }))
}

/** The same limit by both, with what a row says of each. */
async function both(
  their: TheirOptions,
  our: OurOptions,
): Promise<{ readonly theirs: Asker; readonly ours: Asker }> {
  return {
    theirs: await serve((app) => app.register(theirs, { max: 2, timeWindow: '1 minute', ...their })),
    ours: await serve((app) => app.register(ours, { limit: '2/min', ...our })),
  }
}

const toldBy = ({ headers }: Response): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => /ratelimit|retry/.test(name)))

test('enableDraftSpec and headers: { standard: false }', async () => {
  const asked = await both({ enableDraftSpec: true }, { headers: { standard: false } })
  const expected = { 'ratelimit-limit': '2', 'ratelimit-remaining': '1', 'ratelimit-reset': '60' }
  for (const { ask } of Object.values(asked)) expect(toldBy(await ask())).toEqual(expected)
})

test("their default headers and { standard: false, single: false, legacy: 'delta' }", async () => {
  const asked = await both({}, { headers: { standard: false, single: false, legacy: 'delta' } })
  const expected = { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '60' }
  for (const { ask, statuses } of Object.values(asked)) {
    expect(toldBy(await ask())).toEqual(expected)
    await statuses(1)
    const denied = toldBy(await ask())
    expect(Object.keys(denied).sort()).toEqual(['retry-after', ...Object.keys(expected)])
  }
})

test('allowList and a network on it', async () => {
  const asked = await both({ allowList: ['127.0.0.1'] }, { allowList: ['127.0.0.0/8'] })
  for (const { statuses } of Object.values(asked)) expect(await statuses(4)).toEqual([200, 200, 200, 200])
})

test('timeWindow as text can stay', async () => {
  const asked = await both({ timeWindow: '15 minutes' }, { limit: '2 per 15 minutes' })
  expect((await asked.theirs.ask()).headers.get('x-ratelimit-reset')).toBe('900')
  expect((await asked.ours.ask()).headers.get('ratelimit')).toBe('"15-minutes";r=1;t=900')
})

test('an error handler of the application gets denials from both', async () => {
  const handled = (app: FastifyInstance): void => {
    app.setErrorHandler((error: { statusCode: number; code?: string }, _request, reply) =>
      reply.code(error.statusCode).send({ mine: error.statusCode, code: error.code }),
    )
  }
  const asked = {
    theirs: await serve((app) => {
      handled(app)
      return app.register(theirs, { max: 2 })
    }),
    ours: await serve((app) => {
      handled(app)
      return app.register(ours, { limit: '2/min' })
    }),
  }
  for (const { ask, statuses } of Object.values(asked)) {
    await statuses(2)
    expect(await (await ask()).json()).toMatchObject({ mine: 429 })
  }
})

test('registered without await before a route, theirs leaves it unlimited; ours does not', async () => {
  const withLater = (app: FastifyInstance): void =>
    void app.register(async (part) => void part.get('/later', async () => 'later'))
  const early = {
    theirs: await serve((app) => {
      void app.register(theirs, { max: 2 })
      withLater(app)
    }),
    ours: await serve((app) => {
      void app.register(ours, { limit: '2/min' })
      withLater(app)
    }),
  }
  expect(await early.theirs.statuses(4)).toEqual([200, 200, 200, 200])
  expect(await early.ours.statuses(4)).toEqual([200, 200, 429, 429])
})

test('ours does not start where no route comes after it', async () => {
  const app = Fastify()
  open.push(() => app.close())
  app.get('/', async () => 'home')
  await app.register(ours, { limit: '2/min' })
  await expect(async () => app.ready()).rejects.toThrow(/routes/)
})

test('their window is fixed and lets twice the limit through around its end, ours does not', async () => {
  let now = Date.UTC(2030, 0, 1)
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => now)
  try {
    const asked = await both({ max: 50 }, { limit: '50/min', store: memoryStore({ now: () => now }) })
    const passed: Record<string, number> = {}
    for (const [name, { statuses }] of Object.entries(asked)) {
      const begin = now
      await statuses(1)
      now = begin + 59_000
      const answers = await statuses(49)
      now = begin + 60_001
      answers.push(...(await statuses(50)))
      passed[name] = answers.filter((status) => status === 200).length
    }
    expect(passed).toEqual({ theirs: 99, ours: 50 })
  } finally {
    clock.mockRestore()
  }
})

test('without Redis skipOnError tells a full quota, and ours tells none', async () => {
  const server = await startRedis()
  const connect = (): Redis => {
    const redis = new Redis(server.url, {
      maxRetriesPerRequest: 0,
      disconnectTimeout: 100,
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 50,
    })
    redis.on('error', () => {})
    open.push(() => redis.disconnect())
    return redis
  }
  const asked = await both(
    { redis: connect(), skipOnError: true },
    { store: redisStore(connect()), onStoreFailure: 'open' },
  )
  for (const { statuses } of Object.values(asked)) expect(await statuses(1)).toEqual([200])
  await server.kill()
  const [their, our] = [await asked.theirs.ask(), await asked.ours.ask()]
  expect([their.status, toldBy(their)['x-ratelimit-remaining']]).toEqual([200, '2'])
  expect([our.status, toldBy(our)]).toEqual([200, {}])
})
