// Runs every program of README, docs and the packages' READMEs. Most run one after another in one process, and their
// results are used as a reader would. Programs that are tests run in their test runner. Programs that stop at a signal
// run in docs-stop.deep.test.ts, those of docs/start and docs/recipes in shown-answers.deep.test.ts. Programs that do not
// run are listed here.
import { execFile, type ExecFileException } from 'node:child_process'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { transformSync } from '@swc/core'
import { startMemcached, testRedisUrl, type MemcachedServer } from '../src/index.ts'
import { freeOf, kindOf, makeFolder, programsOf, type Kind, type Program } from './docs-programs.ts'
import { pages, textOf } from './docs-pages.ts'
import { showsAnswers } from './shown-answers.ts'

/** How many programs of a page do not run, and why. To add such a program, change this table. */
const NOT_RUN: Readonly<Record<string, readonly [count: number, why: string]>> = {
  'docs/migrate-from/express-rate-limit.md': [
    7,
    "the other package's: migrate-express.deep.test.ts runs them",
  ],
  'docs/migrate-from/fastify-rate-limit.md': [
    8,
    "the other package's: migrate-fastify.deep.test.ts runs them",
  ],
  'docs/migrate-from/koa-ratelimit.md': [4, "the other package's: migrate-koa.deep.test.ts runs them"],
  'docs/migrate-from/rate-limiter-flexible.md': [
    8,
    "the other package's: migrate-flexible.deep.test.ts runs them",
  ],
}

/** The languages of code blocks that are not programs. */
const NO_PROGRAM = ['', 'mermaid', 'sh', 'yaml', 'json', 'lua', 'sql']

const programs = pages.flatMap((page) => programsOf(page, textOf(page)))
const isOf = (kind: Kind) => (program: Program) => kindOf(program) === kind
const isRunHere = (program: Program): boolean => isOf('program')(program) && !showsAnswers(program.page)

/** The variables of a program that the runner uses. */
const MADE = ['app', 'middleware', 'limiter', 'store', 'server']
const MADE_LINE = `export const made = { ${MADE.map((name) => `${name}: typeof ${name} === 'undefined' ? undefined : ${name}`).join(', ')} }`

/** Compiles a program to a JavaScript module. */
function moduleOf(program: Program): string {
  const jsc = { target: 'es2022', parser: { syntax: 'typescript' } } as const
  // All programs run in one process, and Memcached is known by its address: each needs a prefix of its own.
  const apart = program.code.replaceAll(
    "process.env.MEMCACHED ?? '127.0.0.1:11211'",
    `$&, { prefix: '${program.file.replaceAll(/\W+/g, '-').slice(-60)}' }`,
  )
  const { code } = transformSync(apart, { jsc, module: { type: 'es6' } })
  const names = kindOf(program) === 'program' ? [...freeOf(program).keys()] : []
  const given = `import { free } from '../docs-free.mjs'; const { ${names.join(', ')} } = await free('${program.framework}', ${JSON.stringify(names)})\n`
  return `${names.length > 0 ? given : ''}${code}\n${kindOf(program) === 'program' ? MADE_LINE : ''}\n`
}

/** The requests that a reader would send to the app: the start page, and each route in the program. */
function routesOf({ code }: Program): string[][] {
  const named = [...code.matchAll(/\bapp\.(get|post)\(\s*'([^']+)'/g)]
  return [['GET', '/'], ...named.map(([, method = '', path = '']) => [method.toUpperCase(), path])]
}

const reachesStore = ({ code }: Program): boolean => /process\.env\.(REDIS_URL|MEMCACHED)/.test(code)

interface Ran {
  readonly file: string
  readonly error?: string
  readonly source?: string
  readonly statuses?: readonly number[]
  readonly upgrade?: number
}

let folder: string
let memcached: MemcachedServer
beforeAll(async () => {
  memcached = await startMemcached()
  folder = makeFolder('docs-run')
  for (const name of ['docs-free.mjs', 'docs-runner.mjs'])
    copyFileSync(join(__dirname, name), join(folder, name))
  for (const program of programs.filter((one) => !isOf('theirs')(one))) {
    mkdirSync(dirname(join(folder, program.file)), { recursive: true })
    writeFileSync(join(folder, fileOf(program)), moduleOf(program))
  }
  const told = programs.filter(isRunHere).map((program) => {
    return { file: program.file, routes: routesOf(program), reachesStore: reachesStore(program) }
  })
  writeFileSync(join(folder, 'programs.json'), JSON.stringify(told))
})
afterAll(async () => {
  await memcached.kill()
  rmSync(folder, { recursive: true })
})

const fileOf = (program: Program): string => `${program.file}${kindOf(program) === 'jest' ? '.test' : ''}.js`

/** Runs Node in the folder. Resolves to its output and exit code. */
function node(args: readonly string[]): Promise<{ output: string; stdout: string; code: unknown }> {
  const env = { ...process.env, REDIS_URL: testRedisUrl(), MEMCACHED: memcached.address, NODE_OPTIONS: '' }
  return new Promise((done) => {
    const options = { cwd: folder, env, timeout: 50_000, maxBuffer: 2 ** 24 }
    execFile(process.execPath, args, options, (error: ExecFileException | null, stdout, stderr) =>
      done({ output: stdout + stderr, stdout, code: error ? (error.code ?? error.signal) : 0 }),
    )
  })
}

test('every program runs, unless it is listed as not run', () => {
  const counts = pages.map((page) => {
    const ofPage = programs.filter((program) => program.page === page)
    return [page, ofPage.filter(isOf('theirs')).length] as const
  })
  expect(Object.fromEntries(counts.filter(([, count]) => count > 0))).toEqual(
    Object.fromEntries(Object.entries(NOT_RUN).map(([page, [count]]) => [page, count])),
  )
})

test('code blocks of programs are marked as js or ts and are not indented, or they would not be found', () => {
  // Of the pages made from docstrings, code blocks are declarations.
  const written = pages.filter((page) => !page.startsWith('docs/reference/api/'))
  const others = written.flatMap((page) =>
    [...textOf(page).matchAll(/^([ >]*)```([^`\n]*)$/gm)]
      .filter(
        ([, indent, mark = '']) => !NO_PROGRAM.includes(mark) && (indent !== '' || !/^(js|ts)$/.test(mark)),
      )
      .map(([fence]) => `${page}: ${fence}`),
  )
  expect(others).toEqual([])
})

describe('programs', () => {
  let ran: Map<string, Ran>
  let output: string
  beforeAll(async () => {
    const run = await node(['docs-runner.mjs', folder])
    output = run.output
    const lines = run.stdout.split('\n').filter((line) => line.startsWith('{"file"'))
    ran = new Map(lines.map((line) => JSON.parse(line) as Ran).map((one) => [one.file, one]))
  })

  test.each(programs.filter(isRunHere).map((one) => [`${one.page}:${one.line}`, one] as const))(
    '%s runs',
    (_, program) => {
      const one = ran.get(program.file)
      if (!one) throw new Error(`it did not come to its end:\n${output}`)
      expect(one.error).toBeUndefined()
      for (const status of one.statuses ?? []) expect(status).toBeLessThan(500)
      if (one.source !== undefined && reachesStore(program)) expect(one.source).toBe('store')
      if (program.code.includes("'upgrade'")) expect(one.upgrade).toBe(101)
    },
  )
})

/** The failed tests in a TAP report, with their locations and errors. */
const faultsIn = (tap: string): string[] => tap.match(/^ *(not ok .*|location: .*|error: .*)$/gm) ?? []

test('tests for node:test pass', async () => {
  const files = programs.filter(isOf('node:test')).map(fileOf)
  const options = ['--test', '--test-concurrency=2', '--test-reporter=tap']
  const { output, code } = await node([...options, ...files])
  const passed = Number(/^# pass (\d+)$/m.exec(output)?.[1])
  expect([code, code === 0 ? [] : faultsIn(output)]).toEqual([0, []])
  expect(passed).toBeGreaterThanOrEqual(files.length)
})

test('tests for Jest pass', async () => {
  const config = join(folder, 'jest.config.json')
  const transform = { '\\.js$': [require.resolve('@swc/jest'), { module: { type: 'commonjs' } }] }
  writeFileSync(config, JSON.stringify({ transform, testMatch: ['**/*.test.js'] }))
  const script = join(dirname(require.resolve('jest/package.json')), 'bin/jest.js')
  const { output, code } = await node([script, '--config', config, '--rootDir', folder, '--runInBand'])
  const count = programs.filter(isOf('jest')).length
  expect([code, output]).toEqual([0, expect.stringContaining(`Test Suites: ${count} passed`)])
})
