import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { eventually, SOON_MS, testPrefix } from '@tollgate/testing'
import { Redis as Redis5 } from 'ioredis5'
import { createLimiter, redisStore } from '../../src/index.js'
import {
  closesWithTest,
  connect,
  damaged,
  DEADLINE_MS,
  endFaults,
  endsWithTest,
  limiterOn,
  recovers,
  server,
  timed,
  type ClientSettings,
} from '../support/faults.js'
import { asyncStore } from '../support/stores.js'

afterEach(endFaults)

describe('law 9, always an answer', () => {
  test.each(['local', 'open', 'closed'] as const)(
    'Redis hangs, %s: the policy answers within the deadline, and the store once it goes on',
    async (policy) => {
      const redis = await server()
      const { limiter, errors } = limiterOn(connect(redis.port), { onStoreFailure: policy })
      await recovers(limiter)
      redis.pause()
      const answers = await Promise.all(Array.from({ length: 100 }, () => timed(limiter)))
      for (const { decision, ms } of answers) {
        expect(decision).toMatchObject({ allowed: policy !== 'closed', source: policy, limits: [] })
        expect(ms).toBeLessThan(SOON_MS)
      }
      // One for all of them; two if this process was held up between two requests.
      expect([...new Set(errors)]).toEqual(['ERR_TOLLGATE_STORE_TIMEOUT'])
      redis.resume()
      await recovers(limiter)
    },
  )

  test.each<[string, ClientSettings]>([
    ['the defaults of ioredis', {}],
    ['no offline queue', { enableOfflineQueue: false }],
    ['a client that gives up a command early', { maxRetriesPerRequest: 0 }],
    ['a lazy client', { lazyConnect: true }],
  ])(
    'Redis is down at the start, with %s: the policy answers, and the store once it is up',
    async (_, options) => {
      const first = await server()
      await first.kill()
      const { limiter, errors } = limiterOn(connect(first.port, options))
      const { decision, ms } = await timed(limiter)
      expect([decision.source, ms < SOON_MS]).toEqual(['local', true])
      expect(errors.length).toBeGreaterThan(0)
      await server({ port: first.port })
      await recovers(limiter)
    },
  )

  test('Redis dies and comes back: no request waits, and those let pass meanwhile count once', async () => {
    const redis = await server()
    const { limiter } = limiterOn(connect(redis.port))
    await recovers(limiter)
    await redis.kill()
    const admitted = { local: 0, store: 0 }
    limiter.on('fallback', ({ allowed }) => void (admitted.local += allowed ? 1 : 0))
    for (let i = 0; i < 5; i += 1) {
      const { decision, ms } = await timed(limiter)
      expect([decision.source, ms < SOON_MS]).toEqual(['local', true])
    }
    await server({ port: redis.port })
    admitted.store = await recovers(limiter)
    const { limits } = await limiter.peek('acme')
    expect(admitted.local).toBeGreaterThanOrEqual(5)
    expect(1000 - (limits[0]?.remaining ?? 0)).toBe(admitted.local + admitted.store)
  })

  test('a foreign value under a key fails only its subject, is not overwritten, and is reported', async () => {
    const redis = await server()
    const client = connect(redis.port)
    const prefix = testPrefix()
    const limiter = closesWithTest(
      createLimiter({
        limit: '10/min',
        store: redisStore(client, { prefix }),
        deadlineMs: 5000,
      }),
    )
    const failures: string[] = []
    limiter.on('storeError', (error, requests) => failures.push(`${requests}: ${error.message}`))
    const ids = ['list', 'hash', 'text', 'long text', 'empty']
    for (const id of [...ids, 'mine']) await limiter.consume(id)
    const keys = await client.keys(`${prefix}/[^!]*`)
    const keyOf = (id: string): string => keys.find((key) => key.endsWith(`/${id}`)) ?? ''
    await client.del(keyOf('list'), keyOf('hash'))
    await client.lpush(keyOf('list'), 'x')
    await client.hset(keyOf('hash'), 'a', 'b')
    await client.set(keyOf('text'), 'hello')
    await client.set(keyOf('empty'), '')
    const plain = await Promise.all([
      limiter.consume('list'),
      limiter.consume('hash'),
      limiter.consume('text'),
      limiter.consume('empty'),
      limiter.consume('mine'),
    ])
    expect(plain.map(({ source }) => source)).toEqual(['local', 'local', 'local', 'local', 'store'])
    expect(plain[4]?.limits[0]?.remaining).toBe(8)
    expect(failures).toEqual([expect.stringMatching(/^4: .*(WRONGTYPE|FOREIGN)/)])
    expect(await client.get(keyOf('text'))).toBe('hello')
    await client.del(keyOf('list'))
    expect((await limiter.consume('list')).source).toBe('store')
  })

  test('Redis hangs for long: soon nothing more is sent to it, and answers come at once', async () => {
    const redis = await server()
    const client = connect(redis.port)
    const { limiter } = limiterOn(client)
    await recovers(limiter)
    const sent = jest.spyOn(client, 'evalsha')
    redis.pause()
    const answers: Promise<unknown>[] = []
    await eventually(() => {
      answers.push(timed(limiter))
      return limiter.health().status === 'degraded'
    })
    await Promise.all(answers)
    const before = sent.mock.calls.length
    // Each request is answered within one turn of the event loop, in which no deadline can pass.
    for (let i = 0; i < 100; i += 1) {
      const answer = await Promise.race([limiter.consume('acme'), turn()])
      expect(answer).toMatchObject({ source: 'local' })
    }
    // Only the breaker's probes reach Redis.
    expect(sent.mock.calls.length - before).toBeLessThan(10)
    redis.resume()
    await recovers(limiter)
  })

  test('a store that never answers is tried again at growing intervals', async () => {
    const asked: number[] = []
    const store = asyncStore({ consume: () => new Promise(() => asked.push(performance.now())) })
    const limiter = closesWithTest(createLimiter({ limit: '5/min', store, deadlineMs: 10 }))
    let before = Infinity
    limiter.on('breaker', () => (before = asked.length))
    // Some requests reach the store until the breaker opens, then only its probes, however many requests there are.
    await eventually(async () => {
      await limiter.consume('acme')
      return asked.length === before + 3
    })
    const [first = 0, second = 0, third = 0] = asked.slice(before)
    // A timer of Node may fire a millisecond early.
    expect(second - first).toBeGreaterThan(500 - 5)
    expect(third - second).toBeGreaterThan(1000 - 5)
  })

  test('requests that were answered while the store is not ready are not kept in memory', async () => {
    setFlagsFromString('--expose_gc')
    const collect = runInNewContext('gc') as () => void
    const never = new Promise<void>(() => {})
    const store = asyncStore({ ready: () => never })
    const limiter = closesWithTest(createLimiter({ limit: '5/min', store, deadlineMs: 10 }))
    const held: WeakRef<object>[] = []
    for (let i = 0; i < 50; i += 1) {
      const subject = { id: `tenant ${i}` }
      held.push(new WeakRef(subject))
      await limiter.consume(subject)
    }
    await eventually(() => {
      collect()
      expect(held.filter((ref) => ref.deref()).length).toBeLessThan(5)
    })
  })

  test('a client that would send commands twice causes one warning', () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const client = connect(1, { autoResendUnfulfilledCommands: true, lazyConnect: true })
    redisStore(client)
    redisStore(client)
    redisStore(connect(1, { lazyConnect: true }))
    expect(warn).toHaveBeenCalledTimes(1)
    expect(String(warn.mock.calls[0]?.[0])).toContain('autoResendUnfulfilledCommands: false')
    warn.mockRestore()
  })

  test('a damaged value gives an error or valid numbers, and affects no other subject', async () => {
    const redis = await server()
    const client = connect(redis.port)
    const prefix = testPrefix()
    const plans = { log: '10/min', mixed: ['10/s burst 20', '100/min', '5000/month'] } as const
    const store = redisStore(client, { prefix })
    const limiter = closesWithTest(createLimiter({ plans, defaultPlan: 'log', store, deadlineMs: 5000 }))
    for (let i = 0; i < 12; i += 1) await limiter.consume({ id: 'hurt', plan: 'mixed' })
    const [key = ''] = await client.keys(`${prefix}/[^!]*`)
    for (const [i, value] of damaged((await client.getBuffer(key)) as Buffer).entries()) {
      await client.set(key, value)
      const plan = i % 2 ? 'log' : 'mixed'
      const [hurt, other] = await Promise.all([
        limiter.peek({ id: 'hurt', plan }),
        limiter.consume(`other ${i}`),
        limiter.consume({ id: 'hurt', plan }),
      ])
      expect(other.source).toBe('store')
      for (const { quota, remaining, resetMs } of hurt.limits) {
        expect(Number.isSafeInteger(resetMs) && resetMs >= 0).toBe(true)
        expect(remaining).toBeGreaterThanOrEqual(0)
        expect(remaining).toBeLessThanOrEqual(Math.max(quota, 20))
      }
    }
  })

  test('with a closed client or a closed limiter the policy answers', async () => {
    const redis = await server()
    const client = connect(redis.port)
    const { limiter, errors } = limiterOn(client, { onStoreFailure: 'closed' })
    await recovers(limiter)
    client.disconnect()
    await eventually(() => client.status === 'end')
    expect((await limiter.consume('acme')).source).toBe('closed')
    await limiter.close()
    expect((await limiter.consume('acme')).source).toBe('closed')
    expect(errors.slice(-1)).toEqual(['ERR_TOLLGATE_CLOSED'])
    await expect(limiter.reset('acme')).rejects.toMatchObject({ code: 'ERR_TOLLGATE_CLOSED' })
  })

  test('a full Redis: the policy answers requests that must write, and the error names OOM', async () => {
    const redis = await server({ args: ['--maxmemory', '3mb', '--maxmemory-policy', 'noeviction'] })
    const client = connect(redis.port)
    const { limiter } = limiterOn(client, { deadlineMs: 5000 })
    const messages: string[] = []
    limiter.on('storeError', ({ message }) => messages.push(message))
    await recovers(limiter)
    await client.config('SET', 'maxmemory', '1')
    expect((await limiter.consume('new')).source).toBe('local')
    expect(messages.at(-1)).toContain('OOM')
    await client.config('SET', 'maxmemory', '0')
    expect((await limiter.consume('new')).source).toBe('store')
  })

  test('a process that was busy for longer than the deadline uses the reply that has arrived', async () => {
    const redis = await server()
    const { limiter } = limiterOn(connect(redis.port))
    await recovers(limiter)
    const decision = limiter.consume('acme')
    await new Promise(setImmediate)
    for (const until = performance.now() + 10 * DEADLINE_MS; performance.now() < until;);
    expect((await decision).source).toBe('store')
  })

  test('ioredis 5 serves as ioredis 6 does', async () => {
    const redis = await server()
    const client = new Redis5(redis.port, '127.0.0.1', {
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 50,
    })
    endsWithTest(client)
    const limiter = closesWithTest(
      createLimiter({ limit: '2/min', store: redisStore(client), deadlineMs: 5000 }),
    )
    const decisions = await Promise.all([1, 2, 3].map(() => limiter.consume('acme')))
    expect(decisions.map(({ allowed, source }) => [allowed, source])).toEqual([
      [true, 'store'],
      [true, 'store'],
      [false, 'store'],
    ])
  })

  test.each<[string, () => unknown]>([
    [
      'throws what cannot be shown',
      () => {
        throw Object.create(null)
      },
    ],
    ['rejects', () => Promise.reject(new Error('listener'))],
  ])('a listener that %s leaves no request of the batch without an answer', async (_, listener) => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const redis = await server()
    const { limiter } = limiterOn(connect(redis.port), { limit: '1/min', deadlineMs: 5000, warnings: true })
    limiter.on('limited', () => listener() as void)
    await limiter.consume('acme')
    const decisions = await Promise.all(['acme', 'a', 'b'].map((id) => limiter.consume(id)))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([false, true, true])
    await eventually(() => expect(warn).toHaveBeenCalledTimes(1))
    warn.mockRestore()
  })
})
