// The programs of docs/start and docs/recipes do what their pages say: each runs in a process of its own, is sent the
// `curl` lines below it, and prints what its comments say.
import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { transformSync } from '@swc/core'
import { eventually, freePort, testRedisUrl } from '../src/index.ts'
import { kindOf, makeFolder } from './docs-programs.ts'
import { pages, textOf } from './docs-pages.ts'
import { isServer, showsAnswers, shownProgramsOf, type Shown, type ShownProgram } from './shown-answers.ts'

const programs = pages.filter(showsAnswers).flatMap((page) => shownProgramsOf(page, textOf(page)))
const named = (programs: readonly ShownProgram[]): [string, ShownProgram][] =>
  programs.map((one) => [`${one.page}:${one.line}`, one])
const isTest = (program: ShownProgram): boolean => kindOf(program) === 'node:test'

let folder: string
const children: ChildProcess[] = []
beforeAll(() => {
  folder = makeFolder('answers')
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
afterAll(() => rmSync(folder, { recursive: true }))

interface Running {
  readonly child: ChildProcess
  readonly printed: { stdout: string; stderr: string }
}

/** Where a program makes a limiter. One that is given a limiter makes none. */
const MAKES = /\b(?:createLimiter|rateLimit)\(\{(?![^}]*\blimiter\b)/g

/** Starts a program with counters of its own. Redis can be too late for the usual deadline on a busy machine. */
function start({ code }: ShownProgram, port = 0): Running {
  const jsc = { parser: { syntax: 'typescript' }, target: 'es2022' } as const
  const apart = code
    .replaceAll('redisStore(redis)', `redisStore(redis, { prefix: '${randomUUID()}' })`)
    .replaceAll(MAKES, code.includes('new Redis(process.env') ? '$& deadlineMs: 5000,' : '$&')
    .replace(/(listen\(\D*)3000/, `$1${port}`)
  const file = join(folder, `${randomUUID()}.mjs`)
  writeFileSync(file, transformSync(apart, { jsc, module: { type: 'es6' } }).code)
  const env = { ...process.env, REDIS_URL: testRedisUrl() }
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  children.push(child)
  const printed = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (printed.stdout += String(chunk)))
  child.stderr.on('data', (chunk) => (printed.stderr += String(chunk)))
  return { child, printed }
}

/** Waits until a port accepts connections. Sends no request, since it would be counted. */
async function listens(port: number, { child, printed }: Running): Promise<void> {
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`it ended: ${printed.stderr}`)
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.destroy()
  })
}

/** The answer as curl prints it, with the headers that are shown, and all of Tollgate's. */
async function wholeOf(response: Response, shown: string): Promise<string> {
  const names = [...shown.matchAll(/^([A-Z][\w-]+): /gm)].map(([, name = '']) => name)
  const isShown = (own: string): boolean => names.some((name) => name.toLowerCase() === own)
  const missing = [...response.headers.keys()].filter(
    (own) => /^(ratelimit|retry)/.test(own) && !isShown(own),
  )
  const headers = [...names, ...missing].map((name) => `${name}: ${response.headers.get(name)}`)
  return [`HTTP/1.1 ${response.status} ${response.statusText}`, ...headers, '', await response.text()].join(
    '\n',
  )
}

/** Removes the waits, of which a part may be over. */
const timeless = (answer: string): string =>
  answer.replaceAll(/(;t=|^RateLimit-Reset: |^Retry-After: |in )\d+(?: seconds?| minutes?)?/gm, '$1…')

/** The parts of an answer that the page shows. A wait may be over in part, since the program took time to come here. */
async function answerOf(response: Response, { header, body }: Shown): Promise<Shown> {
  const text = await response.text()
  const { status } = response
  if (body !== undefined) return { status, body: JSON.stringify(JSON.parse(text)) }
  if (!header) return { status }
  const [name, value] = header
  const got = response.headers.get(name) ?? ''
  const isPartOver = name === 'Retry-After' && Number(got) > Number(value) - 9 && Number(got) < Number(value)
  return { status, header: [name, isPartOver ? value : got] }
}

test.each(named(programs.filter(isServer)))('%s answers as the page shows', async (_, program) => {
  const port = await freePort()
  const running = start(program, port)
  await listens(port, running)
  expect(program.tries.length).toBeGreaterThan(0)
  let last: Response | undefined
  for (const { line, path, init, answers } of program.tries) {
    for (const shown of answers) {
      const headers = new Headers(init.headers)
      // A connection that is kept can be closed by the program while the machine is busy.
      headers.set('connection', 'close')
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        ...init,
        headers,
        redirect: 'manual',
      })
      last = response.clone()
      expect([line, await answerOf(response, shown)]).toEqual([line, shown])
    }
  }
  if (program.answer !== undefined && last)
    expect(timeless(await wholeOf(last, program.answer))).toBe(timeless(program.answer))
  const { printed } = running
  await eventually(() =>
    expect(printed.stdout.split('\n')).toEqual(expect.arrayContaining([...program.prints])),
  )
  expect(printed.stderr).toBe('')
})

const printing = programs.filter((program) => !isServer(program) && !isTest(program))

test.each(named(printing.filter((program) => kindOf(program) === 'program')))(
  '%s prints what it says',
  async (_, program) => {
    const { child, printed } = start(program)
    const [exit] = await once(child, 'close')
    expect([exit, printed.stderr]).toEqual([0, ''])
    expect(program.prints.length).toBeGreaterThan(0)
    expect(printed.stdout.trimEnd().split('\n')).toEqual(program.prints)
  },
)
