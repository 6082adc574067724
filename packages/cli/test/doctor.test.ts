// What doctor finds of rights and settings, and that what it says to type is right.
import { REDIS_COMMANDS_FOR_RULES as RULES } from '@tollgate/core/adapter'
import { createLimiter, redisStore } from '@tollgate/core'
import { deployOne, testPrefix, testRedisUrl, type Deployment } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { at, doctor, folderWith, tollgate, type Ended } from './command-line.ts'

let one: Deployment

beforeAll(async () => {
  one = await deployOne()
})
afterAll(() => one.end())

describe('rights', () => {
  const prefix = testPrefix()
  const user = (name: string): string => `redis://${name}:secret@127.0.0.1:${one.ports[0]}`
  const acl = (name: string, ...rules: string[]): Promise<void> =>
    one.order('ACL', 'SETUSER', name, 'on', '>secret', ...rules)

  test('of a user that doctor itself has printed are enough for all commands', async () => {
    const { of } = await doctor(`redis://127.0.0.1:${one.ports[0]}`, '--prefix', prefix)
    const line = of('rights')?.fix?.replace('tollgate on >SECRET', 'printed on >secret').split(' ') ?? []
    const [name, ...rest] = line
    await one.order(name as string, ...rest)
    const asked = await doctor(user('printed'), '--prefix', prefix)
    expect(asked.code).toBe(0)
    expect(asked.of('rights')).toMatchObject({ result: 'ok', says: expect.stringContaining('printed') })
    const folder = folderWith({
      'tollgate.config.mjs': "export default { limit: { quota: 5, window: 'month' } }",
    })
    const run = (...args: string[]): Promise<Ended> =>
      tollgate([...args, '--prefix', prefix], { env: { REDIS_URL: user('printed') }, cwd: folder.cwd })
    const runs = [
      await run('block', 'acme', '--for', '1h'),
      await run('show', 'acme'),
      await run('top-up', 'acme', '--limit', 'month', '--units', '5', '--for', '1d', '--key', 'k'),
      await run('reset', 'acme'),
      await run('unblock', 'acme'),
    ]
    folder.remove()
    expect(runs.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
      runs.map(() => ({ code: 0, stderr: '' })),
    )
  })

  test('that rules need are missing: doctor prints the line to type, and it is right', async () => {
    await acl(
      'limits',
      `~${prefix}/*`,
      '-@all',
      '+evalsha',
      '+eval',
      '+get',
      '+mget',
      '+set',
      '+setrange',
      '+time',
      '+del',
      '+info',
    )
    const before = await doctor(user('limits'), '--prefix', prefix)
    expect(before.code).toBe(3)
    const { result, says, fix = '' } = before.of('rights') ?? {}
    expect({ result, says }).toEqual({
      result: 'failed',
      says: expect.stringMatching(/, which rules and traffic figures need\.$/),
    })
    expect(RULES.filter((name) => !fix.includes(`+${name}`))).toEqual([])
    expect(await at(user('limits'), 'block', 'acme', '--for', '1h', '--prefix', prefix)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('may not do this'),
    })
    const [command, ...args] = fix.split(' ')
    await one.order(command as string, ...args)
    expect((await doctor(user('limits'), '--prefix', prefix)).code).toBe(0)
  })

  test('for other keys only: doctor says so', async () => {
    await acl('elsewhere', '~other/*', '+@all')
    const { code, of } = await doctor(user('elsewhere'), '--prefix', prefix)
    expect(code).toBe(3)
    expect(of('keys')).toMatchObject({ result: 'failed', fix: `ACL SETUSER elsewhere ~${prefix}/*` })
  })

  test('for nothing: doctor still goes on', async () => {
    await acl('nobody', `~${prefix}/*`, '-@all')
    const { code, of } = await doctor(user('nobody'), '--prefix', prefix)
    expect(code).toBe(3)
    expect(of('login')?.result).toBe('ok')
    expect(of('rights')?.fix).toContain('+evalsha')
    expect(of('scripting')?.result).toBe('failed')
  })

  test('doctor leaves nothing in Redis', async () => {
    await one.order('FLUSHALL')
    await doctor(`redis://127.0.0.1:${one.ports[0]}`, '--prefix', prefix)
    expect(await one.operators[0]?.dbsize()).toBe(0)
  })
})

describe('doctor', () => {
  const url = (): string => `redis://127.0.0.1:${one.ports[0]}`

  test('finds a Redis that is set up right', async () => {
    await one.order('CONFIG', 'SET', 'appendonly', 'yes')
    await one.order('ACL', 'SETUSER', 'all', 'on', '>secret', '~*', '+@all')
    await one.order('SET', 'tollgate/acme', 'x')
    const { code, stdout } = await at(`redis://all:secret@127.0.0.1:${one.ports[0]}`, 'doctor')
    await one.order('CONFIG', 'SET', 'appendonly', 'no')
    expect(code).toBe(0)
    expect(stdout).toContain('All is well.')
    expect(stdout).toMatch(/^ok +rights +The user all may run all 19 commands that Tollgate uses\.$/m)
  })

  test('warns of a server that drops keys, and says what to type', async () => {
    await one.order('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    await one.order('CONFIG', 'SET', 'maxmemory', '100mb')
    const before = await doctor(url())
    expect(before.code).toBe(1)
    const { result, fix = '' } = before.of('memory') ?? {}
    expect(result).toBe('failed')
    const [command, ...args] = fix.split(' ')
    await one.order(command as string, ...args)
    expect((await doctor(url())).of('memory')?.result).toBe('ok')
    await one.order('CONFIG', 'SET', 'maxmemory', '0')
  })

  test('knows a replica, and names its primary', async () => {
    const { port } = new URL(testRedisUrl())
    await one.order('REPLICAOF', '127.0.0.1', Number(port))
    const { code, of } = await doctor(url())
    await one.order('REPLICAOF', 'NO', 'ONE')
    expect(code).toBe(1)
    expect(of('replication')).toMatchObject({
      result: 'failed',
      says: expect.stringContaining(`a replica of 127.0.0.1:${port}`),
    })
  })

  test('finds the prefix that the application really has', async () => {
    await one.order('FLUSHALL')
    await one.order('SET', 'myapp/!instances', 'x')
    const { of } = await doctor(url())
    expect(of('prefix')).toMatchObject({ result: 'failed', fix: expect.stringContaining('--prefix myapp') })
    // A command with a mistyped prefix has left a rule, and a note about it.
    for (const key of ['!rules', '!board.rules.^', '!board.times.rules.^'])
      await one.order('SET', `mapp/${key}`, 'x')
    expect((await doctor(url(), '--prefix', 'mapp')).of('prefix')).toMatchObject({
      result: 'failed',
      says: 'There is nothing of an application under mapp/. Keys of Tollgate are under myapp.',
      fix: expect.stringContaining('--prefix myapp'),
    })
    expect((await doctor(url(), '--prefix', 'myapp')).of('prefix')?.result).toBe('ok')
    await one.order('FLUSHALL')
    expect((await doctor(url())).of('prefix')?.result).toBe('warning')
  })

  test('names the limiters that have requests, and processes of another version', async () => {
    const prefix = testPrefix()
    const redis = new Redis(url(), { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
    const limiters = ['api', undefined].map((name) =>
      createLimiter({ limit: '5/min', store: redisStore(redis, { prefix }), ...(name && { name }) }),
    )
    for (const limiter of limiters) {
      await limiter.consume('acme')
      await limiter.traffic()
    }
    expect((await doctor(url(), '--prefix', prefix)).of('limiters')).toMatchObject({
      result: 'ok',
      says: expect.stringMatching(/: the limiter without a name \(1 process\), --name api \(1 process\)\.$/),
    })
    // Of a version that writes its figures in another way.
    const { board } = redisStore(redis, { prefix })
    await board?.put('traffic.^', [{ id: 'other', text: '[7]' }], { keptMs: 60_000, most: 100 })
    expect((await doctor(url(), '--prefix', prefix)).of('limiters')).toMatchObject({
      result: 'warning',
      says: expect.stringMatching(
        /name \(2 processes\), --name api \(1 process\)\. Another version of Tollgate runs in 1 process, whose figures are not here\.$/,
      ),
    })
    for (const limiter of limiters) await limiter.close()
    redis.disconnect()
  })

  test('uses the deadline of the plans file', async () => {
    const folder = folderWith({
      'tollgate.config.mjs': "export default { limit: '5/min', deadlineMs: 1234 }",
    })
    const { stdout } = await tollgate(['doctor'], { env: { REDIS_URL: url() }, cwd: folder.cwd })
    folder.remove()
    expect(stdout).toContain('The deadline is 1234 ms.')
  })
})
