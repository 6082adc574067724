// What `npm run build` makes: one file for each face, and one for what they share.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import {
  consumeRunScripts,
  consumeScript,
  refundScript,
} from '../../core/src/stores/redis/scripts/scripts.generated.js'
import { root } from './docs-pages.ts'
import { PUBLISHED } from './published.ts'

const FORMATS = ['esm', 'cjs'] as const
const MOST_BYTES = 637_000
/** For the kit for tests, which no application loads. */
const MOST_BYTES_KIT = 12_000
/** For browsers, before an application's bundler makes it smaller. */
const MOST_BYTES_BROWSER = 373_000

/** What a page might do: an odd id with a secret, a limit of requests in flight, a wait in line, a mistake, a warning. */
const USE = `
  const { createLimiter, memoryStore, toHttpResponse } = tollgate
  let nowMs = 0
  const limiter = createLimiter({ limit: '2/min', hashIds: 'a secret of a page', store: memoryStore({ now: () => nowMs }) })
  const decisions = []
  for (nowMs of [0, 0, 0, 59999, 60000]) decisions.push(limiter.consume('x'.repeat(99) + '\\ud83c'))
  const { status, headers } = toHttpResponse(decisions[2])
  let code
  try { createLimiter({ limit: 'five' }) } catch (error) { code = error.code }
  const line = createLimiter({ plans: { free: { limits: '10/s burst 2', wait: { maxDelay: '200ms' } } } })
  const waited = await Promise.all([1, 2, 3].map(() => line.consume('acme')))
  const sources = waited.map(({ source }) => source)
  const inFlight = createLimiter({ plans: { free: '1 concurrent', staff: 'unlimited' }, defaultPlan: 'free' })
  const given = [(await inFlight.consume('acme')).release(), (await inFlight.consume('acme')).allowed]
  let warned = 0
  console.warn = () => (warned += 1)
  inFlight.consume({ id: 'acme', plan: 'gold' })
  for (const one of [limiter, line, inFlight]) await one.close()
  const allowed = decisions.map((decision) => decision.allowed)
  print(JSON.stringify({ allowed, status, retry: headers['Retry-After'], code, sources, given, warned }))`

const folderOf = (name: string, format: string): string => join(root, 'packages', name, 'dist', format)
const core = (format: string, face: string): string => join(folderOf('core', format), `${face}.js`)

const filesOf = (name: string, format: string, extension: string): string[] =>
  readdirSync(folderOf(name, format))
    .filter((file) => file.endsWith(extension))
    .map((file) => join(folderOf(name, format), file))

/** Runs a program with faces of core of one format, and returns what it prints as JSON. */
function printed(format: string, program: string, ...flags: string[]): unknown {
  const faces = ['index', 'adapter', 'store', 'testing'].map((face) => [
    face,
    JSON.stringify(core(format, face)),
  ])
  const uses = faces.map(([face, file]) =>
    format === 'esm' ? `import * as ${face} from ${file}\n` : `const ${face} = require(${file})\n`,
  )
  const type = format === 'esm' ? 'module' : 'commonjs'
  const output = execFileSync(
    process.execPath,
    [...flags, `--input-type=${type}`, '-e', `${uses.join('')}${program}`],
    { encoding: 'utf8' },
  )
  return JSON.parse(output)
}

describe.each(FORMATS)('metrics in %s', (format) => {
  test.each([
    ['index', '@opentelemetry/api', 'prom-client'],
    ['prom-client', 'prom-client', '@opentelemetry/api'],
  ])('%s loads %s, and not %s', (face, own, other) => {
    const files = [face, 'shared'].map((name) => join(folderOf('metrics', format), `${name}.js`))
    const code = files.map((file) => readFileSync(file, 'utf8')).join('\n')
    const loaded = [...code.matchAll(/(?:\bfrom|\brequire\(|\bimport\(?)\s*["'`]([^"'`]+)/g)].map(
      ([, name]) => name,
    )
    expect(loaded).toContain(own)
    expect(loaded).not.toContain(other)
    expect(loaded).toContain('./shared.js')
  })
})

describe.each(FORMATS)('core in %s', (format) => {
  const files = filesOf('core', format, '.js').filter((file) => !file.endsWith('browser.js'))
  const code = files.map((file) => readFileSync(file, 'utf8')).join('\n')

  test('is a file for each face and one that they share, of at most 637 kB, and 12 kB for tests', () => {
    expect(files.map((file) => file.split(/[/\\]/).at(-1)).sort()).toEqual([
      ...['adapter.js', 'index.js', 'shared.js', 'store.js', 'testing.js'],
    ])
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
    const { size: ofKit } = statSync(core(format, 'testing'))
    expect(bytes - ofKit).toBeLessThanOrEqual(MOST_BYTES)
    expect(ofKit).toBeLessThanOrEqual(MOST_BYTES_KIT)
  })

  test('has the kit for tests in its face alone, without a test runner', () => {
    const withKit = files.filter((file) => readFileSync(file, 'utf8').includes('failingStore'))
    expect(withKit).toEqual([core(format, 'testing')])
    const kit = readFileSync(core(format, 'testing'), 'utf8')
    const loaded = [...kit.matchAll(/(?:\bfrom|\brequire\()\s*["'`]([^"'`]+)/g)].map(([, module]) => module)
    expect(loaded.toSorted()).toEqual(['./shared.js', 'node:assert'])
  })

  test('has each piece of a script once', () => {
    const texts = [consumeScript, refundScript, ...Object.values(consumeRunScripts)].map(({ text }) => text)
    const lines = new Set(texts.join('').split('\n'))
    const long = [...lines].filter((line) => line.length >= 40 && !/[`\\$]/.test(line))
    const often = long.filter((line) => code.split(line).length !== 2)
    expect(long.length).toBeGreaterThan(500)
    // Some algorithms have lines in common.
    expect(often.length / long.length).toBeLessThan(0.05)
  })

  test('has its classes, functions and state once for all faces', () => {
    const program = `
      const twice = (one, other) => Object.keys(one).filter((key) => key in other && one[key] !== other[key])
      const limiter = index.createLimiter({ limit: '1/min' })
      const tested = testing.createTestLimiter({ limit: '1/min' })
      let error
      try { store.createLimitSet('no limit') } catch (thrown) { error = thrown }
      console.log(JSON.stringify({
        twice: [...twice(index, store), ...twice(index, adapter), ...twice(adapter, store)],
        isError: error instanceof index.ConfigError && error instanceof index.TollgateError,
        isKnown: adapter.internalsOf(limiter).onTop !== undefined && adapter.internalsOf(tested).onTop !== undefined,
        isSpace: store.spaceOf(store.memoryStore()) !== undefined,
      }))`
    expect(printed(format, program)).toEqual({ twice: [], isError: true, isKnown: true, isSpace: true })
  })

  test('has its classes and functions under their names', () => {
    const program = `
      const named = (face) => Object.entries(face).filter(([, value]) => typeof value === 'function')
      const others = [index, adapter, store, testing].flatMap(named).filter(([key, { name }]) => key !== name)
      console.log(JSON.stringify({ others, error: new index.StoreError('down').name }))`
    expect(printed(format, program)).toEqual({ others: [], error: 'StoreError' })
  })

  test('has source maps that lead to each call in the sources', () => {
    const program = `
      const failing = { synchronous: true, consume() { throw new Error('down') }, peek() {}, refund() {}, reset() {} }
      const limiter = index.createLimiter({ limit: '1/min', store: failing, warnings: false })
      limiter.on('storeError', (error) => console.log(JSON.stringify(error.cause.stack)))
      limiter.consume('acme')`
    const stack = String(printed(format, program, '--enable-source-maps'))
    const frames = [...stack.matchAll(/at (\S+) \((?!node:)(.+):(\d+):(\d+)\)/g)]
    expect(frames.length).toBeGreaterThanOrEqual(6)
    // Each position is that of the call of the frame before.
    const calls = frames.slice(1).map(([, , file = '', line, column]) => {
      const text = readFileSync(file, 'utf8').split('\n')[Number(line) - 1] ?? ''
      return /^#?\w+/.exec(text.slice(Number(column) - 1))?.[0]
    })
    expect(calls).toEqual(frames.slice(0, -1).map(([, name]) => name?.split('.').at(-1)))
    expect(calls).toContain('consume')
    expect(frames.slice(1).every(([, , file]) => file?.startsWith(join(root, 'packages/core/src')))).toBe(
      true,
    )
  })
})

describe('core for browsers', () => {
  const file = core('esm', 'browser')
  const code = readFileSync(file, 'utf8')

  test('is one file of at most 373 kB, of ESM alone', () => {
    expect(statSync(file).size).toBeLessThanOrEqual(MOST_BYTES_BROWSER)
    expect(filesOf('core', 'cjs', '.js').filter((one) => one.endsWith('browser.js'))).toEqual([])
  })

  test('imports nothing, and uses nothing that only Node has', () => {
    expect(code).not.toMatch(/\bimport\b\s*[({*"'\w]|\brequire\s*\(|node:/)
    // Without the globals of Node it decides as with them: everything but what browsers have is taken away.
    const program = `
      const { createContext, SourceTextModule } = await import('node:vm')
      const { readFileSync } = await import('node:fs')
      const shared = { performance, crypto, URL, TextEncoder, MessageChannel, setTimeout, clearTimeout, btoa, console }
      const page = createContext({ ...shared, AbortController, AbortSignal, print: (text) => console.log(text) })
      const made = new SourceTextModule(readFileSync(${JSON.stringify(file)}, 'utf8'), { context: page })
      await made.link(() => { throw new Error('it imports') })
      await made.evaluate()
      page.tollgate = made.namespace
      const use = new SourceTextModule(${JSON.stringify(USE)}, { context: page })
      await use.link(() => {})
      await use.evaluate()`
    const flags = ['--experimental-vm-modules', '--no-warnings', '--input-type=module', '-e', program]
    const output = execFileSync(process.execPath, flags, { encoding: 'utf8' })
    expect(JSON.parse(output)).toEqual({
      ...{ allowed: [true, true, false, false, true], status: 429, retry: '60', code: 'ERR_TOLLGATE_CONFIG' },
      ...{ sources: ['store', 'store', 'place'], given: [true, true], warned: 1 },
    })
  })
})

test.each(PUBLISHED)('%s: all sources of its source maps are published', (name) => {
  const { files } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8'))
  expect(files).toContain('src/**/*.ts')
  for (const format of FORMATS) {
    const maps = filesOf(name, format, '.js.map').map((file) => JSON.parse(readFileSync(file, 'utf8')))
    const named = maps.flatMap(({ sources }) => sources as string[])
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((source) => !statSync(join(folderOf(name, format), source)).isFile())).toEqual([])
    expect(named.filter((source) => !/^\.\.\/\.\.\/src\/.*\.ts$/.test(source))).toEqual([])
  }
})
