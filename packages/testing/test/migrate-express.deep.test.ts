// The page on express-rate-limit, tried: both programs of each pair over HTTP, and what clients see of them.
import { randomUUID } from 'node:crypto'
import express from 'express'
import { Redis } from 'ioredis'
import { serveHandler, testRedisUrl } from '../src/index.ts'
import {
  askerAt,
  hundredThenDenied,
  migrationContract,
  times,
  type Asker,
  type Scenario,
} from './migration-contract.ts'
import { optionsIn, pairsOf, programUnder, runProgram, type Block } from './page-programs.ts'

const PAGE = 'docs/migrate-from/express-rate-limit.md'

interface Running extends Asker {
  /** Milliseconds that ours slept, in order. */
  readonly slept: number[]
  readonly lines: string[]
}

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** An application behind the program: who asks is in `x-user` and `x-plan`. */
async function serve(...programs: Block[]): Promise<Running> {
  const redis = new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
  open.push(() => redis.quit())
  const slept: number[] = []
  const lines: string[] = []
  const app = express()
  app.use((req, _res, next) => {
    Object.assign(req, { user: { id: req.headers['x-user'], plan: req.headers['x-plan'] } })
    next()
  })
  const sleep = { setTimeout: async (ms: number) => void slept.push(ms) }
  const console = { log: (...words: unknown[]) => void lines.push(words.join(' ')) }
  for (const program of programs)
    await runProgram(program, { app, redis, console }, { 'node:timers/promises': sleep })
  app.post('/login', (req, res) => void res.sendStatus(req.headers['x-password'] === 'right' ? 200 : 401))
  app.get('/', (req, res) => {
    const { rateLimit, slowDown } = req as { rateLimit?: unknown; slowDown?: { delay: number } }
    res.json({ rateLimit, delay: slowDown?.delay })
  })
  const served = await serveHandler(app)
  open.push(() => served.close())
  return { slept, lines, ...askerAt(served.url) }
}

/** What the headers of draft 8 and later say is left. */
const left = (answer: Response): number =>
  Number(/;\s*r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1])

const wrong = { method: 'POST', headers: { 'x-password': 'wrong' } }
const right = { method: 'POST', headers: { 'x-password': 'right' } }

const scenarios: Readonly<Record<string, Scenario<Running>>> = {
  'From express-rate-limit': hundredThenDenied(left, 900),
  'Users, plans and Redis': {
    ask: async ({ ask, statuses }) => {
      const free = { headers: { 'x-user': randomUUID(), 'x-plan': 'free' } }
      const pro = { headers: { 'x-user': randomUUID(), 'x-plan': 'pro' } }
      const answers = await statuses(101, '', free)
      return { answers, pro: left(await ask('', pro)), denied: (await ask('', free)).status }
    },
    expected: { answers: [...times(100, 200), 429], pro: 2999, denied: 429 },
  },
  'A route with a limit of its own': {
    ask: async ({ statuses }) => {
      const login = await statuses(6, 'login', right)
      // Both take requests to the route from the common limit as well: theirs those that it denies, too.
      const elsewhere = await statuses(96)
      return { login, elsewhere: elsewhere.toSpliced(94, 1) }
    },
    expected: { login: [...times(5, 200), 429], elsewhere: [...times(94, 200), 429] },
  },
  'An answer of your own': {
    ask: async ({ ask, statuses }) => {
      const passed = await statuses(5)
      const denied = await ask()
      return { passed, status: denied.status, body: await denied.json() }
    },
    expected: { passed: times(5, 200), status: 429, body: { error: 'slow down', limit: 5 } },
  },
  'The numbers on the request': {
    ask: async ({ ask }) => [await (await ask('usage')).json(), await (await ask('usage')).json()],
    expected: [
      { used: 1, limit: 5, remaining: 4 },
      { used: 2, limit: 5, remaining: 3 },
    ],
  },
  'Only failed log-ins count': {
    ask: async ({ statuses }) => {
      const login = [
        ...(await statuses(8, 'login', right)),
        ...(await statuses(5, 'login', wrong)),
        ...(await statuses(1, 'login', right)),
      ]
      // The common limit counts successful log-ins, too: theirs also those that the other denies.
      const elsewhere = await statuses(88)
      return { login, elsewhere: elsewhere.toSpliced(86, 1) }
    },
    expected: { login: [...times(8, 200), ...times(5, 401), 429], elsewhere: [...times(86, 200), 429] },
  },
  'From express-slow-down': {
    ask: async ({ ask, slept }) => {
      const delays = []
      for (let i = 0; i < 10; i += 1) {
        const { delay } = (await (await ask()).json()) as { delay?: number }
        delays.push(delay ?? slept[i - 5] ?? 0)
      }
      return delays
    },
    expected: [0, 0, 0, 0, 0, 100, 200, 300, 300, 300],
  },
}

describe(PAGE, () => {
  migrationContract(PAGE, serve, scenarios)

  test('names every option of the packages it is about', () => {
    const text = optionsIn(PAGE)
    const options = [
      ...text.of('express-rate-limit/dist/index.d.ts', 'type Options', 'type RateLimitInfo'),
      ...text.of('express-rate-limit/dist/index.d.ts', 'type RateLimitRequestHandler'),
      ...text.of('express-slow-down/dist/index.d.ts', 'type SlowDownOptions'),
      ...text.of(
        'rate-limit-redis/dist/index.d.ts',
        'type CommonOptions',
        'type SingleOptions',
        'type ClusterOptions',
      ),
    ]
    expect(options).toEqual(
      expect.arrayContaining(['windowMs', 'resetKey', 'delayMs', 'sendCommandCluster', 'key']),
    )
    expect(options.filter((name) => !text.names(name))).toEqual([])
  })
})

test('a program that counts beside theirs changes no answer, and tells whom it would have denied', async () => {
  const theirs = (pairsOf(PAGE)[0] as { before: Block }).before
  const running = await serve(programUnder(PAGE, 'Counting beside it'), theirs)
  const id = randomUUID()
  const init = { headers: { 'x-user': id } }
  expect(await running.statuses(101, '', init)).toEqual([...times(100, 200), 429])
  expect(running.lines).toEqual([`would deny ${id} 15-minutes`])
  expect((await running.ask('', init)).headers.get('ratelimit')).toMatch(/^"100-in-15min"; r=0; t=\d+$/)
})

describe('both on one request', () => {
  const { before, after } = pairsOf(PAGE)[0] as { before: Block; after: Block }

  test('ours, behind theirs, replaces headers and the property', async () => {
    const answer = await (await serve(before, after)).ask()
    expect(answer.headers.get('ratelimit')).toMatch(/^"15-minutes";r=99;t=\d+$/)
    expect(await answer.json()).toMatchObject({ rateLimit: { allowed: true, plan: 'default' } })
  })

  test('theirs, behind ours, adds to headers and replaces the property', async () => {
    const answer = await (await serve(after, before)).ask()
    expect(answer.headers.get('ratelimit')).toMatch(/^"15-minutes";r=99;t=\d+, "100-in-15min"; r=99; t=\d+$/)
    expect(await answer.json()).toMatchObject({ rateLimit: { limit: 100, used: 1 } })
  })
})
