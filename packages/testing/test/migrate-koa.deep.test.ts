// The page on koa-ratelimit, tried: both programs of each pair over HTTP, and what clients see of them.
import { randomUUID } from 'node:crypto'
import Koa from 'koa'
import { Redis } from 'ioredis'
import { serveHandler, SOON_MS, testRedisUrl } from '../src/index.ts'
import {
  askerAt,
  hundredThenDenied,
  migrationContract,
  times,
  type Asker,
  type Scenario,
} from './migration-contract.ts'
import { optionsIn, pairsOf, programUnder, runProgram, type Block } from './page-programs.ts'

const PAGE = 'docs/migrate-from/koa-ratelimit.md'

interface Running extends Asker {
  readonly lines: string[]
  /** What a middleware before the limiter caught. */
  readonly caught: unknown[]
}

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** An application behind the programs: who asks is in `x-user` and `x-plan`. */
async function serve(...programs: Block[]): Promise<Running> {
  const redis = new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
  open.push(() => redis.quit())
  const lines: string[] = []
  const caught: unknown[] = []
  const app = new Koa()
  app.silent = true
  app.use(async (ctx, next) => {
    ctx.state.user = { id: ctx.get('x-user'), plan: ctx.get('x-plan'), isAdmin: ctx.get('x-admin') === 'yes' }
    try {
      await next()
    } catch (error) {
      caught.push(error)
      throw error
    }
  })
  const console = { log: (...words: unknown[]) => void lines.push(words.join(' ')) }
  for (const program of programs) await runProgram(program, { app, redis, console })
  app.use((ctx) => void (ctx.body = JSON.stringify({ found: ctx.state.rateLimit ?? null })))
  const served = await serveHandler(app.callback())
  open.push(() => served.close())
  return { lines, caught, ...askerAt(served.url) }
}

const as = (headers: Record<string, string>): RequestInit => ({ headers })

/** In their header, or in ours. */
const left = ({ headers }: Response): number =>
  Number(headers.get('x-ratelimit-remaining') ?? headers.get('ratelimit-remaining') ?? NaN)

const scenarios: Readonly<Record<string, Scenario<Running>>> = {
  'From koa-ratelimit': hundredThenDenied(left, 900),
  'Users and Redis': {
    ask: async ({ ask, statuses }) => {
      const user = { 'x-user': randomUUID(), 'x-plan': 'free' }
      const answers = await statuses(100, '', as(user))
      const denied = await ask('', as(user))
      const admin = (await ask('', as({ ...user, 'x-admin': 'yes' }))).status
      const expired = (await ask('', as({ ...user, 'x-plan': 'expired' }))).status
      return { answers, denied: [denied.status, await denied.text()], admin, expired }
    },
    expected: { answers: times(100, 200), denied: [429, 'slow down'], admin: 200, expired: 403 },
  },
  'A route with a limit of its own': {
    ask: async ({ statuses }) => {
      const login = await statuses(6, 'login')
      // Both take requests to the route from the common limit as well: theirs those that it denies, too.
      const elsewhere = await statuses(96)
      return { login, elsewhere: elsewhere.toSpliced(94, 1) }
    },
    expected: { login: [...times(5, 200), 429], elsewhere: [...times(94, 200), 429] },
  },
  'Denials as errors': {
    ask: async ({ ask, statuses, caught }) => {
      const passed = await statuses(5)
      const denied = await ask()
      const { status, message } = caught[0] as { status: number; message: string }
      const wait = Number(denied.headers.get('retry-after'))
      const answer = [denied.status, await denied.text(), wait >= 1 && wait <= 60]
      return { passed, answer, error: [status, message], errors: caught.length }
    },
    expected: {
      passed: times(5, 200),
      answer: [429, 'slow down', true],
      error: [429, 'slow down'],
      errors: 1,
    },
  },
}

const pairs = pairsOf(PAGE)

describe(PAGE, () => {
  migrationContract(PAGE, serve, scenarios)

  test('names every option of the package', () => {
    const text = optionsIn(PAGE)
    const options = text.read('koa-ratelimit/index.js', /\bopts\.(\w+)/g)
    const documented = text.read('koa-ratelimit/README.md', /^\* `(\w+)` /gm)
    expect(options).toEqual(expect.arrayContaining(['onLimited', 'status', 'throw']))
    expect(documented).toEqual(expect.arrayContaining(['driver', 'namespace', 'disableHeader']))
    expect([...options, ...documented].filter((name) => !text.names(name))).toEqual([])
  })
})

const { before, after } = pairs[0] as { before: Block; after: Block }
const changed = ({ code, ...block }: Block, from: string, to: string): Block => {
  expect(code).toContain(from)
  return { ...block, code: code.replace(from, to) }
}

test('a program that counts beside theirs changes no answer, and tells whom it would have denied', async () => {
  const running = await serve(programUnder(PAGE, 'Counting beside it'), before)
  const id = randomUUID()
  expect(await running.statuses(101, '', as({ 'x-user': id }))).toEqual([...times(100, 200), 429])
  expect(running.lines).toEqual([`would deny ${id} 15-minutes`])
  expect((await running.ask('', as({ 'x-user': id }))).headers.has('ratelimit')).toBe(false)
})

test('both on one request: each has its headers, and ours its decision', async () => {
  const answer = await (await serve(before, after)).ask()
  expect([answer.headers.get('x-ratelimit-remaining'), answer.headers.get('ratelimit-remaining')]).toEqual([
    '99',
    '99',
  ])
  expect(await answer.json()).toMatchObject({ found: { allowed: true, plan: 'default' } })
})

describe('what behaves differently', () => {
  test('what compares paths is passed by another spelling, what stands at the route is not', async () => {
    const { before: theirs, after: ours } = pairs.find(({ heading }) => heading.startsWith('A route')) as {
      before: Block
      after: Block
    }
    for (const path of ['LOGIN', 'login/']) {
      expect(await (await serve(theirs)).statuses(6, path)).toEqual(times(6, 200))
      expect(await (await serve(ours)).statuses(6, path)).toEqual([...times(5, 200), 429])
    }
  })

  test('an async id of theirs is one key for all, ours is awaited', async () => {
    const theirs = changed(before, 'max: 100', 'max: 1, id: async (ctx) => ctx.state.user.id')
    const ours = changed(after, "'100/15min'", "'1/15min', identify: async (ctx) => ctx.state.user.id")
    const seen = async (program: Block): Promise<number[]> => {
      const { statuses } = await serve(program)
      return [
        ...(await statuses(1, '', as({ 'x-user': 'one' }))),
        ...(await statuses(1, '', as({ 'x-user': 'two' }))),
      ]
    }
    expect(await seen(theirs)).toEqual([200, 429])
    expect(await seen(ours)).toEqual([200, 200])
  })

  test('their reset is a fraction, and their message of a long window is of the past', async () => {
    const long = changed(changed(before, 'max: 100', 'max: 1'), '900_000', '30 * 86_400_000')
    const { ask } = await serve(long)
    await ask()
    const denied = await ask()
    expect(denied.headers.get('x-ratelimit-reset')).toMatch(/\.\d/)
    expect(await denied.text()).toContain('-')
    const ours = await (await serve(changed(after, "'100/15min'", "'1/30d'"))).ask()
    expect(ours.headers.get('ratelimit-reset')).toBe(String(30 * 86_400))
  })

  test('a wrong driver is a 500 of theirs, a wrong store of ours throws at once', async () => {
    expect((await (await serve(changed(before, "'memory'", "'disk'"))).ask()).status).toBe(500)
    await expect(serve(changed(after, "'100/15min'", "'100/15min', store: 'disk'"))).rejects.toThrow(/store/)
  })

  test('who is on both lists is blocked by theirs, let in by ours', async () => {
    const { before: theirs, after: ours } = pairs[1] as { before: Block; after: Block }
    const both = { 'x-user': randomUUID(), 'x-plan': 'expired', 'x-admin': 'yes' }
    expect((await (await serve(theirs)).ask('', as(both))).status).toBe(403)
    expect((await (await serve(ours)).ask('', as(both))).status).toBe(200)
  })
})

describe('rows of the table', () => {
  /** A change of both programs, by the options that stand in one row. */
  const both = async (
    their: string,
    our: string,
  ): Promise<{ readonly theirs: Running; readonly ours: Running }> => ({
    theirs: await serve(changed(before, 'max: 100', `max: 2, ${their}`)),
    ours: await serve(changed(after, "limit: '100/15min'", `limit: '2/15min', ${our}`)),
  })
  const namesOf = ({ headers }: Response): string[] =>
    [...headers.keys()].filter((name) => /rate-?limit|retry/.test(name)).sort()

  test("their headers and headers: { legacy: 'epoch' }", async () => {
    const asked = await both('', "headers: { standard: false, single: false, legacy: 'epoch' }")
    const answers = [await asked.theirs.ask(), await asked.ours.ask()] as const
    const [their, our] = answers
    expect(namesOf(our)).toEqual(namesOf(their))
    for (const { headers } of answers)
      expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['2', '1'])
    const [at, too] = answers.map(({ headers }) => Number(headers.get('x-ratelimit-reset'))) as [
      number,
      number,
    ]
    expect(Math.abs(at - too)).toBeLessThanOrEqual(SOON_MS / 1000)
  })

  test('disableHeader and headers: false; a denial has Retry-After in both', async () => {
    const asked = await both('disableHeader: true', 'headers: false')
    for (const { ask, statuses } of Object.values(asked)) {
      expect(namesOf(await ask())).toEqual([])
      await statuses(1)
      expect(namesOf(await ask())).toEqual(['retry-after'])
    }
  })

  test('an id that is false and skip', async () => {
    const asked = await both(
      "id: (ctx) => ctx.get('x-user') === 'one' && 'one'",
      "skip: (ctx) => ctx.get('x-user') !== 'one'",
    )
    for (const { statuses } of Object.values(asked)) {
      expect(await statuses(4, '', as({ 'x-user': 'two' }))).toEqual(times(4, 200))
      expect(await statuses(3, '', as({ 'x-user': 'one' }))).toEqual([200, 200, 429])
    }
  })

  test('status and onDenied', async () => {
    const asked = await both(
      "status: 503, errorMessage: 'later'",
      "onDenied: (ctx) => { ctx.status = 503; ctx.body = 'later' }",
    )
    for (const { ask, statuses } of Object.values(asked)) {
      await statuses(2)
      const denied = await ask()
      expect([denied.status, await denied.text()]).toEqual([503, 'later'])
    }
  })
})
