import { eventually, startProxy } from '@tollgate/testing'
import { Redis } from 'ioredis'
import {
  connect,
  DEADLINE_MS,
  endFaults,
  endsWithTest,
  limiterOn,
  recovers,
  server,
} from '../../support/faults.js'

afterEach(endFaults)

describe('scripts that Redis has forgotten', () => {
  test('SCRIPT FLUSH under load: every caller is answered by the store, and the text is sent once', async () => {
    const redis = await server()
    const client = connect(redis.port)
    const { limiter } = limiterOn(client, { deadlineMs: 5000 })
    await recovers(limiter)
    await client.script('FLUSH')
    await client.config('RESETSTAT')
    const waves = []
    for (let i = 0; i < 20; i += 1) {
      waves.push(Promise.all(Array.from({ length: 10 }, () => limiter.consume('acme'))))
      await new Promise(setImmediate)
    }
    const decisions = (await Promise.all(waves)).flat()
    expect(decisions.every(({ source }) => source === 'store')).toBe(true)
    expect(await client.info('commandstats')).toMatch(/cmdstat_eval:calls=1,/)
    const { limits } = await limiter.peek('acme')
    expect(limits[0]?.remaining).toBe(1000 - 201)
  })

  test('SCRIPT FLUSH every ms, with pipelines made by the client: the store still answers all', async () => {
    const redis = await server()
    const operator = connect(redis.port)
    const client = new Redis(redis.port, '127.0.0.1', {
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 50,
      enableAutoPipelining: true,
    })
    endsWithTest(client)
    const { limiter } = limiterOn(client, { deadlineMs: 5000, limit: '100000/min' })
    const sources = new Set<string>()
    for (let i = 0; i < 150; i += 1) {
      const answers = Array.from({ length: 10 }, (_, j) => limiter.consume(`t${j}`))
      const flushed = operator.script('FLUSH')
      for (const { source } of await Promise.all(answers)) sources.add(source)
      await flushed
    }
    expect([...sources]).toEqual(['store'])
  })

  test('a script that Redis does not know is not sent again after the deadline', async () => {
    const redis = await server()
    const client = connect(redis.port)
    // Under `local` the request would be charged soon after, by a key and perhaps by the script's text.
    const { limiter } = limiterOn(client, { onStoreFailure: 'open' })
    // Then the script that reads rules is known, and is not sent again.
    await eventually(() => limiter.health().rules === 'current')
    await client.config('RESETSTAT')
    redis.pause()
    expect((await limiter.consume('acme')).source).toBe('open')
    redis.resume()
    // Redis answers in order: by now it has replied NOSCRIPT, and the ping comes behind anything sent after that.
    expect(await client.keys('*/[^!]*')).toEqual([])
    await client.ping()
    expect(await client.info('commandstats')).not.toContain('cmdstat_eval:')
  })

  test('units that Redis counts late are given back, even if the refund script is unknown then', async () => {
    const redis = await server()
    const proxy = await startProxy(redis)
    const { limiter } = limiterOn(connect(proxy.port), { onStoreFailure: 'closed', local: { instances: 1 } })
    const left = async (): Promise<number | undefined> => (await limiter.peek('acme')).limits[0]?.remaining
    await recovers(limiter)
    const operator = connect(redis.port)
    await operator.config('RESETSTAT')
    proxy.latency(3 * DEADLINE_MS)
    expect((await limiter.consume('acme', { cost: 8 })).source).toBe('closed')
    // The refund script is sent as text once Redis has replied NOSCRIPT.
    await eventually(async () => (await operator.info('commandstats')).includes('cmdstat_eval:'))
    proxy.latency(0)
    await eventually(async () => expect(await left()).toBe(999))
  })
})
