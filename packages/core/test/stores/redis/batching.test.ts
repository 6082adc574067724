import { createHook } from 'node:async_hooks'
import { startRedis, testPrefix, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createLimiter, redisStore } from '../../../src/index.js'
import { closesWithTest, endFaults, endsWithTest } from '../../support/faults.js'
import { scriptCallsOf } from '../../support/script-calls.js'

/** On a busy machine, too; and no limiter counts instances, with calls of its own. */
const alone = { deadlineMs: 60_000, local: { instances: 1 } } as const

let server: RedisServer
let client: Redis
beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, '127.0.0.1', {
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
  })
})
afterEach(endFaults)
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

async function callsOf(command: string): Promise<number> {
  const stats = await client.info('commandstats')
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
}

test('the requests of one tick are one EVALSHA; those of two ticks are two', async () => {
  const limiter = closesWithTest(
    createLimiter({
      plans: { a: '1000/min', b: '10/s burst 500' },
      defaultPlan: 'a',
      store: redisStore(client, { prefix: testPrefix() }),
      ...alone,
    }),
  )
  const tick = (): Promise<unknown>[] =>
    Array.from({ length: 100 }, (_, i) =>
      Promise.resolve(limiter.consume({ id: `s${i % 7}`, plan: i % 2 ? 'a' : 'b' }, { cost: 1 + (i % 3) })),
    )
  // Redis knows the script from now on.
  await Promise.all(tick())
  await client.config('RESETSTAT')
  const first = tick()
  await new Promise(setImmediate)
  await Promise.all([...first, ...tick()])
  expect([await scriptCallsOf(client), await callsOf('eval')]).toEqual([2, 0])
})

test('a common denial reads its key once: the quick way gives the answer, not the general way after it', async () => {
  const store = redisStore(client, { prefix: testPrefix() })
  const algorithms = ['sliding-log', 'sliding-window', 'fixed-window', 'token-bucket'] as const
  for (const algorithm of algorithms) {
    const limit = { quota: 2, window: '1h', algorithm } as const
    const limiter = closesWithTest(createLimiter({ name: algorithm, limit, store, denials: false, ...alone }))
    await limiter.consume('acme', { cost: 2 })
    await client.config('RESETSTAT')
    const lone = await limiter.consume('acme')
    expect([lone.allowed, await callsOf('get'), await scriptCallsOf(client)]).toEqual([false, 1, 1])
    const flood = await Promise.all(Array.from({ length: 9 }, () => limiter.consume('acme')))
    expect(flood.filter(({ allowed }) => allowed)).toEqual([])
    expect([await callsOf('get'), await callsOf('mget'), await scriptCallsOf(client)]).toEqual([2, 0, 2])
  }
})

test('a lone request leaves in the same tick, without a timer or a turn of the event loop', async () => {
  const store = redisStore(client, { prefix: testPrefix() })
  const limiter = closesWithTest(createLimiter({ limit: '1000/min', store, ...alone }))
  await limiter.consume('acme')
  // Not with a spy on the globals: Tollgate takes its timers from node:timers.
  const made: string[] = []
  const hook = createHook({ init: (_, type) => void made.push(type) }).enable()
  const sent = jest.spyOn(client, 'evalsha')
  const decision = limiter.consume('acme')
  await Promise.resolve()
  hook.disable()
  expect(sent).toHaveBeenCalledTimes(1)
  expect(made).toContain('PROMISE')
  expect(made.filter((type) => ['Timeout', 'Immediate'].includes(type))).toEqual([])
  await decision
  sent.mockRestore()
})

test('while Redis decides one part of what callers ask again and again, another is concluded', async () => {
  const limiter = closesWithTest(
    createLimiter({
      limit: '100000/min',
      store: redisStore(client, { prefix: testPrefix() }),
      ...alone,
    }),
  )
  await limiter.consume('acme')
  await client.config('RESETSTAT')
  const asked = Array.from({ length: 64 }, async () => {
    for (let i = 0; i < 20; i += 1) await limiter.consume('acme')
  })
  await Promise.all(asked)
  // The first call has all 64, and each of the others about half; 20 calls would always have all.
  const calls = await scriptCallsOf(client)
  expect(calls).toBeGreaterThan(20)
  expect(calls).toBeLessThan(80)
})

test('a batch too large for one script is split', async () => {
  const limiter = closesWithTest(
    createLimiter({
      limit: '5000/min',
      store: redisStore(client, { prefix: testPrefix() }),
      ...alone,
    }),
  )
  await limiter.consume('acme')
  await client.config('RESETSTAT')
  const decisions = await Promise.all(Array.from({ length: 1100 }, () => limiter.consume('acme')))
  expect(decisions.at(-1)?.limits[0]?.remaining).toBe(5000 - 1101)
  expect(await scriptCallsOf(client)).toBe(9)
})

test('one key per subject, whatever its limits, with the prefixes of the store and of the client', async () => {
  const prefixed = new Redis(server.port, '127.0.0.1', {
    keyPrefix: 'shop:',
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
  })
  endsWithTest(prefixed)
  const store = redisStore(prefixed, { prefix: 'limits' })
  const limiter = closesWithTest(
    createLimiter({
      limit: ['10/s burst 20', '120/min', '5000/month'],
      store,
      ...alone,
    }),
  )
  await limiter.consume('acme')
  const keys = await client.keys('shop:*/[^!]*')
  expect(keys).toEqual([expect.stringMatching(/^shop:limits\/acme$/)])
  await limiter.reset('acme')
  expect(await client.exists(keys[0] as string)).toBe(0)
})

test('a client that returns numbers as strings works', async () => {
  const strings = new Redis(server.port, '127.0.0.1', {
    stringNumbers: true,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
  })
  endsWithTest(strings)
  const limiter = closesWithTest(
    createLimiter({
      limit: '2/min',
      store: redisStore(strings, { prefix: testPrefix() }),
      ...alone,
    }),
  )
  const decisions = await Promise.all([1, 2, 3].map(() => limiter.consume('acme')))
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false])
  expect(decisions[0]?.limits[0]?.remaining).toBe(1)
})

test.each([
  [undefined, 'redisStore(client)'],
  [{}, 'redisStore(client)'],
  ['redis://127.0.0.1', 'redisStore(client)'],
])('a client of %p is refused at construction', (given, path) => {
  expect(() => redisStore(given as never)).toThrow(
    expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }),
  )
})

test.each(['', 'a{b}', 'a b', 'x'.repeat(65), 5])('a prefix of %p is refused at construction', (prefix) => {
  expect(() => redisStore(client, { prefix: prefix as string })).toThrow(
    expect.objectContaining({ path: 'prefix' }),
  )
})

test('an unused limiter only asks for the rules, and leaves no listener', async () => {
  const before = client.eventNames().map((name) => client.listenerCount(name))
  await client.config('RESETSTAT')
  const limiter = createLimiter({ limit: '1/min', store: redisStore(client, { prefix: testPrefix() }) })
  // What it sent would be answered before this is.
  await client.ping()
  for (const command of ['get', 'mget', 'set'])
    expect([command, await callsOf(command)]).toEqual([command, 0])
  expect(client.eventNames().map((name) => client.listenerCount(name))).toEqual(before)
  await limiter.close()
})
