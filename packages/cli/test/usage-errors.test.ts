// Whatever is typed, an operator gets a sentence, and the terminal nothing that it would obey.
import { PassThrough } from 'node:stream'
import { run } from '@tollgate/cli'
import { Application } from './application.ts'
import { tollgate } from './command-line.ts'

const app = new Application()

describe('hostile ids', () => {
  const HOSTILE = [
    '\u001b[2J\u001b]0;title\u0007',
    'a\nb',
    'x\u202egnp.exe',
    '<script>alert(1)</script>',
    'x'.repeat(100_000),
  ]

  test.each(HOSTILE.map((id) => [JSON.stringify(id).slice(0, 40), id]))(
    '%s never reaches the terminal as it is',
    async (_, id) => {
      const before = await app.runElsewhere('block', id, '--for', '1h')
      const between = await Promise.all([
        app.runElsewhere('rules'),
        app.run('show', id),
        app.runElsewhere('rules', '--json'),
        app.runElsewhere(id),
        app.runElsewhere('block', 'acme', `--${id}`),
      ])
      const runs = [before, ...between, await app.runElsewhere('unblock', id)]
      expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0, 2, 2, 0])
      for (const { stdout, stderr } of runs) {
        expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e]/u)
        expect(Math.max(...(stdout + stderr).split('\n').map((line) => line.length))).toBeLessThan(
          id.length > 99 ? 101_000 : 600,
        )
      }
    },
  )
})

test('errors fit the terminal', async () => {
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 50 })
  const host = { stdin: new PassThrough(), stdout: new PassThrough(), onInterrupt: () => () => {} }
  const env = { REDIS_URL: 'redis://no-such-host.invalid:6379' }
  const code = await run(['rules'], { ...host, stderr, env, cwd: app.elsewhere.cwd })
  const lines = String(stderr.read()).split('\n')
  expect(code).toBe(3)
  expect(lines.length).toBeGreaterThan(3)
  expect(lines.filter((line) => line.length > 50)).toEqual([])
})

describe('wrong usage', () => {
  test.each([
    [['block', 'acme'], 'This needs an end.\nPass --for 1h'],
    [['block', 'acme', '--for', '1h', '--until', '2027-01-31T18:00:00Z'], 'Pass either --for or --until.'],
    [
      ['block', 'acme', '--for', 'soon'],
      "--for: got 'soon', expected a time from 1 ms to 400 d, such as '1h'.",
    ],
    [
      ['block', 'acme', '--for', '5m'],
      "--for: got '5m', and m could be minutes or months.\nPass --for 5min, or days: --for 150d.",
    ],
    [
      ['block', 'acme', '--until', '2027-01-31 18:00'],
      "--until: got '2027-01-31 18:00', expected a time with its time zone",
    ],
    [['block', 'acme', '--until', 'friday 18:00'], "--until: got 'friday 18:00'"],
    [['unblock', ''], 'ID: it is empty.'],
    [['block', 'acme', '--ip', '--for', '1h'], "subjectForIp: got 'acme'"],
    [['override', 'acme', '--for', '1h'], 'Pass --factor 2, --limit 5000/min or --plan pro.'],
    [['override', 'acme', '--factor', 'two', '--for', '1h'], "--factor: got 'two'"],
    [['override', 'acme', '--factor', '1e9', '--for', '1h'], "--factor: got '1e9'"],
    [['override', 'acme', '--factor', '5000', '--for', '1h'], '--factor: got 5000'],
    [['override', 'acme', '--limit', '5/fortnight', '--for', '1h'], "'5/fortnight'"],
    [['lift', 'bloc', 'acme'], "KIND: got 'bloc', expected block, override or scale."],
    [['show', 'acme', '--plans', 'none.mjs'], '--plans: there is no file none.mjs.'],
    [['rules', '--prefix', 'a b'], "--prefix: got 'a b'"],
    [['rules', '--shards', '4'], '--shards'],
    [['rules', '--tls-ca', 'none.pem'], '--tls-ca: none.pem cannot be read (ENOENT).'],
    [['top-up', 'acme', '--units', '5'], "Required option '--limit <name>' not specified."],
    [['shw'], "Unknown command 'shw'. (Did you mean show?)"],
    [['block', 'acme', '--reson', 'x'], "Unknown option '--reson'. (Did you mean --reason?)"],
  ])('%j is refused at once', async (args, says) => {
    // Nothing listens there, and nothing is asked.
    const { code, stdout, stderr } = await tollgate(args, {
      env: { REDIS_URL: 'redis://127.0.0.1:1' },
      cwd: app.folder.cwd,
    })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(says)
  })

  test('of the program itself is JSON for programs, too', async () => {
    for (const args of [['blok'], ['block'], ['show', 'acme', '--plam', 'pro'], ['top-up', 'acme']]) {
      const { code, stdout, stderr } = await tollgate([...args, '--json'])
      expect({ args, code, stderr }).toEqual({ args, code: 2, stderr: '' })
      expect(JSON.parse(stdout)).toEqual({
        error: { exit: 2, message: expect.stringMatching(/^[A-Z].*[.)]$/s) },
      })
    }
  })

  test('is told to programs as JSON', async () => {
    const { code, stdout, stderr } = await tollgate(['block', 'acme', '--json'], { cwd: app.folder.cwd })
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({
      error: { exit: 2, message: 'This needs an end.', hint: expect.any(String) },
    })
  })
})

test('each command has help with examples that it understands', async () => {
  const { code, stdout } = await tollgate(['--help'])
  expect(code).toBe(0)
  expect(stdout).toContain('3  Redis cannot be reached, or refuses this user')
  const names = [...stdout.matchAll(/^ {2}([a-z-]+) \[options\]/gm)].map(([, name = '']) => name)
  expect(names).toHaveLength(18)
  const helps = await Promise.all(names.map((name) => tollgate([name, '--help'])))
  for (const [i, help] of helps.entries()) {
    expect(help.code).toBe(0)
    expect(help.stdout).toMatch(/\nExamples:\n {2}# .+\n {2}tollgate /)
    const examples = [...help.stdout.matchAll(/^ {2}tollgate (\S+)(.*)$/gm)]
    for (const [, name, rest = ''] of examples) {
      expect(name).toBe(names[i])
      const options = [...rest.matchAll(/ (--[a-z-]+)/g)].map(([, option = '']) => option)
      for (const option of options) expect(help.stdout).toMatch(new RegExp(`^ {2}${option}[ ,]`, 'm'))
    }
  }
})
