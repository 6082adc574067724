// Rules outlive faults of Redis and of processes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deployCluster, eventually, startProxy, testPrefix, type RedisServer } from '@tollgate/testing'
import { Cluster } from 'ioredis'
import {
  createLimiter,
  redisStore,
  type Limiter,
  type LimiterOptions,
  type RedisClient,
} from '../../../src/index.js'
import { standaloneKinds } from '../../support/clients.js'
import { compiledWith } from '../../support/compiled.js'
import { closesWithTest, connect, endFaults, endsWithTest, server } from '../../support/faults.js'
import { listed, refusalOf } from './rule-bench.js'

afterEach(endFaults)

const SILENT = {
  code: 'ERR_TOLLGATE_STORE_TIMEOUT',
  message: expect.stringContaining('holds in this process'),
}

/** Longer than a busy machine needs, unless the store is silent. */
const DEADLINE_MS = 1500

/** A limiter as another process has it: with a client and a store of its own. */
function limiterOf(client: RedisClient, options: Partial<LimiterOptions> = {}): Limiter {
  const store = redisStore(client, { prefix: 'rules' })
  const given = { limit: '1000/min', store, deadlineMs: DEADLINE_MS, warnings: false, ...options }
  const limiter = createLimiter(given as LimiterOptions)
  return closesWithTest(limiter)
}

/** Two processes that have read the rules. */
async function twoOn(port: number): Promise<[here: Limiter, there: Limiter]> {
  const both = [limiterOf(connect(port)), limiterOf(connect(port))] as [Limiter, Limiter]
  for (const limiter of both) await eventually(() => limiter.health().rules === 'current')
  return both
}

async function isBlocked(limiter: Limiter, id = 'acme'): Promise<boolean> {
  return (await limiter.peek(id)).source === 'rule'
}

const blockedIn = (limiter: Limiter, id?: string): Promise<void> =>
  eventually(() => isBlocked(limiter, id), `${id ?? 'acme'} is blocked`)
const freeIn = (limiter: Limiter, id?: string): Promise<void> =>
  eventually(async () => !(await isBlocked(limiter, id)), `${id ?? 'acme'} is not blocked`)

test('after FLUSHALL processes send back what they know: rules, and which were lifted', async () => {
  const { port } = await server()
  const [here, there] = await twoOn(port)
  await here.block('acme', { for: '1h' })
  await here.block('lifted', { for: '1h' })
  await blockedIn(there, 'lifted')
  await there.unblock('lifted')
  await freeIn(here, 'lifted')
  await connect(port).flushall()
  const later = limiterOf(connect(port))
  await blockedIn(later)
  expect(await listed(later)).toMatchObject([{ of: 'acme' }])
  expect([await isBlocked(here), await isBlocked(there), await isBlocked(here, 'lifted')]).toEqual([
    true,
    true,
    false,
  ])
})

test('a rule is lifted that Redis has lost just before, for all processes', async () => {
  const { port } = await server()
  const [here, there] = await twoOn(port)
  await here.block('acme', { for: '1h' })
  await blockedIn(there)
  await connect(port).flushall()
  expect(await there.unblock('acme')).toBe(true)
  await freeIn(here)
  const later = limiterOf(connect(port))
  expect(await listed(later)).toEqual([])
})

test('a restart without persistence loses nothing, nor what was set meanwhile', async () => {
  const { port, kill } = await server()
  const [here, there] = await twoOn(port)
  await here.block('acme', { for: '1h' })
  await blockedIn(there)
  await kill()
  const refused = refusalOf(here.block('globex', { for: '1h' }))
  expect(await isBlocked(here, 'globex')).toBe(true)
  expect(await isBlocked(there)).toBe(true)
  expect(await refused).toMatchObject(SILENT)
  await server({ port })
  await blockedIn(there, 'globex')
  const later = limiterOf(connect(port))
  await blockedIn(later)
  await blockedIn(later, 'globex')
})

test('while Redis hangs a rule holds here, its promise rejects, and it is written once Redis answers', async () => {
  const { port, pause, resume } = await server()
  const [here, there] = await twoOn(port)
  await here.block('lifted', { for: '1h' })
  pause()
  const since = performance.now()
  const refused = [
    refusalOf(here.block('acme', { for: '1h' })),
    // This one is over before Redis answers.
    refusalOf(here.block('short', { for: 300 })),
    refusalOf(here.unblock('lifted')),
  ]
  expect([await isBlocked(here), await isBlocked(here, 'short'), await isBlocked(here, 'lifted')]).toEqual([
    true,
    true,
    false,
  ])
  const lifted = { ...SILENT, message: expect.stringContaining('is lifted in this process') }
  expect(await Promise.all(refused)).toMatchObject([SILENT, SILENT, lifted])
  expect(performance.now() - since).toBeGreaterThan(1900)
  expect(await isBlocked(here)).toBe(true)
  await freeIn(here, 'short')
  resume()
  await blockedIn(there)
  await freeIn(there, 'lifted')
  expect(await listed(there)).toMatchObject([{ of: 'acme' }])
  expect([await isBlocked(here, 'short'), await isBlocked(there, 'short')]).toEqual([false, false])
})

test('a change whose reply is lost is sent again, and counts once', async () => {
  const { port } = await server()
  const proxy = await startProxy({ port })
  const there = limiterOf(connect(port))
  const here = limiterOf(connect(proxy.port))
  await eventually(() => here.health().rules === 'current' && there.health().rules === 'current')
  const heard: string[] = []
  there.on('rule', ({ action, rule }) => heard.push(`${action} ${rule.by}`))
  proxy.cutAfterBytes(1)
  const setting = here.block('acme', { for: '1h', by: 'first' })
  await eventually(async () => (await connect(port).hget('rules/!rules', '#')) === '1')
  // Another process is later than the first sending, and so than all of them.
  await there.block('acme', { for: '2h', by: 'second' })
  proxy.cutAfterBytes(Infinity)
  await proxy.restore()
  await setting.catch(() => {})
  await eventually(async () => expect(await listed(here)).toMatchObject([{ by: 'second' }]))
  expect(await connect(port).hget('rules/!rules', '#')).toBe('2')
  expect(heard.at(-1)).toBe('set second')
  await proxy.close()
})

test('a rule outlives the process that set it', async () => {
  const folder = compiledWith(`
    import { Redis } from 'ioredis'
    import { createLimiter, redisStore } from './index.js'
    const redis = new Redis(process.argv[2])
    const limiter = createLimiter({ limit: '5/min', store: redisStore(redis, { prefix: 'rules' }), deadlineMs: 30_000 })
    await limiter.block('acme', { for: '1h', by: 'child' })
    console.log('set')
    setInterval(() => {}, 1000)
  `)
  try {
    const { port, url } = await server()
    const there = limiterOf(connect(port))
    const child = spawn(process.execPath, [join(folder, 'program.js'), url])
    const exited = once(child, 'exit')
    await Promise.race([once(child.stdout, 'data'), exited])
    child.kill('SIGKILL')
    await exited
    await blockedIn(there)
    await connect(port).flushall()
    const later = limiterOf(connect(port))
    await blockedIn(later)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a script that Redis forgets is sent again', async () => {
  const { port } = await server()
  const [here, there] = await twoOn(port)
  await connect(port).script('FLUSH')
  await here.block('acme', { for: '1h' })
  await blockedIn(there)
})

test('if Redis evicts one of its keys, nothing is lost', async () => {
  const { port } = await server()
  const [here, there] = await twoOn(port)
  await here.block('acme', { for: '1h' })
  for (const key of ['', '.version', '.end', '.id']) {
    expect(await connect(port).del(`rules/!rules${key}`)).toBe(1)
    await here.block(`after${key}`, { for: '1h' })
    await blockedIn(there, `after${key}`)
    await eventually(async () => expect(await listed(limiterOf(connect(port)), 'acme')).toHaveLength(1))
  }
})

describe('after a rollback to an older copy', () => {
  let folder: string
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'tollgate-rules-'))))
  afterEach(() => rmSync(folder, { recursive: true }))
  const started = (port?: number): Promise<RedisServer> =>
    server({ args: ['--dir', folder], ...(port !== undefined && { port }) })

  test('later rules hold, and lifted ones are not revived', async () => {
    const { port, kill } = await started()
    const [here, there] = await twoOn(port)
    await here.block('lifted', { for: '1h' })
    await here.block('longer', { for: '1min', by: 'before' })
    await connect(port).save()
    copyFileSync(join(folder, 'dump.rdb'), join(folder, 'older.rdb'))
    await here.unblock('lifted')
    await here.block('longer', { for: '1h', by: 'after' })
    await here.block('acme', { for: '1h' })
    await blockedIn(there)
    await kill()
    copyFileSync(join(folder, 'older.rdb'), join(folder, 'dump.rdb'))
    await started(port)
    // The change of another process gets a version that the first process knows as another.
    await there.block('globex', { for: '1h' })
    await blockedIn(here, 'globex')
    const later = limiterOf(connect(port))
    await blockedIn(later)
    await freeIn(later, 'lifted')
    const wanted = ['acme', 'globex', 'longer'].map((of) => expect.objectContaining({ of }))
    for (const limiter of [here, there, later]) {
      await eventually(async () => {
        const rules = (await listed(limiter)) as { of: string; by?: string }[]
        expect(rules.toSorted((a, b) => (a.of < b.of ? -1 : 1))).toEqual(wanted)
        expect(rules.find(({ of }) => of === 'longer')?.by).toBe('after')
      })
    }
  })
})

describe('a Redis user without the rights for rules', () => {
  const LIMITS = 'evalsha eval get mget set setrange time del info wait ping'.split(' ')
  const FOR_RULES =
    'hget hset hdel pexpire zadd zcard zrange zrem zremrangebyrank zremrangebyscore zscore'.split(' ')

  test('has rules off with one warning, and limits; and rules once the rights are given', async () => {
    const { port } = await server()
    const operator = connect(port)
    const rights = LIMITS.map((command) => `+${command}`)
    await operator.call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '-@all', ...rights)
    const kind = standaloneKinds['ioredis 6']
    const client = kind?.make({
      ports: [port],
      username: 'app',
      password: 'secret',
    } as never) as RedisClient & {
      disconnect(): void
      on(event: 'error', listener: () => void): void
    }
    client.on('error', () => {})
    endsWithTest(client)
    const told: string[] = []
    const spy = jest.spyOn(process, 'emitWarning').mockImplementation((text, options) => {
      told.push(`${(options as { code: string }).code} ${text as string}`)
    })
    const limiter = limiterOf(client, { warnings: true })
    await eventually(() => limiter.health().rules === 'off')
    expect(told.filter((text) => text.startsWith('TOLLGATE_RULES'))).toEqual([
      expect.stringMatching(/Rules are off.*ACL SETUSER.*\+hget/),
    ])
    await expect(limiter.block('acme', { for: '1h' })).rejects.toMatchObject({
      code: 'ERR_TOLLGATE_STORE',
      reason: 'not-permitted',
      message: expect.stringContaining('+zadd'),
    })
    expect(await limiter.consume('acme')).toMatchObject({ allowed: true, source: 'store' })
    await operator.call('ACL', 'SETUSER', 'app', ...FOR_RULES.map((command) => `+${command}`))
    await eventually(() => limiter.health().rules === 'current')
    await limiter.block('acme', { for: '1h' })
    expect(told.filter((text) => text.startsWith('TOLLGATE_RULES'))).toHaveLength(1)
    spy.mockRestore()
  })
})

test('rules work with node-redis', async () => {
  const { port } = await server()
  const kind = standaloneKinds['node-redis 6']
  const client = kind?.make({ ports: [port] }) as RedisClient & {
    connect(): Promise<unknown>
    destroy(): void
    on(event: 'error', listener: () => void): void
  }
  client.on('error', () => {})
  await client.connect()
  endsWithTest({ disconnect: () => client.destroy() })
  const [here, there] = [limiterOf(client), limiterOf(connect(port))]
  const rule = await here.block('acme', { for: '1h', reason: 'abuse', by: 'ops' })
  await blockedIn(there)
  expect(await listed(there)).toEqual(await listed(here))
  await there.unblock('acme')
  await freeIn(here)
  expect(await rule.lift()).toBe(false)
})

test('rules work on a cluster, also after it has lost all', async () => {
  const cluster = await deployCluster()
  const nodes = cluster.ports.map((port) => ({ host: '127.0.0.1', port }))
  const connected = (): RedisClient => {
    const client = new Cluster(nodes, { enableOfflineQueue: false, clusterRetryStrategy: () => 50 })
    client.on('error', () => {})
    endsWithTest(client)
    return client
  }
  const prefix = testPrefix()
  const limiterOn = (): Limiter =>
    closesWithTest(
      createLimiter({
        limit: '9/min',
        store: redisStore(connected(), { prefix }),
        deadlineMs: DEADLINE_MS,
        warnings: false,
      }),
    )
  try {
    const [here, there] = [limiterOn(), limiterOn()]
    await here.block('acme', { for: '1h' })
    await blockedIn(there)
    await cluster.order('FLUSHALL')
    await blockedIn(limiterOn())
    await there.unblock('acme')
    await freeIn(here)
  } finally {
    await endFaults()
    await cluster.end()
  }
})
