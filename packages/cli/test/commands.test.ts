// Each command as an operator types it, against a Redis in which an application has counted.
import {
  createLimiter,
  denialReferences,
  redisStore,
  subjectForIp,
  type Limiter,
  type LimiterOptions,
  type Rule,
} from '@tollgate/core'
import { eventually, testPrefix, testRedisUrl } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { folderWith, tollgate, type Ended } from './command-line.ts'

const SECRET = 'a secret of the references'
const OPTIONS: LimiterOptions = {
  plans: {
    free: ['5/h', { quota: 1000, window: 'month' }],
    pro: [{ quota: 100, window: 'month', overage: true }, '2 concurrent'],
    off: 'blocked',
    staff: 'unlimited',
  },
  defaultPlan: 'free',
}
const CONFIG = `export default ${JSON.stringify(OPTIONS)}`
const acme = { id: 'acme', plan: 'free' }

const folder = folderWith({ 'tollgate.config.mjs': CONFIG })
const elsewhere = folderWith({})
let redis: Redis
let limiter: Limiter
let prefix: string

beforeAll(() => {
  redis = new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
})
beforeEach(() => {
  prefix = testPrefix()
  limiter = createLimiter({
    ...OPTIONS,
    store: redisStore(redis, { prefix }),
    deadlineMs: 10_000,
    denials: false,
  })
})
afterEach(() => limiter.close())
afterAll(() => {
  redis.disconnect()
  folder.remove()
  elsewhere.remove()
})

const env = (): Record<string, string> => ({ REDIS_URL: testRedisUrl() })
/** In the folder of the application. */
const run = (...args: string[]): Promise<Ended> =>
  tollgate([...args, '--prefix', prefix], { env: env(), cwd: folder.cwd })
/** Where no plans file is. */
const runElsewhere = (...args: string[]): Promise<Ended> =>
  tollgate([...args, '--prefix', prefix], { env: env(), cwd: elsewhere.cwd })

/** What commands print for programs, as far as it is looked at here. */
interface Printed {
  readonly subject: object
  readonly plan: string
  readonly at: string
  readonly limits: readonly { readonly backAt: string; readonly resetMs: number }[]
  readonly usage: readonly { readonly running: object }[]
  readonly rules: readonly object[]
}

async function json(...args: string[]): Promise<Printed> {
  const { stdout } = await run(...args, '--json')
  return JSON.parse(stdout) as Printed
}

async function rules(of: Limiter = limiter): Promise<Rule[]> {
  const all: Rule[] = []
  for await (const rule of of.rules()) all.push(rule)
  return all
}

describe('block and unblock', () => {
  test('deny a customer in the application, say how to undo it, and let it in again', async () => {
    const { code, stdout, stderr } = await runElsewhere(
      'block',
      'acme',
      '--for',
      '1h',
      '--reason',
      'abuse',
      '--by',
      'ops',
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /^Blocks acme until .* UTC \(1 h\)\. Reason: abuse\. By: ops\.\nDone\. acme is blocked until /,
    )
    expect(stdout).toContain(`To undo it: tollgate unblock acme --prefix ${prefix}\n`)
    const [rule] = await rules()
    expect(rule).toMatchObject({ kind: 'block', of: 'acme', by: 'ops', reason: 'abuse' })
    await eventually(async () => !(await limiter.consume(acme)).allowed, 'the application denies acme')
    expect((await runElsewhere('unblock', 'acme')).code).toBe(0)
    expect(await rules()).toEqual([])
    await eventually(async () => (await limiter.consume(acme)).allowed, 'the application lets acme in')
  })

  test('say who did it: the user of the operating system at this host', async () => {
    await runElsewhere('block', 'acme', '--for', '1h')
    expect((await rules())[0]?.by).toMatch(/^.+@.+$/)
  })

  test('say which block a new one replaces', async () => {
    await runElsewhere('block', 'acme', '--for', '1h', '--by', 'first')
    const { stdout } = await runElsewhere('block', 'acme', '--for', '2h', '--by', 'second')
    expect(stdout).toMatch(/It replaces: block until .*By: first\./)
  })

  test('end a block that came by itself', async () => {
    const blockAfter = { denials: 3, within: '1min', for: ['1h'] } as const
    const blocking = createLimiter({
      plans: { free: { limits: '1/h', blockAfter } },
      ...{ name: 'own', store: redisStore(redis, { prefix }), deadlineMs: 10_000, denials: false },
    })
    for (let i = 0; i < 5; i += 1) await blocking.consume('mallory')
    expect((await blocking.peek('mallory')).reason).toBe('blocked')
    const { code, stdout } = await runElsewhere('unblock', 'mallory', '--name', 'own')
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('not blocked any more'),
    })
    expect((await blocking.peek('mallory')).reason).toBe('quota-exceeded')
    await blocking.close()
  })

  test('say that there was no block', async () => {
    const { code, stdout } = await runElsewhere('unblock', 'nobody')
    expect({ code, stdout }).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('There was no block of nobody.'),
    })
  })

  test('mean an address with --ip, all ids that begin alike with *, and just one id with --exact', async () => {
    await runElsewhere('block', '203.0.113.7', '--ip', '--for', '1h')
    await runElsewhere('block', 'trial-*', '--for', '1h')
    await runElsewhere('block', 'odd-*', '--exact', '--for', '1h')
    const isBlocked = async (id: string): Promise<boolean> =>
      (await limiter.peek({ ...(isIP(id) ? subjectForIp(id) : { id }), plan: 'free' })).reason === 'blocked'
    await eventually(async () => (await rules()).length === 3, 'all rules are read')
    expect(await Promise.all(['203.0.113.7', 'trial-7', 'odd-7', 'odd-*'].map(isBlocked))).toEqual([
      true,
      true,
      false,
      true,
    ])
  })

  test('change nothing in a dry run', async () => {
    const { code, stdout } = await runElsewhere('block', 'acme', '--for', '1h', '--dry-run')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Blocks acme until .*\nNothing was changed: this was a dry run\.\n$/)
    expect(await rules()).toEqual([])
  })
})

describe('override, scale, lift and forget-plan', () => {
  test('double a customer until a time, and lift that', async () => {
    const until = new Date(Date.now() + 86_400_000).toISOString()
    const { stdout } = await run('override', 'acme', '--factor', '2', '--until', until)
    expect(stdout).toContain('Gives acme its limits times 2 until')
    await eventually(
      async () => (await limiter.peek(acme)).limits[0]?.quota === 10,
      'acme has twice its quota',
    )
    expect((await run('lift', 'override', 'acme')).code).toBe(0)
    expect(await rules()).toEqual([])
    const again = await run('lift', 'override', 'acme')
    expect(again).toMatchObject({ code: 1, stdout: expect.stringContaining('There is no override of acme.') })
  })

  test('give a customer other limits, or those of another plan', async () => {
    await run('override', 'acme', '--limit', '7/min', '--limit', '70/d', '--for', '1h')
    expect((await rules())[0]).toMatchObject({ limits: ['7/min', '70/d'] })
    await run('override', 'acme', '--plan', 'pro', '--for', '1h')
    expect((await rules())[0]).toMatchObject({ plan: 'pro' })
    await run('override', 'acme', '--limit', 'unlimited', '--for', '1h')
    expect((await rules())[0]).toMatchObject({ limits: 'unlimited' })
  })

  test('scale a plan, and lift that', async () => {
    await run('scale', 'free', '0.4', '--for', '1h')
    await eventually(async () => (await limiter.peek(acme)).limits[0]?.quota === 2, 'the plan is scaled')
    expect((await run('lift', 'scale', 'free')).code).toBe(0)
    expect(await rules()).toEqual([])
  })

  test('say without a plans file that nobody has checked the plan, and with it that there is none', async () => {
    const without = await runElsewhere('scale', 'fre', '2', '--for', '1h', '--dry-run')
    expect(without).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('nobody has checked that this plan exists'),
    })
    const { code, stderr } = await run('scale', 'fre', '2', '--for', '1h')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "--plan: got 'fre', expected 'free'.\n",
    })
  })

  test('have all processes ask for a plan again', async () => {
    let plan = 'free'
    const asking = createLimiter({
      ...{ plans: OPTIONS.plans ?? {}, defaultPlan: 'free', planOf: () => plan, name: 'asking' },
      ...{ store: redisStore(redis, { prefix }), deadlineMs: 10_000 },
    })
    expect((await asking.peek('acme')).plan).toBe('free')
    plan = 'pro'
    expect((await asking.peek('acme')).plan).toBe('free')
    expect((await run('forget-plan', 'acme', '--name', 'asking')).code).toBe(0)
    await eventually(async () => (await asking.peek('acme')).plan === 'pro', 'planOf is asked again')
    await asking.close()
  })
})

describe('rules', () => {
  test('lists what holds: who set it, why, and until when', async () => {
    await limiter.block('mallory', { for: '2h', reason: 'scraping', by: 'ops' })
    await limiter.override('acme', { factor: 2, for: '1d' })
    const { code, stdout } = await runElsewhere('rules')
    expect(code).toBe(0)
    const [titles, first, second, , last] = stdout.split('\n')
    expect(titles).toMatch(/^RULE +OF +UNTIL \(UTC\) +LEFT +BY +REASON$/)
    expect(first).toMatch(/^block +mallory +\w{3} \d+ \w{3} \d\d:\d\d +(2 h|1 h 59 min) +ops +scraping$/)
    expect(second).toMatch(/^override ×2 +acme /)
    expect(last).toBe('2 rules.')
    expect((await runElsewhere('rules', 'acme')).stdout).not.toContain('mallory')
    const { rules: all } = await json('rules')
    expect(all).toMatchObject([
      { kind: 'block', of: 'mallory', by: 'ops', reason: 'scraping' },
      { kind: 'override', factor: 2 },
    ])
  })

  test('says if there are none', async () => {
    expect((await runElsewhere('rules')).stdout).toBe('There are no rules.\n')
    expect((await runElsewhere('rules', 'acme')).stdout).toBe('There are no rules for acme.\n')
  })
})

describe('show', () => {
  test('says what is used and left of each limit, and takes nothing', async () => {
    for (let i = 0; i < 3; i += 1) await limiter.consume(acme)
    const { code, stdout } = await run('show', 'acme', '--plan', 'free')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^acme on the plan free, at .* UTC\n/)
    expect(stdout).toMatch(/^hour +5 per h +3 +60% +2 +/m)
    expect(stdout).toMatch(/^month +1,000 per month +3 +0% +997 +/m)
    expect(stdout).toMatch(/No rules hold for it\.\n$/)
    expect((await limiter.peek(acme)).limits.map(({ used }) => used)).toEqual([3, 3])
  })

  test('uses the default plan, and says so', async () => {
    expect((await run('show', 'acme')).stdout).toMatch(/^acme on the default plan free,/)
  })

  test('says for programs when more is back', async () => {
    await limiter.consume(acme)
    const { subject, plan, at, limits, rules: none } = await json('show', 'acme')
    expect({ subject, plan, none }).toEqual({ subject: { id: 'acme' }, plan: 'free', none: [] })
    expect(limits[0]).toMatchObject({ name: 'hour', quota: 5, used: 1, remaining: 4 })
    expect(Date.parse(limits[0]?.backAt ?? '') - Date.parse(at)).toBe(limits[0]?.resetMs)
  })

  test('has requests in flight, overage, top-ups and the window', async () => {
    const pro = { id: 'acme', plan: 'pro' }
    const running = await limiter.consume(pro)
    const large = await limiter.consume(pro, { cost: 119 })
    large.release()
    const { stdout } = await run('show', 'acme', '--plan', 'pro')
    expect(stdout).toMatch(/^month +100 per month +100 +100% +0 +20 /m)
    expect(stdout).toMatch(/^concurrent +2 at a time +1 in flight +50% +1/m)
    expect(stdout).toMatch(/^month, now +\w{3} 1 \w{3} 00:00 +\w{3} 1 \w{3} .*120 +20$/m)
    running.release()
    await limiter.topUp(pro, { limit: 'month', units: 500, for: '1d', key: 'order-1' })
    const { limits, usage } = await json('show', 'acme', '--plan', 'pro')
    expect(limits[0]).toMatchObject({ toppedUp: 500, over: 20 })
    expect(usage[0]?.running).toMatchObject({ used: 120, over: 20 })
  })

  test('has the limits of a customer that a rule blocks, as an override makes them', async () => {
    for (let i = 0; i < 3; i += 1) await limiter.consume(acme)
    await limiter.override('acme', { factor: 2, for: '1h' })
    await limiter.block('acme', { for: '1h' })
    const { stdout } = await run('show', 'acme')
    expect(stdout).toMatch(/^Blocked until .* UTC \(.*\)\.$/m)
    expect(stdout).toMatch(/^hour +10 per h +3 +30% +7 /m)
    expect((await rules()).map(({ kind }) => kind)).toEqual(['override', 'block'])
  })

  test('knows plans without limits', async () => {
    expect((await run('show', 'acme', '--plan', 'staff')).stdout).toContain('Its plan has no limits.')
    expect((await run('show', 'acme', '--plan', 'off')).stdout).toContain(
      "Blocked, because its plan is 'blocked'.",
    )
  })

  test('is not counted as a process of the application', async () => {
    await run('show', 'acme')
    expect(await redis.keys(`${prefix}/!instances*`)).toEqual([`${prefix}/!instances.^`])
    expect(await redis.zcard(`${prefix}/!instances.^`)).toBe(1)
  })

  test('needs the plans, and says what would be right', async () => {
    const without = await runElsewhere('show', 'acme', '--plan', 'pro')
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('pass --plans FILE') })
    const { code, stderr } = await run('show', 'acme', '--plan', 'gold')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        "--plan: there is no plan 'gold' in tollgate.config.mjs. Its plans are free, pro, off, staff.\n",
    })
  })
})

describe('bookings', () => {
  const order = ['--plan', 'free', '--limit', 'month', '--key', 'order-17']

  test('top up a customer once, however often the command is repeated', async () => {
    const args = ['top-up', 'acme', ...order, '--units', '500', '--for', '30d']
    const first = await run(...args)
    expect(first.stdout).toContain(
      "Gives acme 500 units beside the quota of its limit 'month', for 30d. Key: order-17.",
    )
    expect(first.stdout).toContain('Left of month: 1,500 units, 500 of them topped up')
    const second = await run(...args)
    expect(second).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('was booked before, so nothing was changed'),
    })
    const other = await run('top-up', 'acme', ...order, '--units', '600', '--for', '30d')
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('booked with other values') })
    expect((await limiter.peek(acme)).limits[1]?.remaining).toBe(1500)
    // What it says to undo it, undoes it.
    const undo = /^To undo it: tollgate (.*)$/m.exec(first.stdout)?.[1]?.split(' ') ?? []
    expect((await tollgate(undo, { env: env(), cwd: folder.cwd })).code).toBe(0)
    expect((await limiter.peek(acme)).limits[1]?.remaining).toBe(1000)
  })

  test('renew a limit, penalize a customer, and reset it', async () => {
    await limiter.consume(acme, { cost: 5 })
    expect((await run('renew', 'acme', ...order)).code).toBe(0)
    expect((await limiter.peek(acme)).limits.map(({ used }) => used)).toEqual([5, 0])
    await run('penalize', 'acme', '--plan', 'free', '--limit', 'month', '--units', '40', '--key', 'abuse-3')
    expect((await limiter.peek(acme)).limits[1]?.used).toBe(40)
    expect((await run('reset', 'acme')).code).toBe(0)
    expect((await limiter.peek(acme)).limits.map(({ used }) => used)).toEqual([0, 0])
    expect(await run('reset', 'acme')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('nothing to forget'),
    })
  })

  test('reset groups and stacked limits that are named', async () => {
    const scope = limiter.scope({ group: 'exports', stacked: { login: '9/h' } })
    await scope.consume(acme)
    const used = async (): Promise<number[]> => (await scope.peek(acme)).limits.map((one) => one.used)
    await run('reset', 'acme')
    expect(await used()).toEqual([1, 1, 1])
    await run('reset', 'acme', '--group', 'exports', '--stacked', 'login')
    expect(await used()).toEqual([0, 0, 0])
  })

  test('ask for the plan where there are several', async () => {
    const { code, stderr } = await run('renew', 'acme', '--limit', 'month', '--key', 'k')
    expect(code).toBe(2)
    expect(stderr).toContain('Which plan is it? tollgate.config.mjs has several: free, pro, off, staff.')
  })

  test('change nothing in a dry run, and refuse what the real call would refuse', async () => {
    expect((await run('penalize', 'acme', ...order, '--units', '40', '--dry-run')).code).toBe(0)
    expect((await limiter.peek(acme)).limits[1]?.used).toBe(0)
    const wrong = await run(
      'penalize',
      'acme',
      '--plan',
      'free',
      '--limit',
      'mont',
      '--units',
      '4',
      '--key',
      'k',
      '--dry-run',
    )
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("--limit: got 'mont'") })
  })
})

describe('why', () => {
  const references = denialReferences({ secret: SECRET })
  const ask = (reference: string, secret = SECRET, ...more: string[]): Promise<Ended> =>
    tollgate(['why', reference, ...more], { env: { TOLLGATE_SECRET: secret } })
  let reference: string
  beforeEach(async () => {
    for (let i = 0; i < 5; i += 1) await limiter.consume(acme)
    reference = references.of(await limiter.consume(acme))
  })

  test('says who was denied, by what, and when the request fits', async () => {
    const { code, stdout } = await ask(reference)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^acme on the plan free was denied at .* UTC: the limit hour was used up \(5 of 5 used, and the request costs 1 unit\)\./,
    )
    expect(stdout).toMatch(/It would have passed from .* UTC on \(.*later\)\.\nDecided by: Redis\.\n$/)
    const { stdout: text } = await ask(reference, SECRET, '--json')
    expect(JSON.parse(text)).toMatchObject({
      subject: 'acme',
      plan: 'free',
      limit: 'hour',
      used: 5,
      quota: 5,
    })
  })

  test('reads several secrets from a file', async () => {
    writeFileSync(join(folder.cwd, 'secrets'), `another secret of 16\n${SECRET}\n`)
    const { stdout } = await tollgate(['why', reference, '--secret-file', 'secrets'], { cwd: folder.cwd })
    expect(stdout).toContain('acme on the plan free was denied')
  })

  test('refuses what it cannot open, and shows no secret', async () => {
    const other = await ask(reference, 'quite another secret')
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('sealed with another secret') })
    expect(await ask('urn:tollgate:AZ')).toMatchObject({ code: 1 })
    expect(await ask('acme')).toMatchObject({ code: 2, stderr: expect.stringContaining("got 'acme'") })
    expect(await ask(reference, '')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Set TOLLGATE_SECRET'),
    })
    expect(await ask(reference, 'short')).toMatchObject({
      code: 2,
      stderr: expect.not.stringContaining('short'),
    })
  })
})

describe('check', () => {
  test('prints the plans as a table', async () => {
    const { code, stdout } = await tollgate(['check'], { cwd: folder.cwd })
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `PLAN   LIMIT       ALLOWS           NOTES
free   hour        5 per h          default plan
       month       1,000 per month
pro    month       100 per month
       concurrent  2 at a time
off                                 blocked
staff                               unlimited

tollgate.config.mjs is right: 4 plans.
`,
    })
  })

  test.each([
    ['export default { plans: { free: "5/fortnight" } }', "plans.free: got '5/fortnight'"],
    ['export default { limt: "5/min" }', 'limt'],
    ['export default 5', 'its default export must be an object'],
    ['export default {', 'cannot be loaded: SyntaxError'],
    ['throw new Error("no \\u001b[2J database")', String.raw`no \\x1b[2J database`],
    ['export default { limit: "5/min", hashIds: "too short" }', 'hashIds'],
  ])('says what is wrong in %s', async (text, says) => {
    writeFileSync(join(elsewhere.cwd, 'wrong.mjs'), text)
    const { code, stdout, stderr } = await tollgate(['check', 'wrong.mjs'], { cwd: elsewhere.cwd })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('wrong.mjs')
    expect(stderr.replaceAll('\\\\', '\\')).toContain(says.replaceAll('\\\\', '\\'))
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(stderr).not.toContain('too short')
  })

  test('says that there is no file', async () => {
    expect(await tollgate(['check'], { cwd: elsewhere.cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('tollgate check FILE'),
    })
  })
})

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
      const runs = [
        await runElsewhere('block', id, '--for', '1h'),
        await runElsewhere('rules'),
        await run('show', id),
        await runElsewhere('rules', '--json'),
        await runElsewhere('unblock', id),
        await runElsewhere(id),
        await runElsewhere('block', 'acme', `--${id}`),
      ]
      expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 2, 2])
      for (const { stdout, stderr } of runs) {
        // eslint-disable-next-line no-control-regex
        expect(stdout + stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
        expect(Math.max(...(stdout + stderr).split('\n').map((line) => line.length))).toBeLessThan(
          id.length > 99 ? 101_000 : 600,
        )
      }
    },
  )
})

describe('wrong usage', () => {
  test.each([
    [['block', 'acme'], 'This needs an end.\nPass --for 1h'],
    [
      ['block', 'acme', '--for', '1h', '--until', '2027-01-31T18:00:00Z'],
      '--for and --until exclude each other.',
    ],
    [
      ['block', 'acme', '--for', 'soon'],
      "--for: got 'soon', expected a time from 1 ms to 400 d, such as '1h'.",
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
      cwd: folder.cwd,
    })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(says)
  })

  test('is told to programs as JSON', async () => {
    const { code, stdout, stderr } = await tollgate(['block', 'acme', '--json'], { cwd: folder.cwd })
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
  expect(names).toHaveLength(15)
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
