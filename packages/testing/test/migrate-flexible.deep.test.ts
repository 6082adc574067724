// The page on rate-limiter-flexible, tried: both programs of each pair over HTTP, and what clients see of them.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { createLimiter, redisStore } from '@tollgate/core'
import express from 'express'
import { Redis } from 'ioredis'
import {
  BurstyRateLimiter,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterUnion,
} from 'rate-limiter-flexible'
import { serveHandler, testRedisUrl } from '../src/index.ts'
import {
  askerAt,
  migrationContract,
  playInWindows,
  times,
  type Asker,
  type Scenario,
} from './migration-contract.ts'
import { optionsIn, pairsOf, programUnder, runProgram, type Block } from './page-programs.ts'

const PAGE = 'docs/migrate-from/rate-limiter-flexible.md'

interface Running extends Asker {
  readonly lines: string[]
}

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

function connect(): Redis {
  const redis = new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
  open.push(() => redis.quit())
  return redis
}

/** An application behind the programs: who asks is in `x-user`. */
async function serve(...programs: Block[]): Promise<Running> {
  const redis = connect()
  const lines: string[] = []
  const app = express()
  app.use((req, _res, next) => {
    Object.assign(req, { user: { id: req.headers['x-user'] } })
    next()
  })
  const console = { log: (...words: unknown[]) => void lines.push(words.join(' ')) }
  for (const program of programs) await runProgram(program, { app, redis, console })
  app.get('/', (_req, res) => void res.end('home'))
  const served = await serveHandler(app)
  open.push(() => served.close())
  return { lines, ...askerAt(served.url) }
}

const as = (user: string, more: Record<string, string> = {}): RequestInit => ({
  headers: { 'x-user': user, ...more },
})
const login = (password: string): RequestInit => ({ method: 'POST', headers: { 'x-password': password } })

const scenarios: Readonly<Record<string, Scenario<Running>>> = {
  'From rate-limiter-flexible': {
    ask: ({ statuses }) => statuses(102),
    expected: [...times(100, 200), 429, 429],
  },
  'Consuming by hand, with Redis': {
    ask: async ({ ask, statuses }) => {
      const init = as(randomUUID())
      const first = await ask('', init)
      const others = await statuses(49, '', init)
      const denied = await ask('', init)
      const wait = Number(denied.headers.get('retry-after'))
      return {
        seen: [first.headers.get('x-used'), first.headers.get('x-left')],
        others,
        status: denied.status,
        waits: wait >= 1 && wait <= 60,
      }
    },
    expected: { seen: ['2', '98'], others: times(49, 200), status: 429, waits: true },
  },
  'Log-ins': {
    ask: async ({ statuses }) => [
      ...(await statuses(4, 'login', login('wrong'))),
      ...(await statuses(1, 'login', login('right'))),
      ...(await statuses(5, 'login', login('wrong'))),
      ...(await statuses(1, 'login', login('right'))),
    ],
    expected: [...times(4, 401), 200, ...times(5, 401), 429],
  },
  'Several limits at once': { ask: ({ statuses }) => statuses(5), expected: [...times(3, 200), 429, 429] },
  Bursts: { ask: ({ statuses }) => statuses(9), expected: [...times(7, 200), 429, 429] },
  Lists: {
    ask: async ({ statuses }) => ({
      partner: await statuses(5, '', as('partner')),
      trial: await statuses(2, '', as('trial-1')),
      other: await statuses(4, '', as('other')),
    }),
    expected: { partner: times(5, 200), trial: [403, 403], other: [...times(3, 200), 429] },
  },
  'Points back': {
    ask: async ({ statuses }) => ({
      cached: await statuses(7, '', as('one', { 'x-cached': 'yes' })),
      fresh: await statuses(3, '', as('two')),
    }),
    // 6 points are used after six requests that were cached, and 5 more do not fit.
    expected: { cached: [...times(6, 200), 429], fresh: [200, 200, 429] },
  },
  'Waiting for a turn': {
    ask: async ({ ask }) => {
      const started = performance.now()
      const answers = await Promise.all(times(5, 0).map(() => ask()))
      // The fifth comes two windows after the first. Timers of Node may be a ms early.
      return { statuses: answers.map(({ status }) => status), waited: performance.now() - started > 1990 }
    },
    expected: { statuses: times(5, 200), waited: true },
  },
}

describe(PAGE, () => {
  migrationContract(PAGE, serve, scenarios)

  test('names every class, method and option of the package', () => {
    const text = optionsIn(PAGE)
    const file = 'rate-limiter-flexible/types.d.ts'
    const classes = text.read(file, /^export class (\w+)/gm)
    const interfaces = text.read(file, /^interface (I\w*(?:Options\w*|Opts))\b.*\{$/gm)
    const options = [...interfaces, 'IRateLimiterMongoFunctionOptions'].flatMap((name) =>
      text.of(file, `interface ${name}`),
    )
    const methods = text.read(file, /^    (\w+)\(/gm).filter((name) => name !== 'constructor')
    expect(classes).toEqual(expect.arrayContaining(['BurstyRateLimiter', 'RateLimiterUnion']))
    expect(options).toEqual(
      expect.arrayContaining(['inMemoryBlockOnConsumed', 'storeClient', 'maxQueueSize']),
    )
    expect(methods).toEqual(expect.arrayContaining(['penalty', 'deleteInMemoryBlockedAll', 'dump']))
    const of = text.of(file, 'interface IRateLimiterRes')
    // How a result prints is no thing to replace.
    const all = [...classes, ...options, ...methods, ...of].filter(
      (name) => !['toString', 'toJSON'].includes(name),
    )
    expect(all.filter((name) => !text.names(name) && name !== 'RateLimiterRes')).toEqual([])
  })
})

test('a program that counts beside theirs changes no answer, and tells whom it would have denied', async () => {
  const { before } = pairsOf(PAGE)[0] as { before: Block }
  const expected = { statuses: [...times(100, 200), 429], lines: ['would deny it minute'], hasHeader: false }
  const play = async (): Promise<unknown> => {
    const running = await serve(programUnder(PAGE, 'Counting beside it'), before)
    const id = randomUUID()
    const statuses = await running.statuses(101, '', as(id))
    const lines = running.lines.map((line) => line.replace(id, 'it'))
    return { statuses, lines, hasHeader: (await running.ask('', as(id))).headers.has('ratelimit') }
  }
  expect(await playInWindows(play, expected)).toEqual(expected)
})

/** Whether theirs admits: it rejects with what is no error when it denies. */
const admits = (
  limiter: { consume(key: string, points?: number): Promise<unknown> },
  points = 1,
): Promise<boolean> =>
  limiter.consume('key', points).then(
    () => true,
    (denied: unknown) => {
      if (denied instanceof Error) throw denied
      return false
    },
  )

describe('what behaves differently', () => {
  test('theirs books what it denies, ours does not', async () => {
    const theirs = new RateLimiterMemory({ points: 3, duration: 60 })
    const ours = createLimiter({ limit: '3/min' })
    const asked = [2, 2, 1]
    const seen = { theirs: [] as boolean[], ours: [] as boolean[] }
    for (const cost of asked) {
      seen.theirs.push(await admits(theirs, cost))
      seen.ours.push((await ours.consume('key', { cost })).allowed)
    }
    expect(seen).toEqual({ theirs: [true, false, false], ours: [true, false, true] })
  })

  test('their union books limits that had room, a plan of ours takes from all or none', async () => {
    const hour = new RateLimiterMemory({ keyPrefix: 'hour', points: 50, duration: 3600 })
    const union = new RateLimiterUnion(
      new RateLimiterMemory({ keyPrefix: 'min', points: 1, duration: 60 }),
      hour,
    )
    const ours = createLimiter({ limit: ['1/min', '50/h'] })
    for (let i = 0; i < 3; i += 1) {
      await admits(union)
      await ours.consume('key')
    }
    expect((await hour.get('key'))?.consumedPoints).toBe(3)
    expect((await ours.peek('key')).limits[1]).toMatchObject({ name: 'hour', remaining: 49 })
  })

  test('their rewards go below nothing used', async () => {
    const theirs = new RateLimiterMemory({ points: 1, duration: 60 })
    await theirs.reward('key', 2)
    expect([await admits(theirs), await admits(theirs), await admits(theirs), await admits(theirs)]).toEqual([
      true,
      true,
      true,
      false,
    ])
    const ours = createLimiter({ limit: '1/min' })
    const decision = await ours.consume('key')
    expect([await ours.refund(decision), await ours.refund(decision)]).toEqual([true, false])
    expect([(await ours.consume('key')).allowed, (await ours.consume('key')).allowed]).toEqual([true, false])
  })

  test('half a second leaves a key of theirs for good, one of ours has an end', async () => {
    const redis = connect()
    const keyPrefix = `half-${randomUUID()}`
    await admits(new RateLimiterRedis({ storeClient: redis, keyPrefix, points: 5, duration: 0.5 }))
    expect(await redis.pttl(`${keyPrefix}:key`)).toBe(-1)
    await redis.del(`${keyPrefix}:key`)
    const limiter = createLimiter({ limit: '5/500ms', store: redisStore(redis, { prefix: keyPrefix }) })
    await limiter.consume('key')
    const ends = await Promise.all((await redis.keys(`${keyPrefix}*`)).map((key) => redis.pttl(key)))
    expect(ends.filter((end) => end === -1)).toEqual([])
    await limiter.close()
  })

  test('a store that fails rejects in theirs, and is told by the decision in ours', async () => {
    const nobody = createServer().listen(0, '127.0.0.1')
    await once(nobody, 'listening')
    const { port } = nobody.address() as AddressInfo
    nobody.close()
    const redis = new Redis({ port, maxRetriesPerRequest: 0, retryStrategy: () => null })
    redis.on('error', () => {})
    open.push(() => redis.disconnect())
    const theirs = new RateLimiterRedis({ storeClient: redis, points: 5, duration: 60 })
    await expect(admits(theirs)).rejects.toThrow()
    const ours = createLimiter({ limit: '5/min', store: redisStore(redis) })
    expect(await ours.consume('key')).toMatchObject({ allowed: true, source: 'local' })
    await ours.close()
  })

  test('a bucket with a burst holds more than its quota, so what is used is not the difference', async () => {
    const { limits } = await createLimiter({ limit: '50/s burst 100' }).consume('key')
    expect(limits[0]).toMatchObject({ quota: 50, remaining: 99, used: 1 })
  })

  test('their bursts and two limits of ours add up to the same over the longer window', async () => {
    const rate = new RateLimiterMemory({ points: 2, duration: 60 })
    const burst = new RateLimiterMemory({ keyPrefix: 'burst', points: 5, duration: 600 })
    const theirs = new BurstyRateLimiter(rate, burst)
    let first = 0
    while (await admits(theirs)) first += 1
    // Nine more minutes of the rate, and nothing left of the burst.
    const inAll = first + 9 * rate.points
    expect(pairsOf(PAGE).find(({ heading }) => heading === 'Bursts')?.after.code).toContain(
      `'${inAll}/10min'`,
    )
  })
})
