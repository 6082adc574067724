import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { testRedisUrl } from '../src/index.ts'

const folder = resolve(__dirname, '../../../examples')
/** Tested elsewhere: `npm start -- --once` runs the demo, and two-instances, which needs Redis, has a test of its own. */
const TESTED_ELSEWHERE = ['demo', 'two-instances']
const names = readdirSync(folder).filter(
  (name) => !TESTED_ELSEWHERE.includes(name) && existsSync(join(folder, name, 'try.js')),
)

/** Makes a project as a reader would: the files of an example's program, and its packages. */
function copyExample(name: string): string {
  const project = mkdtempSync(join(tmpdir(), 'tollgate-copied-'))
  const source = join(folder, name, 'src')
  for (const file of readdirSync(source)) copyFileSync(join(source, file), join(project, file))
  const { dependencies } = JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8'))
  for (const dependency of Object.keys(dependencies)) {
    const path = join(project, 'node_modules', dependency)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(join(folder, name, 'node_modules', dependency), path, 'junction')
  }
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
  return project
}

const copied = readdirSync(folder).filter(
  (name) => name !== 'demo' && existsSync(join(folder, name, 'src/app.js')),
)

test('the index of examples lists every example', () => {
  const index = readFileSync(join(folder, 'README.md'), 'utf8')
  const linked = [...index.matchAll(/\]\(([\w-]+)\)/g)].map(([, name]) => name)
  // The kit is not an example: it runs them.
  const all = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(linked.toSorted()).toEqual(
    all
      .map(({ name }) => name)
      .filter((name) => name !== 'example-kit')
      .toSorted(),
  )
})

test('the README of every example says which files to copy', () => {
  expect(copied).toEqual(expect.arrayContaining([...names, 'two-instances']))
  for (const name of copied) {
    const text = readFileSync(join(folder, name, 'README.md'), 'utf8')
    const files = readdirSync(join(folder, name, 'src'))
    const [line = ''] = /^To copy: .*$/m.exec(text) ?? []
    expect([name, ...files.filter((file) => !line.includes(`\`src/${file}\``))]).toEqual([name])
  }
})

test.each(copied)(
  '%s can be copied: it runs with public packages only, and ends at SIGTERM',
  async (name) => {
    const project = copyExample(name)
    const env = {
      ...process.env,
      PORT: '0',
      REDIS_URL: testRedisUrl(),
    }
    const child = spawn(process.execPath, ['app.js'], {
      cwd: project,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    try {
      let stderr = ''
      child.stderr.on('data', (chunk) => (stderr += String(chunk)))
      // An example keeps the usual deadline, which a busy machine can miss.
      const complaints = (): string =>
        stderr.replaceAll(/.*\[TOLLGATE_STORE\].* did not answer within 100 ms.*\n(\(Use `node.*\n)?/g, '')
      const ended = once(child, 'close')
      const [said] = await Promise.race([once(child.stdout, 'data'), ended])
      const address = /^Listening on (http:\S+)/.exec(String(said))?.[1]
      expect([address, complaints()]).toEqual([expect.stringContaining('http://127.0.0.1:'), ''])
      // A server that only handles WebSockets answers no requests.
      if (name !== 'websocket-messages') expect((await fetch(String(address))).status).toBeLessThan(500)
      child.kill('SIGTERM')
      expect([await ended, complaints()]).toEqual([[0, null], ''])
    } finally {
      child.kill('SIGKILL')
      rmSync(project, { recursive: true })
    }
  },
)

test("two-instances let through what the plan says, and keep each other's rules", async () => {
  const env = { ...process.env, REDIS_URL: testRedisUrl(), EXAMPLE_OPTIONS: '{"deadlineMs":10000}' }
  const cwd = join(folder, 'two-instances')
  const { stdout } = await promisify(execFile)(process.execPath, ['try.js'], { cwd, env })
  expect(stdout).toMatch(/in turn: 100 passed,$/m)
  expect(stdout).toMatch(/^acme doubled .*: 200\/min at the second after \d+ ms\.$/m)
  expect(stdout).toMatch(/^globex blocked .*: 403 at the second after \d+ ms\.$/m)
})

test('there are examples to run', () => {
  expect(names).toEqual(
    expect.arrayContaining([
      'saas-express',
      'saas-fastify',
      'saas-koa',
      'plans-from-a-database',
      'graphql-cost',
    ]),
  )
})

describe.each(names)('the example %s', (name) => {
  test.each([
    ['memory', {}],
    ['Redis', { REDIS_URL: testRedisUrl() }],
  ])('sees what it should, in %s', async (_, redis) => {
    const { REDIS_URL: _own, ...env } = process.env
    const ran = await promisify(execFile)(process.execPath, [join(folder, name, 'try.js'), '--once'], {
      env: { ...env, ...redis },
      timeout: 30_000,
    }).catch((error: { stdout: string; stderr: string }) => error)
    const report = ran.stdout + ran.stderr
    expect(report).not.toContain('WRONG')
    expect(report).toMatch(/(^ok .*\n)+All as expected\.\n/m)
  })
})

test('programs to copy know nothing of what tries them', () => {
  const sources = copied.flatMap((name) =>
    readdirSync(join(folder, name, 'src')).map((file) => join(folder, name, 'src', file)),
  )
  expect(sources.length).toBeGreaterThan(15)
  const plumbing = /example-kit|try\.js|EXAMPLE_|REDIS_PREFIX|DEADLINE_MS|export const (?:limiter|server)\b/
  const others = sources.filter((file) => plumbing.test(readFileSync(file, 'utf8')))
  // Its three programs share a limiter.
  expect(others).toEqual([join(folder, 'streams/src/limits.js')])
})

test('npm run example builds nothing when nothing has changed', async () => {
  const program = resolve(folder, '../tools/example.mjs')
  const run = () => promisify(execFile)(process.execPath, [program, 'several-subjects', '--once'])
  await run()
  expect((await run()).stderr).toBe('')
})

describe('the text of the demo', () => {
  /** The text of `explain` for two bursts with this time between them. */
  const explain = async (ms: number): Promise<string> => {
    const tenant = { log: [], limited: 0 }
    const bursts = { before: 99, after: 42, later: 100, ms }
    const seen = {
      free: bursts,
      fixed: bursts,
      polite: { sent: 1, limited: 0 },
      pro: { burst: 107, limitedAtHalf: 0 },
    }
    const given = [{ free: tenant, starter: tenant, pro: tenant }, seen, 6000]
    const story = pathToFileURL(join(folder, 'demo/src/story.js')).href
    const program = `import { explain } from '${story}'
      console.log(explain(...${JSON.stringify(given)}).join('\\n'))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
    return stdout
  }

  test('add up', async () => {
    const words = await explain(500)
    expect(words).toContain('99 + 42 = 141 requests within 5 s of the demo')
    expect(words).toContain('in its fullest 6 real seconds')
    expect(words).toContain('the burst of 100, and 7 that came back')
    expect(words).toContain('100 + 6 x 50 = 400')
    expect(words).not.toContain('busy')
  })

  test('have a line for each moment that the traffic tells of', async () => {
    const traffic = readFileSync(join(folder, 'demo/src/traffic.js'), 'utf8')
    const told = [...traffic.matchAll(/tell\('(\w+)'\)/g)].map(([, name = '']) => name)
    const program = `import { moments } from '${pathToFileURL(join(folder, 'demo/src/story.js')).href}'
      console.log(JSON.stringify(moments))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
    const moments = JSON.parse(stdout) as Record<string, string>
    expect(Object.keys(moments)).toEqual(told)
    expect(told).toEqual(['asking', 'returning'])
    for (const line of Object.values(moments)) expect(line).toMatch(/^ {2}free {5}\w/)
  })

  test('say when the machine was too busy for its numbers', async () => {
    expect(await explain(2000)).toContain('This machine was busy')
  })
})
