import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { createLimiter, redisStore, type Limiter } from '../../../src/index.js'
import { createLimitSet } from '../../../src/plans/limit/limit.js'
import { COMMANDS } from '../../../src/stores/redis/reactions.js'
import { closesWithTest, connect, endFaults, endsWithTest, server } from '../../support/faults.js'

afterEach(endFaults)

async function replicated(): Promise<{ port: number; replica: Redis; pause(): void; resume(): void }> {
  const primary = await server({ args: ['--repl-diskless-sync-delay', '0'] })
  const second = await server({ args: ['--replicaof', `127.0.0.1 ${primary.port}`] })
  const replica = connect(second.port)
  await eventually(async () => (await replica.info('replication')).includes('master_link_status:up'))
  return { port: primary.port, replica, pause: () => second.pause(), resume: () => second.resume() }
}

/** How many subjects it holds. It also has keys of no subject, such as the count of instances. */
async function subjectsOf(replica: Redis): Promise<number> {
  return (await replica.keys('*/[^!]*')).length
}

test.each(['ioredis', 'node-redis'])('%s: a decision is there when the replica has it', async (kind) => {
  const { port, replica } = await replicated()
  const client =
    kind === 'ioredis'
      ? connect(port)
      : createClient({
          socket: { port, host: '127.0.0.1', reconnectStrategy: 50 },
          disableOfflineQueue: true,
        })
  if ('destroy' in client) endsWithTest({ disconnect: () => client.destroy() })
  const store = redisStore(client as never, { waitForReplicas: { count: 1, timeoutMs: 1000 } })
  const limiter = closesWithTest(
    createLimiter({ limit: '100/min', store, deadlineMs: 5000, local: { instances: 1 } }),
  )
  for (let i = 0; i < 20; i += 1) {
    expect((await limiter.consume(`t${i}`)).source).toBe('store')
    expect(await subjectsOf(replica)).toBe(i + 1)
  }
  expect([await limiter.reset('t0'), await subjectsOf(replica), await limiter.reset('t0')]).toEqual([
    true,
    19,
    false,
  ])
})

test('leases are granted, and are there when the replica has them', async () => {
  const { port, replica } = await replicated()
  const store = redisStore(connect(port), { waitForReplicas: { count: 1, timeoutMs: 20_000 } })
  expect(store.leases).toBe(true)
  const wish = { id: 'lease-000001', most: 4, least: 1, share: 1, lengthUs: 60_000_000, lagUs: 0 }
  const parts = [{ key: 'k', set: createLimitSet('100/min'), cost: 4 }]
  const [answer] = await store.consume([{ shard: 0, grant: 'lease', parts, order: { reports: [], wish } }])
  expect(answer).toMatchObject({ limits: [{ granted: 4, leased: 4 }], lease: { isKnown: true } })
  expect(await replica.dbsize()).toBe(1)
})

test('a replica that hangs is waited for as long as timeoutMs says, and the decision stands', async () => {
  const { port, pause, resume } = await replicated()
  const store = redisStore(connect(port), { waitForReplicas: { count: 1, timeoutMs: 1000 } })
  const limiter = closesWithTest(
    createLimiter({ limit: '100/min', store, deadlineMs: 5000, local: { instances: 1 } }),
  )
  await limiter.consume('acme')
  pause()
  const started = performance.now()
  expect((await limiter.consume('acme')).source).toBe('store')
  expect(performance.now() - started).toBeGreaterThan(900)
  expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(98)
  resume()
})

test('many at once: each decision is on the replica when it is given', async () => {
  const { port, replica } = await replicated()
  const client = connect(port)
  const limiters = ['a', 'b'].map((name) => {
    const store = redisStore(client, { waitForReplicas: { count: 1, timeoutMs: 15_000 } })
    return closesWithTest(
      createLimiter({ name, limit: '100/min', store, deadlineMs: 20_000, local: { instances: 1 } }),
    )
  })
  const ask = async (limiter: Limiter, i: number, id: string): Promise<unknown> => {
    const { source } = await limiter.consume(id)
    return [source, await replica.exists(`tollgate/${'ab'[i]}^${id}`)]
  }
  const asked: Promise<unknown>[] = []
  for (let n = 0; n < 60; n += 1) {
    limiters.forEach((limiter, i) => asked.push(ask(limiter, i, `t${n}`)))
    await new Promise(setImmediate)
  }
  expect(await Promise.all(asked)).toEqual(asked.map(() => ['store', 1]))
})

describe('while too few replicas answer', () => {
  const DEADLINE_MS = 2000
  const waitForReplicas = { count: 1, timeoutMs: 200 }

  const sourceOf = async (limiter: Limiter, id: string): Promise<string> => (await limiter.consume(id)).source

  /** Asks steadily, for longer than a replica is given up. */
  async function sourcesOf(limiter: Limiter): Promise<string[]> {
    const asked: Promise<string>[] = []
    const end = performance.now() + 1500
    while (performance.now() < end) {
      asked.push(sourceOf(limiter, `t${asked.length % 50}`))
      await sleep(10)
    }
    return Promise.all(asked)
  }

  /** A limiter, and the answers to each WAIT that it sent for replicas. Some more wake Redis at the end of these. */
  function limiterAt(port: number): { limiter: Limiter; waits: Promise<number>[] } {
    const client = connect(port)
    const waits: Promise<number>[] = []
    const wait = client.wait.bind(client)
    client.wait = (count: number, timeoutMs: number) => {
      const answer = wait(count, timeoutMs)
      if (count > 0) waits.push(answer)
      return answer
    }
    const store = redisStore(client, { waitForReplicas })
    const limit = '100000/min'
    const limiter = createLimiter({ limit, store, deadlineMs: DEADLINE_MS, local: { instances: 1 } })
    return { limiter: closesWithTest(limiter), waits }
  }

  test('one that is stopped: the store decides all, and waits for it again when it is back', async () => {
    const { port, pause, resume } = await replicated()
    const { limiter, waits } = limiterAt(port)
    await limiter.consume('acme')
    pause()
    expect(new Set(await sourcesOf(limiter))).toEqual(new Set(['store']))
    expect(await waits.at(-1)).toBe(0)
    resume()
    await eventually(async () => {
      expect((await limiter.consume('acme')).source).toBe('store')
      return (await waits.at(-1)) === 1
    })
  })

  test('none is there: the store decides all, and asks for replicas once a second', async () => {
    const { port } = await server()
    const { limiter, waits } = limiterAt(port)
    const started = performance.now()
    const sources = await sourcesOf(limiter)
    expect(new Set(sources)).toEqual(new Set(['store']))
    expect(waits.length).toBeLessThanOrEqual(Math.ceil((performance.now() - started) / 1000))
    expect(await Promise.all(waits)).toEqual(waits.map(() => 0))
  })

  test('nothing answers WAIT at all: the store decides', async () => {
    const { port } = await server()
    const client = connect(port)
    client.wait = () => new Promise(() => {})
    const store = redisStore(client, { waitForReplicas })
    const limiter = closesWithTest(createLimiter({ limit: '9/min', store, deadlineMs: DEADLINE_MS }))
    for (let i = 0; i < 3; i += 1) expect((await limiter.consume('acme')).source).toBe('store')
  })
})

describe('a user of Redis', () => {
  async function limiterOf(...rules: readonly string[]): Promise<Limiter> {
    const { port } = await server()
    const rule = [...COMMANDS.map((command) => `+${command}`), '+info', ...rules]
    await connect(port).acl('SETUSER', 'default', '-@all', ...rule)
    const store = redisStore(connect(port), { waitForReplicas: { count: 1, timeoutMs: 20 } })
    return closesWithTest(createLimiter({ limit: '9/min', store, deadlineMs: 5000 }))
  }

  async function warningsOf(limiter: Limiter): Promise<unknown[]> {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    for (let i = 0; i < 3; i += 1) expect((await limiter.consume('acme')).source).toBe('store')
    expect(await limiter.reset('acme')).toBe(true)
    const { calls } = warn.mock
    warn.mockRestore()
    return calls
  }

  test('that may not WAIT: the store decides, and one warning says what to type', async () => {
    const calls = await warningsOf(await limiterOf())
    expect(calls).toEqual([
      [
        expect.stringMatching(/^waitForReplicas has no effect, .*NOPERM.* Run: ACL SETUSER name \+wait$/),
        { type: 'TollgateWarning', code: 'TOLLGATE_REDIS_SERVER' },
      ],
    ])
  })

  test('that may: no warning, though there is no replica', async () => {
    expect(await warningsOf(await limiterOf('+wait'))).toEqual([])
  })

  test('the page shows it', () => {
    const page = readFileSync(join(__dirname, '../../../../../docs/operations/redis.md'), 'utf8')
    expect(page).toMatch(/^\| `\+wait` \|.*`waitForReplicas`/m)
  })
})

test.each([
  [{ count: 0, timeoutMs: 10 }, 'waitForReplicas.count'],
  [{ count: 1, timeoutMs: 1.5 }, 'waitForReplicas.timeoutMs'],
  [{ count: 1 }, 'waitForReplicas.timeoutMs'],
  [{ count: 1, timeoutMs: 1, replicas: 1 }, 'waitForReplicas.replicas'],
])('%j is refused', (waitForReplicas, path) => {
  const client = connect(1)
  expect(() => redisStore(client, { waitForReplicas: waitForReplicas as never })).toThrow(
    expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }),
  )
})

test('a cluster client is refused', () => {
  const cluster = new Redis.Cluster([{ port: 1, host: '127.0.0.1' }], { lazyConnect: true })
  endsWithTest(cluster)
  expect(() => redisStore(cluster, { waitForReplicas: { count: 1, timeoutMs: 10 } })).toThrow(
    expect.objectContaining({ path: 'waitForReplicas' }),
  )
})
