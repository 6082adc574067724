// Who is busiest, why somebody was denied, and who changed what.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { promisify } from 'node:util'
import { run, type Host } from '@tollgate/cli'
import { redisStore } from '@tollgate/core'
import { deployOne, eventually, testRedisUrl } from '@tollgate/testing'
import { Application } from './application.ts'

const app = new Application()
/** Of a record in the log of denials. */
const FACTS = { plan: 'free', source: 'store', count: 1, cost: 1, waitMs: 1000 }
/** What moves the cursor to the first line of a frame, and clears all below. */
const UP = new RegExp(String.raw`\x1b\[\d+A\x1b\[J`, 'g')
const free = (id: string): object => ({ id, plan: 'free' })

async function use(id: string, times: number): Promise<void> {
  for (let i = 0; i < times; i += 1) await app.limiter.consume(free(id) as never)
}

/** As a table of figures: without times, lengths of time and how long Redis took. */
const timeless = (text: string): string =>
  text
    .replace(/\w{3} \d+ \w{3} \d\d:\d\d(:\d\d)?|\d\d:\d\d:\d\d/g, 'TIME')
    .replace(/\b\d+ (h|min|s|ms)( \d+ (min|s))?\b/g, 'LENGTH')
    .replace(/[\d.]+ LENGTH/g, 'LENGTH')
    .replace(/[\d.,]+ a second/, 'N a second')

describe('top', () => {
  test('says who is busiest, denied most, and nearest to a limit', async () => {
    await use('acme', 7)
    await use('globex', 2)
    const { code, stdout } = await app.runElsewhere('top')
    expect({ code, text: timeless(stdout).split('\n') }).toEqual({
      code: 0,
      text: [
        expect.stringMatching(
          /^TIME UTC: 9 requests in the last LENGTH, N a second, 22% denied\. 1 process\. Redis answers in .*\.$/,
        ),
        '',
        'BUSIEST  PLAN  REQUESTS  DENIED  UNITS',
        'acme     free         7     29%      5',
        'globex   free         2      0%      2',
        '',
        'MOST DENIED  PLAN  DENIALS',
        'acme         free        2',
        '',
        'NEAREST  PLAN  LIMIT    USED',
        'acme     free  hour   5 of 5  100%',
        'globex   free  hour   2 of 5   40%',
        '',
      ],
    })
  })

  test('has the same for programs, and lists as long as it is told', async () => {
    await use('acme', 3)
    await use('globex', 2)
    const { stdout } = await app.runElsewhere('top', '--json', '--most', '1')
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ at: expect.any(String), storeMs: expect.any(Number), processes: 1, requests: 5, denied: 0 },
      busiest: [{ subject: 'acme', requests: 3, error: 0 }],
      nearest: [{ subject: 'acme', limit: 'hour', share: 0.6 }],
    })
    expect(await app.runElsewhere('top', '--most', '201')).toMatchObject({
      code: 2,
      stderr: "--most: got '201', expected a whole number from 1 to 200.\n",
    })
  })

  test('and the other commands leave out what is no note of Tollgate', async () => {
    await app.runElsewhere('block', 'acme', '--for', '1h', '--by', 'ops')
    const rule = JSON.stringify({ v: 1, kind: 'block', of: 'x', by: 5 })
    const notes = {
      denials: [1, 'acme', '', Date.now(), Date.now(), { ...FACTS, reason: '\u001b[31mREASON' }],
      rules: [1, '\u001b[31mACT', Date.now(), Date.now(), null, rule],
    }
    for (const [topic, note] of Object.entries(notes)) {
      await app.redis.hset(`${app.prefix}/!board.${topic}.^`, 'x', JSON.stringify(note))
      await app.redis.zadd(`${app.prefix}/!board.times.${topic}.^`, Date.now() * 1000 + 1e6, 'x')
    }
    for (const args of [['why', 'acm*'], ['history'], ['rules'], ['show', 'acme', '--plan', 'free']]) {
      const text = await app.run(...args)
      expect([args, text.stdout.includes('\u001b'), text.stderr]).toEqual([args, false, ''])
      const json = await app.run(...args, '--json')
      expect(() => JSON.parse(json.stdout) as unknown).not.toThrow()
    }
    expect((await app.run('history')).stdout).toContain('1 change of rules.')
    expect((await app.run('why', 'acme')).stdout).toContain('was denied at')
    expect((await app.run('why', 'acme')).stdout).not.toContain('undefined')
  })

  test('ends quietly where only its first lines are read', async () => {
    await use('acme', 6)
    await app.limiter.traffic()
    const binary = join(__dirname, '../bin/tollgate.js')
    const line = `"${process.execPath}" "${binary}" why --prefix ${app.prefix} | true; echo "\${PIPESTATUS[0]}"`
    const env = { ...process.env, REDIS_URL: testRedisUrl() }
    const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line], { env })
    expect({ stdout, stderr }).toEqual({ stdout: '0\n', stderr: '' })
  })

  test('says that nobody had a request', async () => {
    expect((await app.runElsewhere('top')).stdout).toContain(
      'No process of the application had a request here',
    )
  })

  test('says that processes of another version had requests', async () => {
    const { board } = redisStore(app.redis, { prefix: app.prefix })
    await board?.put('traffic.^', [{ id: 'other', text: '[7]' }], { keptMs: 60_000, most: 100 })
    const { stdout } = await app.runElsewhere('top')
    expect(stdout).toContain('Another version of Tollgate runs in 1 process, whose figures are not here.')
    expect(stdout).not.toContain('No process of the application')
  })

  describe('on a terminal', () => {
    /** Runs it as long as nobody presses Ctrl-C. */
    function live(url: string, ...args: readonly string[]) {
      const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 70, rows: 40 })
      const seen = { text: '', undone: 0 }
      stdout.on('data', (chunk) => (seen.text += String(chunk)))
      let interrupt = (): void => {}
      const onInterrupt: Host['onInterrupt'] = (stop) => {
        interrupt = stop
        return () => (seen.undone += 1)
      }
      const host = { stdin: new PassThrough(), stdout, stderr: new PassThrough(), onInterrupt }
      const env = { REDIS_URL: url, NO_COLOR: '1' }
      const ended = run(['top', ...args], { ...host, env, cwd: app.elsewhere.cwd })
      return { seen, ended, interrupt: () => interrupt() }
    }

    test('draws again until Ctrl-C', async () => {
      const { seen, ended, interrupt } = live(testRedisUrl(), '--prefix', app.prefix)
      await eventually(() => seen.text.includes('No process of the application'))
      await use('acme', 7)
      await eventually(() => seen.text.includes('acme         free        2'))
      interrupt()
      expect(await ended).toBe(0)
      expect(seen.undone).toBe(1)
      // What is drawn over is gone: only the last frame is left.
      const frames = seen.text.split(UP)
      const up = [...seen.text.matchAll(UP)].map(([seq]) => Number.parseInt(seq.slice(2), 10))
      expect(up).toEqual(frames.slice(0, -1).map((frame) => frame.split('\n').length - 1))
      expect(Math.max(...seen.text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(70 + 10)
    })

    test('waits for a Redis that was there, and not for one that never was', async () => {
      const { ports, operators, end } = await deployOne()
      const { seen, ended, interrupt } = live(`redis://127.0.0.1:${ports[0]}`)
      await eventually(() => seen.text.includes('Redis answers in'))
      await operators[0]?.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await eventually(() => /Ctrl-C\s+ends\s+this\./.test(seen.text))
      const { length } = seen.text
      await eventually(() => seen.text.slice(length).includes('Redis answers in'))
      interrupt()
      expect(await ended).toBe(0)
      await end()
      expect(await live(`redis://127.0.0.1:${ports[0]}`).ended).toBe(3)
    })
  })
})

describe('why', () => {
  test('has the denials of the last day, the latest in words, and what would have fit', async () => {
    await use('acme', 4)
    for (const cost of [1, 3, 3]) await app.limiter.consume(free('acme') as never, { cost })
    await app.limiter.traffic()
    const { code, stdout } = await app.runElsewhere('why', 'acme')
    expect(code).toBe(0)
    expect(timeless(stdout)).toMatch(
      /^FROM \(UTC\) +UNTIL +DENIALS +OF +PLAN +LIMIT +USED +COST +FITS IN +SOURCE\nTIME +TIME +2 +acme +free +hour +5 of 5 +3 +LENGTH +store\n/,
    )
    expect(timeless(stdout)).toContain('\n2 denials between TIME UTC and TIME UTC. The latest:\n')
    expect(stdout).toContain('the limit hour was used up (5 of 5 used, and the request costs 3 units).')
    expect(stdout).toMatch(/It would have passed from .* UTC on \(.* later\)\.\n {2}Decided by: Redis\.\n$/)
  })

  test('says whose limit it is where another subject pays', async () => {
    for (let i = 0; i < 6; i += 1) await app.limiter.consume(free('org-7') as never)
    await app.limiter.consume([{ id: 'user-1', plan: 'pro' }, free('org-7')] as never)
    await app.limiter.traffic()
    const { stdout } = await app.runElsewhere('why', 'user-1')
    expect(stdout).toMatch(/ free\.\w+ of org-7 /)
    expect(stdout).toMatch(
      /user-1 on the plan pro was denied at .*: the limit free\.\w+ of org-7 was used up \(/,
    )
  })

  test('says which cost would have fit', async () => {
    await use('acme', 3)
    await app.limiter.consume(free('acme') as never, { cost: 4 })
    await app.limiter.consume(free('globex') as never, { cost: 6 })
    await app.limiter.traffic()
    expect((await app.runElsewhere('why', 'acme')).stdout).toContain(
      'At a cost of 2 or less it would have passed at once.',
    )
    const never = (await app.runElsewhere('why', 'globex')).stdout
    expect(never).toContain('the request costs 6 units, more than the limit hour ever allows.')
    expect(never).toContain('It would never have passed.')
    expect(never).toContain('At a cost of 5 or less it would have passed at once.')
  })

  test('around a time, of all customers or one, and says how far the log reaches back', async () => {
    await use('acme', 6)
    await use('globex', 6)
    await app.limiter.traffic()
    const now = new Date((await app.limiter.denialLog()).denials[0]?.last ?? 0).toISOString()
    for (const at of [now, now.slice(11, 19), now.slice(11, 16)]) {
      const all = await app.runElsewhere('why', '--at', at, '--json')
      const { denials } = JSON.parse(all.stdout) as { denials: { subject: string }[] }
      expect([at, denials.map(({ subject }) => subject).toSorted()]).toEqual([at, ['acme', 'globex']])
    }
    const other = new Date(Date.parse(now) - 600_000).toISOString()
    expect(await app.runElsewhere('why', 'acme', '--at', other)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^acme was not denied between .* UTC and .* UTC\.\n$/),
    })
    const old = await app.runElsewhere('why', '--at', '2026-01-31T14:03:00Z')
    expect(old).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^Nobody was denied.*\nThe log reaches back to /),
    })
  })

  test.each(['14:60', '24:00', 'friday', '2026-01-31', '2026-01-31T14:03:00'])(
    'refuses the time %s',
    async (at) => {
      expect(await app.runElsewhere('why', 'acme', '--at', at)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`--at: got '${at}', expected a time of day in UTC, such as 14:03,`),
      })
    },
  )

  test('lets no id reach the terminal as it is', async () => {
    for (const id of ['\u001b[31mred', 'a\u202eb', 'x\ny', `long-${'é'.repeat(5000)}`]) await use(id, 6)
    await app.limiter.traffic()
    for (const args of [['why'], ['top']]) {
      const { code, stdout } = await app.runElsewhere(...args)
      expect([code, stdout.includes('free')]).toEqual([0, true])
      expect(stdout).not.toMatch(/[^\n\P{C}]/u)
      expect(Math.max(...stdout.split('\n').map(({ length }) => length))).toBeLessThan(250)
    }
  })
})

describe('history', () => {
  test('says who changed which rule, and why', async () => {
    await app.runElsewhere('block', 'acme', '--for', '1h', '--reason', 'abuse', '--by', 'ops')
    await app.runElsewhere('override', 'globex', '--factor', '2', '--for', '1d', '--by', 'support')
    await app.runElsewhere('unblock', 'acme', '--by', 'support')
    const { code, stdout } = await app.runElsewhere('history')
    expect({ code, lines: timeless(stdout).replace(/ +/g, ' ').split('\n') }).toEqual({
      code: 0,
      lines: [
        'AT (UTC) CHANGE RULE OF UNTIL (UTC) BY REASON',
        'TIME lifted block acme support',
        'TIME set override ×2 globex TIME support',
        'TIME set block acme TIME ops abuse',
        '',
        '3 changes of rules.',
        '',
      ],
    })
    const { stdout: json } = await app.runElsewhere('history', 'acme', '--json')
    expect(JSON.parse(json)).toMatchObject({
      changes: [
        { action: 'lifted', kind: 'block', of: 'acme', by: 'support' },
        { action: 'set', kind: 'block', of: 'acme', by: 'ops', reason: 'abuse' },
      ],
    })
    const none = await app.runElsewhere('history', 'initech')
    expect(none).toMatchObject({
      code: 0,
      stdout: 'No change of a rule about initech is known. Units that were given are not rules.\n',
    })
  })
})
