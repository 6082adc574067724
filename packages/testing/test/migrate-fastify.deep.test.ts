// The page on @fastify/rate-limit, tried: both programs of each pair over HTTP, and what clients see of them.
import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyRequest } from 'fastify'
import { Redis } from 'ioredis'
import { testRedisUrl } from '../src/index.ts'
import {
  askerAt,
  hundredThenDenied,
  migrationContract,
  playInWindows,
  times,
  type Asker,
  type Scenario,
} from './migration-contract.ts'
import { optionsIn, pairsOf, programUnder, runProgram, type Block } from './page-programs.ts'

const PAGE = 'docs/migrate-from/fastify-rate-limit.md'

interface Running extends Asker {
  readonly lines: string[]
}

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

const authenticate = async (request: FastifyRequest): Promise<void> => {
  const { 'x-user': id, 'x-plan': plan, 'x-admin': isAdmin } = request.headers
  Object.assign(request, { user: { id, plan, isAdmin: isAdmin === 'yes' } })
}

const SCHEMA = { body: { type: 'object', required: ['name'] } }

/** An application behind the programs: who asks is in `x-user` and `x-plan`. */
async function serve(...programs: Block[]): Promise<Running> {
  const redis = new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
  open.push(() => redis.quit())
  const lines: string[] = []
  const app = Fastify()
  open.push(() => app.close())
  const console = { log: (...words: unknown[]) => void lines.push(words.join(' ')) }
  for (const program of programs) await runProgram(program, { app, redis, console, authenticate })
  app.get('/', async () => 'home')
  app.post('/checked', { schema: SCHEMA }, async () => 'fits')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { lines, ...askerAt(url) }
}

/** In their header, or in ours. */
const left = ({ headers }: Response): number =>
  Number(headers.get('x-ratelimit-remaining') ?? headers.get('ratelimit-remaining') ?? NaN)

const scenarios: Readonly<Record<string, Scenario<Running>>> = {
  'From @fastify/rate-limit': hundredThenDenied(left, 60),
  'Users, plans and Redis': {
    ask: async ({ ask, statuses }) => {
      const id = randomUUID()
      const free = { headers: { 'x-user': id, 'x-plan': 'free' } }
      const admin = { headers: { ...free.headers, 'x-admin': 'yes' } }
      const pro = { headers: { 'x-user': randomUUID(), 'x-plan': 'pro' } }
      const answers = await statuses(101, '', free)
      const { status, headers } = await ask('', admin)
      return { answers, admin: status, numbers: headers.has('retry-after'), pro: left(await ask('', pro)) }
    },
    expected: { answers: [...times(100, 200), 429], admin: 200, numbers: false, pro: 2999 },
  },
  'The hook': {
    ask: async ({ statuses }) => {
      const init = { headers: { 'x-user': randomUUID(), 'content-type': 'application/json' } }
      const bad = { ...init, method: 'POST', body: '{}' }
      return [...(await statuses(3, 'checked', bad)), ...(await statuses(3, '', { headers: init.headers }))]
    },
    expected: [...times(3, 400), 200, 200, 429],
  },
  Routes: {
    ask: async ({ ask, statuses }) => ({
      search: await statuses(6, 'search'),
      home: left(await ask()),
      health: await statuses(3, 'health'),
    }),
    expected: { search: [...times(5, 200), 429], home: 99, health: times(3, 200) },
  },
  'Only some routes': {
    ask: async ({ ask, statuses }) => {
      const search = await statuses(6, 'search')
      const home = await ask()
      return { search, home: home.status, told: !Number.isNaN(left(home)) }
    },
    expected: { search: [...times(5, 200), 429], home: 200, told: false },
  },
  'An answer of your own': {
    ask: async ({ ask, statuses }) => {
      const passed = await statuses(5)
      const denied = await ask()
      return { passed, status: denied.status, body: await denied.json() }
    },
    expected: {
      passed: times(5, 200),
      status: 429,
      body: { statusCode: 429, error: 'slow down', limit: 5 },
    },
  },
  Banning: {
    ask: ({ statuses }) => statuses(10),
    expected: [...times(5, 200), 429, 429, ...times(3, 403)],
  },
  'By hand': {
    ask: ({ statuses }) => statuses(7, 'login', { method: 'POST' }),
    expected: [...times(5, 401), 429, 429],
  },
}

describe(PAGE, () => {
  migrationContract(PAGE, serve, scenarios)

  test('names every option of the package', () => {
    const text = optionsIn(PAGE)
    const file = '@fastify/rate-limit/types/index.d.ts'
    const options = [
      'CreateRateLimitOptions',
      'RateLimitOptions',
      'RateLimitPluginOptions',
      'DefaultAddHeaders',
      'DraftSpecAddHeaders',
      'errorResponseBuilderContext',
    ].flatMap((name) => text.of(file, `interface ${name}`))
    // What is declared within a function's type.
    const inner = [
      'rateLimit',
      'createRateLimit',
      'increment',
      'isAllowed',
      'ttlInSeconds',
      'isExceeded',
      'isBanned',
    ]
    expect(options).toEqual(expect.arrayContaining(['max', 'onBanReach', 'addHeaders', 'ttl']))
    expect([...options, ...inner].filter((name) => !text.names(name))).toEqual([])
  })
})

const pairOf = (heading: string): { before: Block; after: Block } => {
  const found = pairsOf(PAGE).find((pair) => pair.heading === heading)
  if (!found) throw new Error(`no pair under ${heading}`)
  return found
}
const program = (code: string): Block => ({ page: PAGE, line: 1, code })

test('a program that counts beside theirs changes no answer, and tells whom it would have denied', async () => {
  const { before } = pairOf('From @fastify/rate-limit')
  // Their hook is of the route and so behind: it denies what was counted before.
  const expected = { statuses: [...times(100, 200), 429], lines: ['would deny it minute'], hasHeader: false }
  const play = async (): Promise<unknown> => {
    const running = await serve(programUnder(PAGE, 'Counting beside it'), before)
    const id = randomUUID()
    const init = { headers: { 'x-user': id } }
    const statuses = await running.statuses(101, '', init)
    const lines = running.lines.map((line) => line.replace(id, 'it'))
    return { statuses, lines, hasHeader: (await running.ask('', init)).headers.has('ratelimit') }
  }
  expect(await playInWindows(play, expected)).toEqual(expected)
})

describe('both in one context', () => {
  const { before, after } = pairOf('From @fastify/rate-limit')

  test('ours behind theirs does not start', async () => {
    await expect(serve(before, after)).rejects.toMatchObject({ code: 'FST_ERR_DEC_ALREADY_PRESENT' })
  })

  test('theirs behind ours starts; ours refuses their options of a route, and theirs does not know ours', async () => {
    const route = (options: string): Block =>
      program(`app.get('/own', { config: { rateLimit: ${options} } }, async () => 'own')`)
    await expect(serve(after, before, route('{ max: 5 }'))).rejects.toThrow(/max/)
    const { ask } = await serve(after, before, route("{ group: 'own', limit: '5/min' }"))
    const { headers } = await ask('own')
    expect([headers.get('ratelimit-limit'), headers.get('x-ratelimit-limit')]).toEqual(['5', '100'])
  })

  test('in contexts of their own they do go together', async () => {
    const inContext = ({ code }: Block, path: string): Block =>
      program(
        `${/^import .*$/m.exec(code)?.[0] ?? ''}
        await app.register(async (part) => {
          ${code.replace(/^import .*$/m, '').replace('app.', 'part.')}
          part.get('/${path}', async () => 'here')
        })`,
      )
    const { ask } = await serve(inContext(before, 'theirs'), inContext(after, 'ours'))
    const theirs = await ask('theirs')
    const ours = await ask('ours')
    expect([theirs.headers.get('x-ratelimit-remaining'), theirs.headers.has('ratelimit')]).toEqual([
      '99',
      false,
    ])
    expect([ours.headers.has('x-ratelimit-remaining'), ours.headers.get('ratelimit-remaining')]).toEqual([
      false,
      '99',
    ])
  })
})

describe('what behaves differently', () => {
  test('routes of one of their groups do not share a counter, of ours they do', async () => {
    const routes = (options: string): Block =>
      program(
        ['one', 'two']
          .map((name) => `app.get('/${name}', { config: { rateLimit: ${options} } }, async () => 'x')`)
          .join('\n'),
      )
    const { before, after } = pairOf('From @fastify/rate-limit')
    const theirs = await serve(before, routes("{ groupId: 'both', max: 2 }"))
    const ours = await serve(after, routes("{ group: 'both', limit: '2/min' }"))
    expect([...(await theirs.statuses(2, 'one')), ...(await theirs.statuses(1, 'two'))]).toEqual([
      200, 200, 200,
    ])
    expect([...(await ours.statuses(2, 'one')), ...(await ours.statuses(1, 'two'))]).toEqual([200, 200, 429])
  })

  test('theirs takes its default in place of an option that it cannot read, ours refuses it', async () => {
    const { before, after } = pairOf('From @fastify/rate-limit')
    const { ask } = await serve({ ...before, code: before.code.replace('max: 100', "max: '100'") })
    expect((await ask()).headers.get('x-ratelimit-limit')).toBe('1000')
    const wrong = { ...after, code: after.code.replace("limit: '100/min'", "limit: '100'") }
    await expect(serve(wrong)).rejects.toThrow(/limit/)
  })

  test('ours finds who pays also where authentication is in a later stage', async () => {
    const { before, after } = pairOf('Users, plans and Redis')
    const later = ({ code }: Block): Block => program(code.replace("'onRequest'", "'preHandler'"))
    const init = { headers: { 'x-user': randomUUID(), 'x-plan': 'pro' } }
    expect((await (await serve(later(before))).ask('', init)).status).toBe(500)
    expect(left(await (await serve(later(after))).ask('', init))).toBe(2999)
  })

  test('ours limits requests that match no route', async () => {
    const { before, after } = pairOf('From @fastify/rate-limit')
    expect(left(await (await serve(before)).ask('nowhere'))).toBeNaN()
    expect(left(await (await serve(after)).ask('nowhere'))).toBe(99)
  })

  test('their peek says that one more passes where none does', async () => {
    const { before, after } = pairOf('By hand')
    const peek = (code: string): Block =>
      program(`${code}
      app.get('/peek', async (request) => peek(request))`)
    const theirs = await serve(
      peek(`${before.code}
      const peek = (request) => attempts(request, { increment: false })`),
    )
    const ours = await serve(
      peek(`${after.code}
      const peek = (request) => attempts.peek(byAddress(request))`),
    )
    for (const { statuses } of [theirs, ours]) await statuses(5, 'login', { method: 'POST' })
    expect(await (await theirs.ask('peek')).json()).toMatchObject({ isExceeded: false, remaining: 0 })
    expect(await (await ours.ask('peek')).json()).toMatchObject({ allowed: false })
  })
})
