// Programs that users copy are attacked as users would be: by keys that a client makes up, and by other spellings of a path.
import { EventEmitter, once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import type { Server } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import express, { type NextFunction, type Request, type Response } from 'express'
import { eventually, serveHandler } from '../src/index.ts'
import { blocksOf, pages, root, textOf } from './docs-pages.ts'
import { isTheirs } from './docs-programs.ts'
import { askerAt, times, type Asker } from './migration-contract.ts'
import { runProgram, type Block } from './page-programs.ts'

const OWN_LIMITS = 'docs/guides/own-limits.md'
const inHttp = blocksOf(OWN_LIMITS, textOf(OWN_LIMITS)).filter(({ code }) => code.includes('rateLimit('))

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** An application behind a program that leaves it to the reader to authenticate. */
async function serve(program: Block): Promise<Asker> {
  const app = express()
  const authenticate = (req: Request, _res: Response, next: NextFunction): void => {
    const [, id] = /^key-of-(acme|globex)$/.exec(req.get('x-api-key') ?? '') ?? []
    next(void Object.assign(req, { tenant: id && { id, plan: 'free' } }))
  }
  await runProgram(program, { app, authenticate })
  app.use((_req, res) => void res.send('ok'))
  const served = await serveHandler(app)
  open.push(() => served.close())
  return askerAt(served.url)
}

test(`${OWN_LIMITS} shows own limits in HTTP in both ways`, () => {
  expect(inHttp.map(({ code }) => code.includes('limit: (req) =>'))).toEqual([false, true])
})

describe.each(inHttp.map((block) => [`${block.page}:${block.line}`, block] as const))('%s', (_, program) => {
  const as = (key: string): RequestInit => ({ headers: { 'x-api-key': key } })

  test('holds a tenant to its own limits, and others to their plan', async () => {
    const { ask, statuses } = await serve(program)
    expect(await statuses(41, '', as('key-of-acme'))).toEqual([...times(40, 200), 429])
    const own = (await ask('', as('key-of-acme'))).headers.get('ratelimit-policy')
    expect(own).toBe('"minute";q=40;w=60, "day";q=1000;w=86400')
    expect(await statuses(101, '', as('key-of-globex'))).toEqual([...times(100, 200), 429])
  })

  test('counts keys that a client makes up against its address', async () => {
    const { statuses } = await serve(program)
    const all = []
    for (let i = 0; i < 101; i += 1) all.push(...(await statuses(1, '', as(`made-up-${i}`))))
    expect(all).toEqual([...times(100, 200), 429])
  })
})

/** Asks for an upgrade. Resolves to the connection and the first answer on it. */
async function upgradeAt(server: Server): Promise<{ socket: Socket; answer: string }> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  const [chunk] = await once(socket, 'data')
  return { socket, answer: String(chunk) }
}

const upgrading = pages
  .flatMap((page) => blocksOf(page, textOf(page)))
  .filter(({ code }) => code.includes("server.on('upgrade'"))

test.each(upgrading.map((block) => [`${block.page}:${block.line}`, block] as const))(
  '%s refuses an upgrade before the handshake, and frees the slot of a socket that is closed',
  async (_, program) => {
    const limited = program.code.replace(/limit: '[^']+'/, "limit: '1 concurrent'")
    // As `ws` does, it reads on, and ends its half of the connection with the client's.
    const handleUpgrade = (_req: unknown, socket: Socket): void => {
      socket.on('end', () => socket.end()).resume()
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n')
    }
    const given = {
      sockets: Object.assign(new EventEmitter(), { handleUpgrade }),
      ...(limited.includes('const app =') ? {} : { app: express() }),
    }
    const made = await runProgram({ ...program, code: `${limited}\nexport { server }` }, given)
    const server = (made.server as Server).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const first = await upgradeAt(server)
    const second = await upgradeAt(server)
    expect([first.answer, second.answer]).toEqual([
      expect.stringMatching(/^HTTP\/1.1 101 /),
      expect.stringMatching(/^HTTP\/1.1 429 [\s\S]*\r\nRetry-After: \d/i),
    ])
    first.socket.destroy()
    let third = second
    await eventually(async () => {
      third = await upgradeAt(server)
      return third.answer.startsWith('HTTP/1.1 101 ')
    }, 'the slot is free')
    third.socket.destroy()
    server.close()
    await once(server, 'close')
  },
)

test('every page on upgrades is tried', () => {
  expect(upgrading.map(({ page }) => page)).toEqual([
    'docs/guides/concurrency.md',
    'docs/guides/frameworks.md',
    'docs/guides/frameworks.md',
    'docs/guides/frameworks.md',
  ])
})

function sourcesIn(folder: string): string[] {
  const names = existsSync(join(root, folder)) ? readdirSync(join(root, folder)) : []
  return names.filter((name) => /^(?!main).*\.js$/.test(name)).map((name) => `${folder}/${name}`)
}

/** Every program that readers are told to copy, by where it stands. */
const recipes: readonly (readonly [where: string, code: string])[] = [
  ...pages
    .flatMap((page) => blocksOf(page, textOf(page)))
    .filter(({ code }) => !isTheirs(code))
    .map(({ page, line, code }) => [`${page}:${line}`, code] as const),
  ...readdirSync(join(root, 'examples'))
    .flatMap((name) => sourcesIn(`examples/${name}/src`))
    .map((file) => [file, textOf(file)] as const),
]
const recipesWith = (pattern: RegExp): string[] =>
  recipes.filter(([, code]) => pattern.test(code)).map(([where]) => where)

// A header that says who asks may only be the argument of a look-up.
const UNCHECKED =
  /\bbyHeader\(|(?<!(?:\.get|tenantOf)\((?:String\()?)(?<![\w.])\w+(?:\.req)?(?:\.get\(|\.header\(|\.headers\[)'x-(?:api-key|tenant|org|user|plan)'/
// Behind a proxy the address can be any text, and `subjectForIp` throws at what is not an address.
const UNCHECKED_ADDRESS = /\bsubjectForIp\(\w+\.ip\b/
const BY_PATH =
  /\b(?:cost|limit|group|stacked): (?:async )?\([^)]*\) =>[\s\S]{0,40}\b(?:path|url|originalUrl)\b/

test.each([
  ["identify: byHeader('x-api-key')", true],
  ["identify: (req) => req.get('x-api-key')", true],
  ["keyGenerator: (c) => c.req.header('x-api-key') ?? ''", true],
  ["identify: (request) => ({ id: request.headers['x-tenant'], plan: 'free' })", true],
  ["{ id: `org:${req.get('x-org')}`, plan: 'team' }", true],
  ["identify: (req) => tenants.get(req.get('x-api-key') ?? '')", false],
  ["const tenant = tenants.get(String(req.headers['x-api-key']))", false],
])('%s counts by a header that nobody checked: %s', (line, isUnchecked) => {
  expect(UNCHECKED.test(line)).toBe(isUnchecked)
})

test.each([
  ["cost: (req) => (req.path === '/report' ? 60 : 1)", true],
  ["cost: (ctx) => (ctx.path.startsWith('/export') ? 10 : 1)", true],
  ["limit: ({ url }) => (url === '/login' ? '5/min' : undefined)", true],
  ["skip: (req) => req.path === '/health'", false],
  ['limit.route({ cost: 10 })', false],
])('%s says by the path what a route costs: %s', (line, isByPath) => {
  expect(BY_PATH.test(line)).toBe(isByPath)
})

// In Express and Koa: below `app.use(limit)` a route is decided twice.
const BELOW = /\.use\(limit\)[\s\S]*limit\.route\(/

test('no program to copy has a route with options of its own below the limiter of the application', () => {
  const [route, use] = ["app.post('/export', limit.route({ cost: 10 }), handler)", 'app.use(limit)']
  expect([BELOW.test(`${use}\n${route}`), BELOW.test(`${route}\n${use}`)]).toEqual([true, false])
  expect(recipesWith(/limit\.route\(/).length).toBeGreaterThan(7)
  expect(recipesWith(BELOW)).toEqual([])
})

test('no program to copy counts by a header that nobody checked, or says by the path what a route costs', () => {
  expect(recipes.length).toBeGreaterThan(150)
  expect([...recipesWith(UNCHECKED), ...recipesWith(BY_PATH)]).toEqual([])
})

test('no program to copy fails at an address that a proxy forwarded from a client', () => {
  expect('subjectForIp(req.ip)').toMatch(UNCHECKED_ADDRESS)
  expect(recipesWith(UNCHECKED_ADDRESS)).toEqual([])
})
