// The programs of docs/guides/other-hosts.md, run as a reader would, and asked over HTTP until they deny.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { transformSync } from '@swc/core'
import { eventually } from '../src/eventually.ts'
import { blocksOf, textOf, type Block } from './docs-pages.ts'

const page = 'docs/guides/other-hosts.md'
const blocks = blocksOf(page, textOf(page))

/** The code that the page leaves to the reader, by the package that the program imports. */
const FREE: Readonly<Record<string, string>> = {
  '@nestjs/core': `
    import 'reflect-metadata'
    import { Controller, Get, Module } from '@nestjs/common'
    class HelloController { hello() { return 'hello' } }
    Get()(HelloController.prototype, 'hello', Object.getOwnPropertyDescriptor(HelloController.prototype, 'hello'))
    Controller()(HelloController)
    class AppModule {}
    Module({ controllers: [HelloController] })(AppModule)
  `,
}

let folder: string
let child: ChildProcess | undefined
beforeAll(() => {
  // The folder in which the programs' imports are resolved.
  const parent = resolve(__dirname, '../dist')
  mkdirSync(parent, { recursive: true })
  folder = mkdtempSync(join(parent, 'hosts-'))
})
afterEach(async () => {
  if (child && child.exitCode === null) {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  child = undefined
})
afterAll(() => rmSync(folder, { recursive: true }))

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Waits until a port accepts connections. Sends no request, since it would be counted. */
async function isListening(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.destroy()
}

/** Replaces a text that occurs exactly once in a program. */
function replaceOnce(code: string, from: string, to: string): string {
  expect(code.split(from)).toHaveLength(2)
  return code.replace(from, to)
}

/** Where a program tells its host to trust proxies, if it is to. */
const TRUSTING: Readonly<Record<string, readonly [from: string, to: string]>> = {
  '@nestjs/core': ['create(AppModule)', "create(AppModule)\napp.set('trust proxy', true)"],
}

/** Runs a program with a small limit on a free port, behind a proxy whose word it takes. Resolves to its URL. */
async function start({ code, line }: Block, limit = '2/min'): Promise<string> {
  const port = await freePort()
  const free = Object.entries(FREE).find(([name]) => code.includes(`'${name}'`))?.[1] ?? ''
  const [from, to] = Object.entries(TRUSTING).find(([name]) => code.includes(`'${name}'`))?.[1] ?? ['', '']
  const trusting = from === '' ? code : replaceOnce(code, from, to)
  const program = replaceOnce(replaceOnce(trusting, '3000', String(port)), "'100/min'", `'${limit}'`)
  const jsc = { parser: { syntax: 'typescript' }, target: 'es2022' } as const
  const file = join(folder, `line-${line}.mjs`)
  writeFileSync(file, transformSync(free + program, { jsc, module: { type: 'es6' } }).code)
  const started = spawn(process.execPath, [file], { stdio: ['ignore', 'ignore', 'pipe'] })
  child = started
  let errors = ''
  started.stderr.on('data', (chunk: Buffer) => (errors += String(chunk)))
  let isOver = false
  started.once('exit', () => (isOver = true))
  await eventually(async () => isOver || (await isListening(port), true), `line ${line} of ${page} listens`)
  expect([isOver, errors]).toEqual([false, ''])
  return `http://127.0.0.1:${port}/`
}

test('the page shows a bare server, Hono and NestJS', () => {
  const hosts = ['node:http', 'hono', '@nestjs/core']
  expect(hosts.map((name) => blocks.some(({ code }) => code.includes(`from '${name}'`)))).toEqual([
    true,
    true,
    true,
  ])
})

test.each(blocks.map((block): [number, Block] => [block.line, block]))(
  'the program on line %d limits, and answers as adapters do',
  async (_, block) => {
    const url = await start(block)
    const first = await fetch(url)
    expect([first.status, await first.text()]).toEqual([200, 'hello'])
    expect(first.headers.get('ratelimit')).toBe('"minute";r=1;t=60')
    expect(first.headers.get('retry-after')).toBeNull()
    expect((await fetch(url)).status).toBe(200)
    const denied = await fetch(url)
    expect(denied.status).toBe(429)
    expect(denied.headers.get('ratelimit')).toMatch(/^"minute";r=0;t=[1-6]?\d$/)
    expect(denied.headers.get('retry-after')).toMatch(/^[1-6]?\d$/)
    expect(denied.headers.get('cache-control')).toBe('no-store')
    // Nest sends any thrown value as plain JSON.
    const type = block.code.includes('HttpException')
      ? 'application/json; charset=utf-8'
      : 'application/problem+json'
    expect(denied.headers.get('content-type')).toBe(type)
    expect(await denied.json()).toMatchObject({
      status: 429,
      code: 'rate_limit_exceeded',
      detail: expect.stringMatching(/^Only 2 requests a minute are allowed; try again in /),
    })
  },
)

test.each(blocks.map((block): [number, Block] => [block.line, block]))(
  'the program on line %d frees the slot of a request that is over, and of one whose client has left',
  async (_, block) => {
    const url = await start(block, '1 concurrent')
    for (let i = 0; i < 3; i += 1)
      await eventually(async () => expect((await fetch(url)).status).toBe(200), 'the slot is free')
    for (let i = 0; i < 20; i += 1) {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      await once(socket, 'connect')
      // It leaves at once, or a little later.
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      if (i % 2 > 0) await once(socket, 'data')
      socket.destroy()
    }
    await eventually(async () => expect((await fetch(url)).status).toBe(200), 'the slots are free')
  },
)

test.each(blocks.map((block): [number, Block] => [block.line, block]))(
  'the program on line %d answers whoever forwards garbage for an address, and counts it',
  async (_, block) => {
    const url = await start(block)
    const ask = async (address: string): Promise<number> =>
      (await fetch(url, { headers: { 'x-forwarded-for': address } })).status
    expect([await ask('garbage'), await ask('garbage'), await ask('garbage')]).toEqual([200, 200, 429])
    // A host that reads the header counts each text apart, as it would each address.
    for (const address of ['<script>', '999.1.1.1', 'a'.repeat(500), '::1%', '[', ','])
      expect([200, 429]).toContain(await ask(address))
  },
)
