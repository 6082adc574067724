// What the server needs: exactly the commands of the documented ACL rule, and a version.
import { createServer } from 'node:net'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { deployOne, eventually, testPrefix, type Deployment } from '@tollgate/testing'
import { Redis } from 'ioredis'
import {
  ConfigError,
  createLimiter,
  redisStore,
  type Limiter,
  type RedisClient,
  type StoreError,
} from '../../../src/index.js'
import { evictionWarning, versionWarning } from '../../../src/stores/redis/redis-store.js'
import { standaloneKinds } from '../../support/clients.js'
import { requestOf, setOf } from '../../support/store-requests.js'
import { COMMANDS } from '../../../src/stores/redis/reactions.js'

const PLANS = {
  one: '9/min',
  bucket: { quota: 9, window: '1min', algorithm: 'token-bucket' },
  all: [
    { quota: 9, window: '10s', name: 'log' },
    { quota: 9, window: '1min', algorithm: 'sliding-window', name: 'about' },
    { quota: 9, window: '1min', algorithm: 'fixed-window', name: 'fixed' },
    { quota: 9, window: '1min', algorithm: 'token-bucket', name: 'bucket' },
  ],
} as const

let deployment: Deployment
let operator: Redis
beforeAll(async () => {
  deployment = await deployOne()
  operator = deployment.operators[0] as Redis
})
afterAll(() => deployment.end())
// ioredis warns on the console when it may not send INFO, and goes on.
beforeEach(() => void jest.spyOn(console, 'warn').mockImplementation(() => {}))
const limiters: Limiter[] = []
afterEach(async () => {
  jest.restoreAllMocks()
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})

function limiterOn(
  client: RedisClient,
  prefix = 'tollgate',
  deadlineMs = 10_000,
): { limiter: Limiter; errors: StoreError[] } {
  const store = redisStore(client, { prefix })
  const limiter = createLimiter({ plans: PLANS, defaultPlan: 'one', store, deadlineMs, warnings: false })
  const errors: StoreError[] = []
  limiter.on('storeError', (error) => errors.push(error))
  limiters.push(limiter)
  return { limiter, errors }
}

/** Uses everything that a limiter does in Redis. Returns the answers to its refunds, whose ids are on one page or two. */
async function useAll(limiter: Limiter): Promise<boolean[]> {
  const refunds: boolean[] = []
  for (const plan of ['bucket', 'one', 'all']) {
    const decisions = []
    for (let i = 0; i < 4; i += 1) decisions.push(await limiter.consume({ id: 'acme', plan }))
    await limiter.peek({ id: 'acme', plan })
    for (const decision of decisions.slice(2)) refunds.push(await limiter.refund(decision))
  }
  await limiter.consume(['acme', 'other'])
  await limiter.reset('acme').catch(() => {})
  return refunds
}

const RULE = COMMANDS.map((command) => `+${command}`)
const KEYS = '~tollgate/*'
/** What only rules use. Without these, limits work. */
const FOR_RULES: readonly string[] = [
  ...[
    'hget',
    'hset',
    'hdel',
    'pexpire',
    'zadd',
    'zcard',
    'zrange',
    'zrem',
    'zremrangebyrank',
    'zremrangebyscore',
    'zscore',
  ],
]

describe('a user with the rule of docs/operations/redis.md', () => {
  // All of them use the prefix that the rule names.
  beforeEach(() => operator.flushall())

  test('the page shows this rule', () => {
    const page = readFileSync(join(__dirname, '../../../../../docs/operations/redis.md'), 'utf8')
    expect(page).toContain(`ACL SETUSER tollgate on >secret resetchannels ${KEYS} -@all ${RULE.join(' ')}`)
  })

  test.each(Object.entries(standaloneKinds))('can do everything, with %s', async (_, kind) => {
    await allow('tollgate', RULE)
    const client = kind.make({ ports: deployment.ports, username: 'tollgate', password: 'secret' })
    const { limiter, errors } = limiterOn(client)
    expect(await useAll(limiter)).toEqual(Array(6).fill(true))
    const decisions = await Promise.all(Array.from({ length: 5 }, () => limiter.consume('acme')))
    expect(await Promise.all(decisions.slice(2).map((decision) => limiter.refund(decision)))).toEqual([
      true,
      true,
      true,
    ])
    expect((await limiter.peek('acme')).limits[0]?.used).toBe(2)
    expect(errors).toEqual([])
    await kind.close(client)
  })

  // Without `mget` each key is read by itself, with `get`.
  const needed = COMMANDS.filter((command) => command !== 'mget' && !FOR_RULES.includes(command))
  test.each(needed)('cannot work without %s, and the error shows the rule', async (command) => {
    await operator.script('FLUSH')
    await allow(
      `no-${command}`,
      RULE.filter((rule) => rule !== `+${command}`),
    )
    const client = connect(`no-${command}`)
    const { limiter, errors } = limiterOn(client)
    await useAll(limiter)
    expect(errors.length).toBeGreaterThan(0)
    for (const { reason, isOfRequest, message } of errors) {
      expect([reason, isOfRequest]).toEqual(['not-permitted', false])
      expect(message).toContain(RULE.join(' '))
    }
    client.disconnect()
  })

  test.each(FOR_RULES)('cannot keep rules without %s, and the error shows the rule', async (command) => {
    await allow(
      `no-${command}`,
      RULE.filter((rule) => rule !== `+${command}`),
    )
    const client = connect(`no-${command}`)
    const { limiter, errors } = limiterOn(client)
    const change = async (): Promise<void> => {
      // On a busy machine, so short a rule can have ended before it is written.
      const isWritten = async (): Promise<boolean> =>
        limiter.block('short', { for: 20 }).then(
          () => true,
          (error: Error) =>
            error instanceof ConfigError && error.path === 'until' ? false : Promise.reject(error),
        )
      while (!(await isWritten()));
      await eventually(async () => (await limiter.consume('short')).allowed)
      // It forgets what has ended.
      await limiter.block('acme', { for: '1h' })
    }
    await expect(change()).rejects.toMatchObject({
      reason: 'not-permitted',
      message: expect.stringContaining(RULE.join(' ')),
    })
    expect(await limiter.consume('globex')).toMatchObject({ allowed: true, source: 'store' })
    expect(errors).toEqual([])
    client.disconnect()
  })

  test('cannot write other keys, and the error shows the rule', async () => {
    await allow('elsewhere', RULE)
    const client = connect('elsewhere')
    const { limiter, errors } = limiterOn(client, 'mine')
    await limiter.consume('acme')
    expect(errors.map(({ reason }) => reason)).toEqual(['not-permitted'])
    expect(errors[0]?.message).toContain('~PREFIX/*')
    client.disconnect()
  })

  async function allow(user: string, rules: readonly string[]): Promise<void> {
    await operator.acl('SETUSER', user, 'reset', 'on', '>secret', 'resetchannels', KEYS, '-@all', ...rules)
  }

  function connect(username: string): Redis {
    const port = deployment.ports[0] as number
    return new Redis({
      port,
      username,
      password: 'secret',
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 50,
    })
  }
})

describe('the version of the server', () => {
  test.each([
    ['redis_version:6.0.16', '6.0.16'],
    ['# Server\r\nredis_version:5.0.14\r\nredis_mode:standalone', '5.0.14'],
    ['redis_version:6.2.0', undefined],
    ['redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.0', undefined],
    ['redis_version:255.255.255', undefined],
    ['', undefined],
  ])('%p', (info, old) => {
    const warning = versionWarning(info)
    if (old === undefined) expect(warning).toBeUndefined()
    else expect(warning).toContain(`version ${old},`)
  })

  test.each([
    ['maxmemory:1000\r\nmaxmemory_policy:allkeys-lru', 'CONFIG SET maxmemory-policy noeviction'],
    ['# Memory\r\nmaxmemory:1000\r\nmaxmemory_human:1K\r\nmaxmemory_policy:volatile-ttl\r\n', 'volatile-ttl'],
    ['maxmemory:1000\r\nmaxmemory_policy:noeviction', undefined],
    ['maxmemory:0\r\nmaxmemory_policy:allkeys-lru', undefined],
    ['maxmemory_policy:allkeys-lru', undefined],
    ['', undefined],
  ])('one that drops keys is told of: %p', (info, says) => {
    const warning = evictionWarning(info)
    if (says === undefined) expect(warning).toBeUndefined()
    else expect(warning).toContain(says)
  })

  test('a real server that evicts keys causes one warning', async () => {
    await operator.config('SET', 'maxmemory', '1gb', 'maxmemory-policy', 'allkeys-lru')
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const client = new Redis(deployment.ports[0] as number, {
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 50,
    })
    for (let i = 0; i < 3; i += 1) {
      const store = redisStore(client, { prefix: testPrefix() })
      await store.consume([requestOf('acme', setOf('9/min'))])
    }
    await eventually(() => expect(warn).toHaveBeenCalled())
    // Redis answers in order: a second INFO would be answered before this.
    await client.ping()
    expect(warn.mock.calls).toEqual([
      [
        expect.stringContaining('maxmemory-policy allkeys-lru'),
        { type: 'TollgateWarning', code: 'TOLLGATE_REDIS_SERVER' },
      ],
    ])
    client.disconnect()
    await operator.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction')
  })

  test('a server that is too old causes one warning with its version', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const info = '# Server\r\nredis_version:6.0.16\r\nloading:0\r\n'
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.on('data', (data) => {
        // Several commands can arrive at once.
        for (const command of data.toString().split(/(?=\*\d+\r\n)/)) {
          const isInfo = command.toLowerCase().includes('info\r\n$6\r\nserver')
          socket.write(isInfo ? `$${info.length}\r\n${info}\r\n` : '-ERR unknown command\r\n')
        }
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const settings = {
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 50,
      enableReadyCheck: false,
      disableClientInfo: true,
    }
    const client = new Redis(port, { ...settings, protocol: 2 })
    for (let i = 0; i < 3; i += 1) {
      const store = redisStore(client, { prefix: 'old' })
      await Promise.resolve(store.consume([requestOf('acme', setOf('9/min'))])).catch(() => {})
    }
    expect(warn.mock.calls).toEqual([
      [
        expect.stringContaining('version 6.0.16, but Tollgate needs 6.2'),
        { type: 'TollgateWarning', code: 'TOLLGATE_REDIS_SERVER' },
      ],
    ])
    client.disconnect()
    server.close()
  })

  test('the server of this test run is new enough, and causes no warning', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const client = new Redis(deployment.ports[0] as number, {
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 50,
    })
    const store = redisStore(client, { prefix: testPrefix() })
    await store.consume([requestOf('acme', setOf('9/min'))])
    // Redis answers in order, and INFO was sent before this.
    await store.consume([requestOf('acme', setOf('9/min'))])
    expect(warn).not.toHaveBeenCalled()
    client.disconnect()
  })
})
