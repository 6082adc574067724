// The programs of docs that stop at a signal. Each answers its pending requests and ends by itself, even
// while Redis hangs.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { eventually, freePort, startRedis } from '../src/redis/index.ts'
import { kindOf, makeFolder, programsOf, type Program } from './docs-programs.ts'
import { pages, textOf } from './docs-pages.ts'

const programs = pages
  .flatMap((page) => programsOf(page, textOf(page)))
  .filter((program) => kindOf(program) === 'until a signal')

test('there is one program for each framework, and a recipe', () => {
  expect(programs.map(({ framework }) => framework)).toEqual(['express', 'fastify', 'koa', 'express'])
})

let folder: string
beforeAll(() => {
  folder = makeFolder('docs-stop')
  for (const { file, code } of programs) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, `${file}.js`), code)
  }
})
afterAll(() => rmSync(folder, { recursive: true }))

async function listens(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.destroy()
}

/** Waits until Redis has decided a request. */
async function decided(redis: Redis): Promise<void> {
  await eventually(async () => expect(await redis.keys('tollgate/*127*')).not.toEqual([]))
}

/**
 * Stops a program during a request. Resolves to its answer and to how it ended; undefined if the machine was so busy that
 * the answer came before the signal.
 */
async function stopInRequest({ file }: Program, isHanging: boolean): Promise<unknown[] | undefined> {
  const [redis, port] = [await startRedis(), await freePort()]
  const env = { ...process.env, REDIS_URL: redis.url, PORT: String(port) }
  const child = spawn(process.execPath, [join(folder, `${file}.js`)], { env, stdio: 'inherit' })
  const ended = once(child, 'exit')
  const client = new Redis(redis.url)
  try {
    await eventually(() => listens(port))
    await client.ping()
    let isAnswered = false
    const answer = fetch(`http://127.0.0.1:${port}/report`).finally(() => (isAnswered = true))
    await decided(client)
    if (isHanging) redis.pause()
    child.kill('SIGTERM')
    if (isAnswered) return undefined
    const text = await (await answer).text()
    const late = sleep(20_000, ['it did not end'], { ref: false })
    return [text, (await Promise.race([ended, late]))[0]]
  } finally {
    client.disconnect()
    child.kill('SIGKILL')
    redis.resume()
    await redis.kill()
  }
}

async function stopped(program: Program, isHanging: boolean): Promise<unknown[]> {
  for (let tries = 0; tries < 5; tries += 1) {
    const seen = await stopInRequest(program, isHanging)
    if (seen) return seen
  }
  return ['five answers came before the signal']
}

test.each([
  ['there', false],
  ['hanging', true],
] as const)('each answers what is under way and ends, with a Redis that is %s', async (_, isHanging) => {
  const seen = await Promise.all(programs.map((program) => stopped(program, isHanging)))
  expect(seen).toEqual(programs.map(() => ['a slow report', 0]))
})
