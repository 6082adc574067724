// docs/operations/common-mistakes.md says what is printed: what the page says was typed is run, and the message compared with it.
// UPDATE_DOCS=1 writes the messages into the page.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, IncomingMessage, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import { Socket } from 'node:net'
import { join } from 'node:path'
import * as core from '@tollgate/core'
import { Redis } from 'ioredis'
import { rateLimit as ofExpress } from '../../express/src/index.ts'
import { rateLimit as ofFastify } from '../../fastify/src/index.ts'
import { rateLimit as ofKoa } from '../../koa/src/index.ts'
import { eventually } from '../src/index.ts'
import { root, textOf } from './docs-pages.ts'

const PAGE = 'docs/operations/common-mistakes.md'

interface App {
  use(handler: unknown): void
  on(event: string, listener: (error: unknown) => void): void
  callback(): RequestListener
  register(plugin: unknown, options?: object): PromiseLike<unknown>
  inject(url: string): Promise<unknown>
  setErrorHandler(handler: (error: unknown) => object): void
  close(): Promise<void>
}

const moduleOf = (framework: string): ((...args: unknown[]) => App) & (new () => App) =>
  createRequire(join(root, 'packages', framework, 'package.json'))(framework)

const redis = new Redis({ lazyConnect: true, autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
const limiter = core.createLimiter({ plans: { free: '100/min', pro: '3000/min' }, defaultPlan: 'free' })

/** The values that programs on the page use without declaring them. */
const SCOPE = {
  ...core,
  redis,
  limiter,
  store: core.memoryStore(),
  decision: limiter.consume('acme'),
  req: new IncomingMessage(new Socket()),
  findTenant: async () => ({ id: 'acme' }),
  handler: () => 'ok',
}

/** Runs the code of a row. Returns its result, or a promise of it. */
function run(typed: string, more: object): unknown {
  const scope = { ...SCOPE, ...more }
  // oxlint-disable-next-line typescript/no-implied-eval
  return new Function(...Object.keys(scope), `return ${typed}`)(...Object.values(scope))
}

/** Sends a request to a handler, which must answer it with 500. */
async function ask(listener: RequestListener): Promise<void> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const { status } = await fetch(`http://127.0.0.1:${port}/`)
  server.close()
  expect(status).toBe(500)
}

async function inExpress(typed: string): Promise<void> {
  const app = moduleOf('express')()
  const errors: unknown[] = []
  run(typed, { app, rateLimit: ofExpress })
  app.use(
    (error: unknown, _req: unknown, res: { writeHead(status: number): { end(): void } }, _next: unknown) => {
      errors.push(error)
      res.writeHead(500).end()
    },
  )
  await ask(app as unknown as RequestListener)
  throw errors[0]
}

async function inKoa(typed: string): Promise<void> {
  const app = new (moduleOf('koa'))()
  const errors: unknown[] = []
  app.on('error', (error) => errors.push(error))
  run(typed, { app, rateLimit: ofKoa })
  await ask(app.callback())
  throw errors[0]
}

async function inFastify(typed: string): Promise<void> {
  const app = moduleOf('fastify')()
  try {
    if (!typed.startsWith('app.register')) await app.register(ofFastify, { limit: '100/min' })
    await run(typed, { app, rateLimit: ofFastify })
    await app.inject('/')
  } finally {
    await app.close().catch(() => {})
  }
}

/** The first warning that comes of some requests, as the error that a mistake elsewhere is. */
async function inWarning(typed: string): Promise<void> {
  const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const plans = { free: '100/min', pro: '3000/min' }
  const perMinute = ofExpress({ limit: '100/min' })
  const clients: Redis[] = []
  const OwnRedis = function (options: object): Redis {
    const client = new Redis({ ...options })
    clients.push(client)
    return client
  }
  const limiters: core.Limiter[] = []
  const rateLimit: typeof ofExpress = (options) => {
    const middleware = ofExpress(options)
    limiters.push(middleware.limiter)
    return middleware
  }
  const app = moduleOf('express')()
  run(typed, { app, limit: '100/min', plans, perMinute, rateLimit, Redis: OwnRedis })
  const server = createServer(app as unknown as RequestListener).listen(0, '127.0.0.1')
  try {
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    await eventually(async () => {
      const isBehindProxy = typed.includes('trust proxy')
      await fetch(`http://127.0.0.1:${port}/`, {
        headers: isBehindProxy ? { 'x-forwarded-for': '192.0.2.1' } : {},
      })
      expect(warned).toHaveBeenCalled()
    })
    throw new Error(String(warned.mock.calls[0]?.[0]))
  } finally {
    server.close().closeAllConnections()
    await Promise.all(limiters.map((made) => made.close()))
    for (const client of clients) client.disconnect()
    warned.mockRestore()
  }
}

const PLACES: Readonly<Record<string, (typed: string) => unknown>> = {
  'In Express': inExpress,
  'In Fastify': inFastify,
  'In Koa': inKoa,
  'What works, but gives a warning': inWarning,
}

async function messageOf(place: string, typed: string): Promise<string> {
  try {
    await (PLACES[place] ?? ((code) => run(code, { rateLimit: ofExpress })))(typed)
  } catch (error) {
    return (error as Error).message
  }
  return 'no error'
}

interface Mistake {
  readonly place: string
  readonly typed: string
  readonly message: string
  readonly line: string
}

const ROW = /^\| `(.+?)` \| (?:``? ?(.*?) ?``?)? ?\|$/

function mistakesOn(page: string): Mistake[] {
  let place = ''
  return page.split('\n').flatMap((line) => {
    place = /^## (.*)/.exec(line)?.[1] ?? place
    const [, typed, message = ''] = ROW.exec(line) ?? []
    return typed === undefined ? [] : [{ place, typed, message, line }]
  })
}

const mistakes = mistakesOn(textOf(PAGE))

afterAll(() => redis.disconnect())

test('the page has each of the usual mistakes once', () => {
  expect(mistakes.length).toBeGreaterThan(40)
  expect(new Set(mistakes.map(({ place, typed }) => place + typed)).size).toBe(mistakes.length)
  expect(textOf(PAGE).match(/^\| `/gm)).toHaveLength(mistakes.length)
})

if (process.env.UPDATE_DOCS) {
  test('writes the messages', async () => {
    let page = textOf(PAGE)
    for (const { place, typed, line } of mistakes) {
      const message = await messageOf(place, typed)
      const quoted = message.includes('`') ? `\`\` ${message} \`\`` : `\`${message}\``
      const at = page.indexOf(line, page.indexOf(`## ${place}`))
      page = `${page.slice(0, at)}| \`${typed}\` | ${quoted} |${page.slice(at + line.length)}`
    }
    writeFileSync(join(root, PAGE), page)
    expect(mistakesOn(page)).toHaveLength(mistakes.length)
  })
} else {
  test.each(mistakes)('$place: $typed', async ({ place, typed, message }) => {
    expect(await messageOf(place, typed)).toBe(message)
  })
}
