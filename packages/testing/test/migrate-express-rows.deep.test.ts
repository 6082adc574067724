// The page on express-rate-limit, tried: rows of its table and what it says behaves differently, with both packages.
import express, { type Request, type RequestHandler, type Response as ExpressResponse } from 'express'
import { ipKeyGenerator, MemoryStore, rateLimit as theirs, type Options } from 'express-rate-limit'
import { Redis } from 'ioredis'
import { RedisStore } from 'rate-limit-redis'
import {
  memoryStore,
  rateLimit as ours,
  redisStore,
  subjectForIp,
  type RateLimitOptions,
} from '../../express/src/index.ts'
import { serveHandler, SOON_MS, startRedis, type RedisServer } from '../src/index.ts'
import { askerAt, type Asker } from './migration-contract.ts'

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

async function serve(...middleware: RequestHandler[]): Promise<Asker> {
  const app = express().disable('x-powered-by')
  app.set('env', 'test')
  app.use(...middleware)
  app.get('/', (req, res) => void res.json({ found: (req as { rateLimit?: unknown }).rateLimit }))
  const served = await serveHandler(app)
  open.push(() => served.close())
  return askerAt(served.url)
}

const SILENT = { error: () => {}, warn: () => {} }

/** Both on the same address and window, with what the row says of each. */
async function both(
  their: Partial<Options>,
  our: RateLimitOptions<Request, ExpressResponse>,
): Promise<{ readonly theirs: Asker; readonly ours: Asker }> {
  const handler = ours({ limit: '2/min', ...our })
  open.push(() => handler.limiter.close())
  return {
    theirs: await serve(theirs({ windowMs: 60_000, limit: 2, validate: false, logger: SILENT, ...their })),
    ours: await serve(handler),
  }
}

const namesOf = ({ headers }: Response): string[] =>
  [...headers.keys()].filter((name) => /rate-?limit|retry/.test(name)).sort()
const valuesOf = ({ headers }: Response, prefix: string): (string | null)[] =>
  ['limit', 'remaining'].map((name) => headers.get(`${prefix}-${name}`))

describe('headers', () => {
  test("'draft-8' and ours by default, with pk as theirs", async () => {
    const asked = await both(
      { standardHeaders: 'draft-8', legacyHeaders: false },
      { headers: { single: false, partitionKey: true } },
    )
    for (const { ask } of Object.values(asked)) {
      const { headers } = await ask()
      expect(headers.get('ratelimit')).toMatch(/^"[\w-]+"; ?r=1; ?t=60(;pk=:.+:)?$/)
      expect(headers.get('ratelimit-policy')).toMatch(/^"[\w-]+"; ?q=2; ?w=60; ?pk=:.+:$/)
    }
  })

  test("'draft-6' and headers: { standard: false }", async () => {
    const asked = await both(
      { standardHeaders: 'draft-6', legacyHeaders: false },
      { headers: { standard: false } },
    )
    const [their, our] = [await asked.theirs.ask(), await asked.ours.ask()]
    expect(namesOf(their)).toEqual([
      'ratelimit-limit',
      'ratelimit-policy',
      'ratelimit-remaining',
      'ratelimit-reset',
    ])
    expect(namesOf(our)).toEqual(['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset'])
    for (const answer of [their, our]) expect(valuesOf(answer, 'ratelimit')).toEqual(['2', '1'])
  })

  test("legacyHeaders and { legacy: 'epoch' }", async () => {
    const asked = await both({}, { headers: { standard: false, single: false, legacy: 'epoch' } })
    const [their, our] = [await asked.theirs.ask(), await asked.ours.ask()]
    expect(namesOf(our)).toEqual(namesOf(their))
    for (const answer of [their, our]) expect(valuesOf(answer, 'x-ratelimit')).toEqual(['2', '1'])
    const [at, too] = [their, our].map(({ headers }) => Number(headers.get('x-ratelimit-reset'))) as [
      number,
      number,
    ]
    expect(Math.abs(at - too)).toBeLessThanOrEqual(SOON_MS / 1000)
  })

  test('no headers at all; of ours a denial has Retry-After all the same', async () => {
    const asked = await both({ standardHeaders: false, legacyHeaders: false }, { headers: false })
    const last = async ({ ask, statuses }: Asker): Promise<string[]> => {
      expect(await statuses(2)).toEqual([200, 200])
      return namesOf(await ask())
    }
    expect(await last(asked.theirs)).toEqual([])
    expect(await last(asked.ours)).toEqual(['retry-after'])
  })

  test('identifier and the name of a limit', async () => {
    const named = { quota: 2, window: 'min', name: 'api' }
    const asked = await both({ standardHeaders: 'draft-8', identifier: 'api' }, { limit: named })
    for (const { ask } of Object.values(asked))
      expect((await ask()).headers.get('ratelimit')).toMatch(/^"api";/)
  })
})

test('a text as message is HTML in theirs, plain text in ours; an object is JSON in both', async () => {
  const typeOf = async ({ ask, statuses }: Asker): Promise<string[]> => {
    await statuses(2)
    const denied = await ask()
    return [denied.headers.get('content-type')?.split(';')[0] ?? '', await denied.text()]
  }
  const text = await both({ message: 'slow down' }, { body: () => 'slow down' })
  expect(await typeOf(text.theirs)).toEqual(['text/html', 'slow down'])
  expect(await typeOf(text.ours)).toEqual(['text/plain', 'slow down'])
  const object = await both({ message: { error: 1 } }, { body: () => ({ error: 1 }) })
  for (const asker of Object.values(object))
    expect(await typeOf(asker)).toEqual(['application/json', '{"error":1}'])
})

test('resetKey and getKey, reset and peek', async () => {
  const their = theirs({ windowMs: 60_000, limit: 2, validate: false, keyGenerator: () => 'acme' })
  const our = ours({ limit: '2/min', identify: () => 'acme' })
  for (const middleware of [their, our])
    expect(await (await serve(middleware)).statuses(3)).toEqual([200, 200, 429])
  expect(await their.getKey('acme')).toMatchObject({ totalHits: 3 })
  expect(await our.limiter.peek('acme')).toMatchObject({ allowed: false, limits: [{ remaining: 0 }] })
  their.resetKey('acme')
  await our.limiter.reset('acme')
  for (const middleware of [their, our]) expect(await (await serve(middleware)).statuses(1)).toEqual([200])
})

test('IPv6 is grouped by /56 in theirs, by /64 in ours, and by /56 where ours is told so', () => {
  const [one, other] = ['2001:db8:0:1200::1', '2001:db8:0:12ff::1']
  expect(ipKeyGenerator(one)).toBe(ipKeyGenerator(other))
  expect(subjectForIp(one)).not.toEqual(subjectForIp(other))
  expect(subjectForIp(one, 56)).toEqual(subjectForIp(other, 56))
})

test('their window is fixed and lets twice the limit through around its end, ours does not', async () => {
  let now = Date.UTC(2030, 0, 1)
  const clock = jest.spyOn(Date, 'now').mockImplementation(() => now)
  try {
    const fixed = { quota: 100, window: 'min', algorithm: 'fixed-window' } as const
    const store = (): { store: ReturnType<typeof memoryStore> } => ({
      store: memoryStore({ now: () => now }),
    })
    const counts = {
      theirs: await serve(theirs({ windowMs: 60_000, limit: 100, validate: false })),
      fixed: await serve(ours({ limit: fixed, ...store() })),
      exact: await serve(ours({ limit: '100/min', ...store() })),
    }
    const passed: Record<string, number> = {}
    for (const [name, { ask }] of Object.entries(counts)) {
      // All at once, so that no connection is idle meanwhile.
      const passedOf = async (count: number): Promise<number> => {
        const answers = await Promise.all(Array.from({ length: count }, () => ask()))
        await Promise.all(answers.map((answer) => answer.arrayBuffer()))
        return answers.filter(({ status }) => status === 200).length
      }
      const begin = now
      expect(await passedOf(1)).toBe(1)
      now = begin + 59_000
      const before = await passedOf(99)
      now = begin + 60_001
      passed[name] = before + (await passedOf(100))
    }
    // Of ours the one request of a minute ago is all that has come back.
    expect(passed).toEqual({ theirs: 199, fixed: 199, exact: 100 })
  } finally {
    clock.mockRestore()
  }
})

test('a denied request is counted in theirs, and takes nothing in ours', async () => {
  const used: unknown[] = []
  const asked = await both(
    {
      handler: (req, res) =>
        void res.json(used.push((req as unknown as { rateLimit: { used: number } }).rateLimit.used)),
    },
    { onDenied: (_req, res, { limits }) => res.json(used.push(limits[0]?.remaining)) },
  )
  await asked.theirs.statuses(5)
  await asked.ours.statuses(5)
  expect(used).toEqual([3, 4, 5, 0, 0, 0])
})

test('of two limits on one request theirs counts in the first when the second denies', async () => {
  const first = new MemoryStore()
  const their = (limit: number, store = new MemoryStore()): RequestHandler =>
    theirs({ windowMs: 60_000, limit, validate: false, keyGenerator: () => 'acme', store })
  await (await serve(their(50, first), their(1))).statuses(3)
  expect(await first.get('acme')).toMatchObject({ totalHits: 3 })
  const our = ours({ limit: ['50/min', '1/h'], identify: () => 'acme' })
  await (await serve(our)).statuses(3)
  expect((await our.limiter.peek('acme')).limits).toMatchObject([{ remaining: 49 }, { remaining: 0 }])
})

describe('while Redis does not answer', () => {
  let server: RedisServer
  beforeEach(async () => {
    server = await startRedis()
    open.push(() => server.stop())
  })

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
  const theirStore = (redis: Redis): RedisStore =>
    new RedisStore({ sendCommand: (...[name = '', ...args]) => redis.call(name, ...args) as Promise<string> })

  test('theirs waits, also with passOnStoreError; ours answers', async () => {
    const asked = await both(
      { passOnStoreError: true, store: theirStore(connect()) },
      { onStoreFailure: 'open', store: redisStore(connect()) },
    )
    expect([await asked.theirs.statuses(1), await asked.ours.statuses(1)]).toEqual([[200], [200]])
    server.pause()
    let isAnswered = false
    const waiting = asked.theirs.ask().then(({ status }) => {
      isAnswered = true
      return status
    })
    // Many deadlines later.
    for (let i = 0; i < 10; i += 1) expect((await asked.ours.ask()).headers.has('ratelimit')).toBe(false)
    expect(isAnswered).toBe(false)
    server.resume()
    expect(await waiting).toBe(200)
  })

  test("theirs answers 500, ours 503 with 'closed'", async () => {
    const asked = await both(
      { store: theirStore(connect()) },
      { onStoreFailure: 'closed', store: redisStore(connect()) },
    )
    expect([await asked.theirs.statuses(1), await asked.ours.statuses(1)]).toEqual([[200], [200]])
    await server.kill()
    const [their, our] = [await asked.theirs.ask(), await asked.ours.ask()]
    expect([their.status, our.status, our.headers.get('retry-after')]).toEqual([500, 503, '1'])
  })
})
