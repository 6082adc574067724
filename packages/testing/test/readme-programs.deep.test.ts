// The programs of the READMEs are run as a newcomer runs them: each in a process, asked over HTTP where it serves.
import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RateLimitOptions } from '@tollgate/core'
import { LIMITER_OPTIONS } from '../../core/src/limiter/options/limiter-options.js'
import { eventually, freePort, startMemcached, testRedisUrl, type MemcachedServer } from '../src/index.ts'
import { packageReadmes, root, textOf } from './docs-pages.ts'
import { freeOf, makeFolder, programsOf, type Program } from './docs-programs.ts'

const PAGES = ['README.md', ...packageReadmes]
/** Programs that leave something to the reader are run by docs-run.deep.test.ts. */
const programs = PAGES.flatMap((page) => programsOf(page, textOf(page))).filter(
  (program) => freeOf(program).size === 0,
)
const isServer = ({ code }: Program): boolean => code.includes('listen(')
/** Other programs that stay connected are run by docs-run.deep.test.ts. */
const endsByItself = (program: Program): boolean => !isServer(program) && !program.code.includes('new Redis(')
const named = (blocks: readonly Program[]): [string, Program][] =>
  blocks.map((block) => [`${block.page}:${block.line}`, block])

let folder: string
let started = 0
let memcached: MemcachedServer
const children: ChildProcess[] = []

beforeAll(async () => {
  folder = makeFolder('readme')
  memcached = await startMemcached()
})

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

afterAll(async () => {
  await memcached.kill()
  rmSync(folder, { recursive: true })
})

/** Starts a program with its own counters. */
function start(code: string): ChildProcess {
  const file = join(folder, `${(started += 1)}.mjs`)
  const prefix = `readme-${randomUUID()}`
  // A machine that stalls for longer than the usual deadline would have the process decide alone.
  const calm = code.includes('deadlineMs')
    ? code
    : code.replace('store: redisStore(redis)', '$&, deadlineMs: 30_000')
  writeFileSync(file, calm.replace('redisStore(redis)', `redisStore(redis, { prefix: '${prefix}' })`))
  const env = { ...process.env, REDIS_URL: testRedisUrl(), MEMCACHED: memcached.address }
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  return child
}

/** Resolves to the whole output of a program that ends by itself. */
async function outputOf(code: string): Promise<{ exit: unknown; stdout: string; stderr: string }> {
  const child = start(code)
  const printed = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk) => (printed.stdout += String(chunk)))
  child.stderr?.on('data', (chunk) => (printed.stderr += String(chunk)))
  const [exit] = await once(child, 'close')
  return { exit, ...printed }
}

type Ask = (path?: string, headers?: Record<string, string>) => Promise<Response>

/** Starts a server on a free port instead of its own. Resolves once it listens; checking that takes no units. */
async function serve({ code }: Program): Promise<Ask> {
  const port = await freePort()
  const child = start(code.replace(/(listen\(\D*)3000/, `$1${port}`))
  let stderr = ''
  child.stderr?.on('data', (chunk) => (stderr += String(chunk)))
  const ask: Ask = (path = '/', headers = {}) => fetch(`http://127.0.0.1:${port}${path}`, { headers })
  const preflight = { origin: 'http://x', 'access-control-request-method': 'GET' }
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`it ended: ${stderr}`)
    await fetch(`http://127.0.0.1:${port}/`, { method: 'OPTIONS', headers: preflight })
    return true
  })
  return ask
}

/** Every option of an adapter. The compiler reports an option that is missing here, or does not exist. */
const OPTIONS: Readonly<Record<keyof RateLimitOptions<unknown>, true>> = {
  ...{ plans: true, limit: true, defaultPlan: true, planOf: true, planCache: true, mode: true },
  ...{ identify: true, cost: true, group: true, stacked: true },
  ...{ skip: true, methods: true, allowList: true, blockList: true, refundWhen: true, shed: true },
  ...{
    headers: true,
    body: true,
    onDenied: true,
    namePlan: true,
    nameReason: true,
    blockedStatus: true,
    references: true,
    maxRetryAfterMs: true,
    retryJitterMs: true,
  },
  ...{ requestProperty: true, eventContext: true, store: true, name: true, limiter: true },
  ...{
    denials: true,
    onStoreFailure: true,
    deadlineMs: true,
    local: true,
    hashIds: true,
    traffic: true,
    warnings: true,
  },
}

test('there are programs of every kind', () => {
  expect(programs.filter(isServer).length).toBeGreaterThanOrEqual(10)
  expect(programs.filter(endsByItself).length).toBeGreaterThanOrEqual(2)
})

test.each(named(programs.filter(isServer)))('%s serves and limits', async (_, program) => {
  const ask = await serve(program)
  const { status, headers } = await ask()
  expect(status).toBeLessThan(500)
  expect(headers.get('ratelimit-policy')).toMatch(/^"minute";q=\d+;w=60$/)
  // The limit by address is 3 or 100 a minute, and one unit is used.
  const quota = Number(headers.get('ratelimit-limit'))
  for (let i = 1; i < quota; i += 1) expect((await ask()).status).not.toBe(429)
  // On a slow machine, units come back meanwhile. As many as the quota at once do not fit, however slow it is.
  await eventually(async () => {
    const all = await Promise.all(Array.from({ length: quota + 1 }, async () => ask()))
    return all.some(({ status: one }) => one === 429)
  })
})

test.each(named(programs.filter(endsByItself)))('%s ends without an error', async (_, { code }) => {
  const { exit, stderr, stdout } = await outputOf(code)
  expect([exit, stderr]).toEqual([0, ''])
  if (code.includes('console.log(allowed ?')) expect(stdout).toMatch(/^allowed\nallowed\ndenied: .* ms\n$/)
  if (code.includes('ConsoleMetricExporter')) expect(stdout).toContain("name: 'tollgate.decisions'")
})

describe('README.md', () => {
  const text = textOf('README.md')

  test('is 900 words at most', () => {
    expect(text.trim().split(/\s+/).length).toBeLessThanOrEqual(900)
  })

  test('tells of the end of a window what was measured', () => {
    const [, row = ''] = /^\| A limit of 100, around a window's end \|(.*)\|$/m.exec(text) ?? []
    const told = row.split('|').map((cell) => Number(/\d+/.exec(cell)?.[0]))
    const { sections } = JSON.parse(readFileSync(join(root, 'docs/compare/benchmarks/results.json'), 'utf8'))
    const measured = ['Tollgate: sliding log', 'express-rate-limit', 'rate-limiter-flexible'].map((name) =>
      Math.max(...sections.accuracy.grids.accuracy[name].seam),
    )
    expect(told).toEqual(measured)
  })

  test.each(PAGES)('%s shows code within its first 15 lines', (page) => {
    const code = page.includes('/cli/') ? /^```sh$/m : /^```js$/m
    expect(textOf(page).split('\n').slice(0, 15).join('\n')).toMatch(code)
  })

  test('has seven options in its table, and the page on options has all, those of the limiter first', () => {
    expect(optionsIn(text.split('## Options')[1]?.split('\n## ')[0] ?? '')).toHaveLength(8)
    const page = textOf('docs/reference/options.md')
    expect(optionsIn(page).toSorted()).toEqual(Object.keys(OPTIONS).toSorted())
    expect(Object.keys(OPTIONS)).toEqual(expect.arrayContaining(optionsIn(text)))
    const [ofLimiter = ''] = page.split('To share one limiter')
    expect(optionsIn(ofLimiter).toSorted()).toEqual(LIMITER_OPTIONS.toSorted())
  })

  test('shows the real answers of its program', async () => {
    const program = programs.find(({ code }) => code.includes('redisStore(redis)')) as Program
    const ask = await serve(program)
    const shown = exchangesIn(text)
    expect(shown.map(({ key }) => key)).toEqual(['key-of-globex', 'key-of-acme'])
    for (const { key, answer } of shown) {
      // The fourth request is denied.
      for (let i = 0; answer.includes('429') && i < 3; i += 1) await ask('/', { 'x-api-key': key })
      const response = await ask('/', { 'x-api-key': key })
      expect(timeless(await told(response, answer))).toBe(timeless(answer))
    }
  })
})

/** The options in the first cells of a page's tables. Two of a row say the same in two ways. */
function optionsIn(page: string): (string | undefined)[] {
  const cells = [...page.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell)
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)/g)].map(([, name]) => name))
}

/** The curl lines of a page, and the answers it shows. */
function exchangesIn(text: string): { key: string; answer: string }[] {
  const [, block = ''] = /^```\n(\$ curl[\s\S]*?)\n```$/m.exec(text) ?? []
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((exchange) => ({
      key: /x-api-key: ([\w-]+)/.exec(exchange)?.[1] ?? '',
      answer: exchange.slice(exchange.indexOf('\n') + 1).trim(),
    }))
}

/** An answer as curl prints it, with Tollgate's headers and those that the page shows. */
async function told(response: Response, shown: string): Promise<string> {
  const names = [...shown.matchAll(/^([A-Z][\w-]+): /gm)].map(([, name = '']) => name)
  const own = [...response.headers.keys()].filter((name) => /^(ratelimit|retry)/.test(name))
  const missing = own.filter((name) => !names.some((one) => one.toLowerCase() === name))
  const headers = [...names, ...missing].map((name) => `${name}: ${response.headers.get(name)}`)
  const status = `HTTP/1.1 ${response.status} ${response.statusText}`
  return [status, ...headers, '', await response.text()].join('\n')
}

/** Removes the parts of an answer that change with time. */
function timeless(answer: string): string {
  return answer
    .replaceAll(/;t=\d+/g, ';t=…')
    .replaceAll(/^(RateLimit-Reset|Retry-After): \d+/gm, '$1: …')
    .replaceAll(/in \d+ (?:seconds?|minutes?)/g, 'in …')
}
