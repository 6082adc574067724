// Rules as an operator sets, lists and lifts them: they hold in the application.
import { subjectForIp } from '@tollgate/core'
import { eventually, startProxy, startRedis } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Application, OPTIONS, acme } from './application.ts'
import { at } from './command-line.ts'

const app = new Application()

describe('block and unblock', () => {
  test('deny a customer in the application, say how to undo it, and let it in again', async () => {
    await app.beSeen()
    const { code, stdout, stderr } = await app.runElsewhere(
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
    expect(stdout).toContain(`To undo it: tollgate unblock acme --prefix ${app.prefix}\n`)
    const [rule] = await app.rules()
    expect(rule).toMatchObject({ kind: 'block', of: 'acme', by: 'ops', reason: 'abuse' })
    await eventually(async () => !(await app.limiter.consume(acme)).allowed, 'the application denies acme')
    expect((await app.runElsewhere('unblock', 'acme')).code).toBe(0)
    expect(await app.rules()).toEqual([])
    await eventually(async () => (await app.limiter.consume(acme)).allowed, 'the application lets acme in')
  })

  test('say who did it: the user of the operating system at this host', async () => {
    await app.runElsewhere('block', 'acme', '--for', '1h')
    expect((await app.rules())[0]?.by).toMatch(/^.+@.+$/)
  })

  test('say which block a new one replaces', async () => {
    await app.runElsewhere('block', 'acme', '--for', '1h', '--by', 'first')
    const { stdout } = await app.runElsewhere('block', 'acme', '--for', '2h', '--by', 'second')
    expect(stdout).toMatch(/It replaces: block until .*By: first\./)
  })

  test('end a block that came by itself', async () => {
    const blockAfter = { denials: 3, within: '1min', for: ['1h'] } as const
    const blocking = app.another({ plans: { free: { limits: '1/h', blockAfter } }, name: 'own' })
    for (let i = 0; i < 5; i += 1) await blocking.consume('mallory')
    expect((await blocking.peek('mallory')).reason).toBe('blocked')
    const { code, stdout } = await app.runElsewhere('unblock', 'mallory', '--name', 'own')
    expect({ code, stdout }).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('not blocked any more'),
    })
    expect((await blocking.peek('mallory')).reason).toBe('quota-exceeded')
    await blocking.close()
  })

  test('say that there was no block', async () => {
    const { code, stdout } = await app.runElsewhere('unblock', 'nobody')
    expect({ code, stdout }).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('There was no block of nobody.'),
    })
  })

  test('mean an address with --ip, all ids that begin alike with *, and just one id with --exact', async () => {
    await app.runElsewhere('block', '203.0.113.7', '--ip', '--for', '1h')
    await app.runElsewhere('block', 'trial-*', '--for', '1h')
    await app.runElsewhere('block', 'odd-*', '--exact', '--for', '1h')
    const isBlocked = async (id: string): Promise<boolean> =>
      (await app.limiter.peek({ ...(isIP(id) ? subjectForIp(id) : { id }), plan: 'free' })).reason ===
      'blocked'
    await eventually(async () => (await app.rules()).length === 3, 'all rules are read')
    expect(await Promise.all(['203.0.113.7', 'trial-7', 'odd-7', 'odd-*'].map(isBlocked))).toEqual([
      true,
      true,
      false,
      true,
    ])
  })

  test('change nothing in a dry run', async () => {
    await app.beSeen()
    const { code, stdout } = await app.runElsewhere('block', 'acme', '--for', '1h', '--dry-run')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Blocks acme until .*\nNothing was changed: this was a dry run\.\n$/)
    expect(await app.rules()).toEqual([])
  })
})

describe('override, scale, lift and forget-plan', () => {
  test('double a customer until a time, and lift that', async () => {
    const until = new Date(Date.now() + 86_400_000).toISOString()
    const { stdout } = await app.run('override', 'acme', '--factor', '2', '--until', until)
    expect(stdout).toContain('Gives acme its limits times 2 until')
    await eventually(
      async () => (await app.limiter.peek(acme)).limits[0]?.quota === 10,
      'acme has twice its quota',
    )
    expect((await app.run('lift', 'override', 'acme')).code).toBe(0)
    expect(await app.rules()).toEqual([])
    const again = await app.run('lift', 'override', 'acme')
    expect(again).toMatchObject({ code: 1, stdout: expect.stringContaining('There is no override of acme.') })
  })

  test('give a customer other limits, or those of another plan', async () => {
    await app.run('override', 'acme', '--limit', '7/min', '--limit', '70/d', '--for', '1h')
    expect((await app.rules())[0]).toMatchObject({ limits: ['7/min', '70/d'] })
    await app.run('override', 'acme', '--plan', 'pro', '--for', '1h')
    expect((await app.rules())[0]).toMatchObject({ plan: 'pro' })
    await app.run('override', 'acme', '--limit', 'unlimited', '--for', '1h')
    expect((await app.rules())[0]).toMatchObject({ limits: 'unlimited' })
  })

  test('scale a plan, and lift that', async () => {
    await app.run('scale', 'free', '0.4', '--for', '1h')
    await eventually(async () => (await app.limiter.peek(acme)).limits[0]?.quota === 2, 'the plan is scaled')
    expect((await app.run('lift', 'scale', 'free')).code).toBe(0)
    expect(await app.rules()).toEqual([])
  })

  test('say without a plans file that nobody has checked the plan, and with it that there is none', async () => {
    const without = await app.runElsewhere('scale', 'fre', '2', '--for', '1h', '--dry-run')
    expect(without).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('nobody has checked that this plan exists'),
    })
    const { code, stderr } = await app.run('scale', 'fre', '2', '--for', '1h')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "PLAN: got 'fre', expected 'free'.\n",
    })
  })

  test('have all processes ask for a plan again', async () => {
    let plan = 'free'
    const asking = app.another({ ...OPTIONS, planOf: () => plan, name: 'asking' })
    expect((await asking.peek('acme')).plan).toBe('free')
    plan = 'pro'
    expect((await asking.peek('acme')).plan).toBe('free')
    expect((await app.run('forget-plan', 'acme', '--name', 'asking')).code).toBe(0)
    await eventually(async () => (await asking.peek('acme')).plan === 'pro', 'planOf is asked again')
    await asking.close()
  })
})

describe('rules', () => {
  test('lists what holds: who set it, why, and until when', async () => {
    await app.limiter.block('mallory', { for: '2h', reason: 'scraping', by: 'ops' })
    await app.limiter.override('acme', { factor: 2, for: '1d' })
    const { code, stdout } = await app.runElsewhere('rules')
    expect(code).toBe(0)
    const [titles, first, second, , last] = stdout.split('\n')
    expect(titles).toMatch(/^RULE +OF +UNTIL \(UTC\) +LEFT +BY +REASON$/)
    expect(first).toMatch(/^block +mallory +\w{3} \d+ \w{3} \d\d:\d\d +(2 h|1 h 59 min) +ops +scraping$/)
    expect(second).toMatch(/^override ×2 +acme /)
    expect(last).toBe('2 rules.')
    expect((await app.runElsewhere('rules', 'acme')).stdout).not.toContain('mallory')
    const { rules: all } = await app.json('rules')
    expect(all).toMatchObject([
      { kind: 'block', of: 'mallory', by: 'ops', reason: 'scraping' },
      { kind: 'override', factor: 2 },
    ])
  })

  test('says if there are none', async () => {
    expect((await app.runElsewhere('rules')).stdout).toBe('There are no rules.\n')
    expect((await app.runElsewhere('rules', 'acme')).stdout).toBe('There are no rules for acme.\n')
  })
})

test('a rule for an id with a star, and one for all ids that begin like it, are two', async () => {
  await app.run('block', 'foo*', '--for', '1h')
  expect(await app.run('lift', 'block', 'foo*', '--exact')).toMatchObject({ code: 1 })
  expect((await app.rules()).map(({ of }) => of)).toEqual(['foo*'])
  const exact = await app.run('block', 'foo*', '--exact', '--for', '2h')
  expect(exact.stdout).not.toContain('It replaces')
  expect((await app.run('block', 'foo*', '--exact', '--for', '3h')).stdout).toContain('It replaces: block')
  expect(await app.run('lift', 'block', 'foo*', '--exact')).toMatchObject({ code: 0 })
  expect((await app.rules()).map(({ of }) => of)).toEqual(['foo*'])
  expect((await app.limiter.consume('foobar')).allowed).toBe(false)
})

test('what takes a rule back does so for an id that begins like an option', async () => {
  const more = ['--exact', '--prefix', app.prefix, '--name', 'api', '--', '-da*']
  const { stdout } = await app.run('block', '--for', '1h', ...more)
  const undo = /^To undo it: tollgate (.*)$/m.exec(stdout)?.[1] ?? ''
  expect(undo).toMatch(/^unblock --exact .*--name api -- '-da\*'$/)
  const words = undo.replaceAll("'", '').split(' ')
  expect((await app.run(...words)).code).toBe(0)
})

test('warns where no process of the application is, and refuses what lists show instead of an id', async () => {
  await app.beSeen()
  const block = ['block', 'acme', '--for', '1h'] as const
  const right = await app.run(...block)
  const wrong = await app.run(...block, '--name', 'typo')
  expect([right.code, wrong.code]).toEqual([0, 0])
  expect(right.stdout).not.toContain('No process of the application')
  expect(wrong.stdout).toContain('No process of the application had a request here')
  const hidden = `#${'x'.repeat(43)}`
  expect(await app.run('block', hidden, '--for', '1h')).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('Pass the id itself') },
  })
  expect((await app.run('block', hidden, '--for', '1h', '--exact')).code).toBe(0)
})

test('says that a change may have been made, where only its answer was lost', async () => {
  const server = await startRedis()
  const proxy = await startProxy(server)
  const watching = new Redis(server.port, '127.0.0.1')
  try {
    // The answers are on their way for so long that they can still be lost.
    proxy.latency(300)
    const losing = (async () => {
      while (!(await watching.hvals('tollgate/!rules')).some((text) => text.includes('slow one')))
        await sleep(5)
      proxy.cut()
    })()
    const lost = await at(proxy.url, 'block', 'acme', '--for', '1h', '--reason', 'slow one')
    expect(lost.code).toBe(3)
    expect(lost.stderr).toMatch(
      /It may have been done all the same\.\nLook before you repeat it: tollgate rules/,
    )
    await losing
    const direct = await at(`redis://127.0.0.1:${server.port}`, 'rules')
    expect(direct.stdout).toContain('slow one')
  } finally {
    watching.disconnect()
    await proxy.close()
    await server.stop()
  }
})
