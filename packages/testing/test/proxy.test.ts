import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Redis } from 'ioredis'
import { ask, eventually, startProxy, startRedis, type Proxy, type RedisServer } from '../src/index.ts'

describe('a proxy in front of a Redis', () => {
  let server: RedisServer
  let proxy: Proxy
  let client: Redis
  beforeAll(async () => {
    server = await startRedis()
  })
  beforeEach(async () => {
    proxy = await startProxy(server)
    // maxRetriesPerRequest 0, so that pending commands fail: else ioredis would never settle their promises.
    client = new Redis(proxy.url, {
      retryStrategy: () => 20,
      maxRetriesPerRequest: 0,
      disconnectTimeout: 100,
    })
    client.on('error', () => {})
    await client.flushall()
  })
  afterEach(async () => {
    client.disconnect()
    await proxy.close()
  })
  afterAll(() => server.stop())

  const timed = async (): Promise<number> => {
    const started = performance.now()
    await client.ping()
    return performance.now() - started
  }
  /** A connection without a Redis client. */
  const raw = async (): Promise<Socket> => {
    const before = proxy.open
    const socket = connect(proxy.port, '127.0.0.1')
    await once(socket, 'connect')
    await eventually(() => proxy.open > before)
    return socket
  }
  // Not with `once` of node:events, which rejects at the first error.
  const nextReady = (): Promise<void> => new Promise((resolve) => client.once('ready', resolve))
  const ready = async (): Promise<unknown> => client.status === 'ready' || nextReady()

  test('passes everything on', async () => {
    await client.set('key', 'x'.repeat(1_000_000))
    expect(await client.get('key')).toHaveLength(1_000_000)
    expect(proxy.open).toBe(1)
  })

  test('delays answers by the given time, in order, and not longer', async () => {
    const pings = async (): Promise<number> => {
      const stats = String(await ask(server.port, 'INFO', 'commandstats'))
      return Number(/cmdstat_ping:calls=(\d+)/.exec(stats)?.[1] ?? 0)
    }
    await ready()
    proxy.latency(200)
    const before = await pings()
    const slow = [timed(), timed()]
    await eventually(async () => (await pings()) === before + 2)
    proxy.latency(0)
    const answers = await Promise.all([client.incr('n'), client.incr('n'), client.incr('n')])
    expect(answers).toEqual([1, 2, 3])
    for (const ms of await Promise.all(slow)) expect(ms).toBeGreaterThan(190)
    // The fastest of several, since a busy machine can delay any of them.
    const times = []
    for (let i = 0; i < 20; i += 1) times.push(await timed())
    expect(Math.min(...times)).toBeLessThan(190)
  })

  test('cuts connections with a reset; new ones work', async () => {
    await ready()
    const socket = await raw()
    const failed = once(socket, 'error')
    const reconnected = nextReady()
    proxy.cut()
    expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' })
    await reconnected
    expect(await client.ping()).toBe('PONG')
  })

  test('cuts connections in the middle of an answer: the command has run, and the client does not know', async () => {
    proxy.cutAfterBytes(2)
    await expect(client.incr('n')).rejects.toThrow('max retries')
    await proxy.restore()
    await ready()
    expect(await client.get('n')).toBe('1')
  })

  test('lets the given number of bytes through before a cut', async () => {
    const socket = await raw()
    let got = ''
    socket.on('data', (data) => (got += data.toString()))
    // Node reports a reset that comes with the last bytes as an end.
    const closed = once(socket, 'close')
    proxy.cutAfterBytes(9)
    socket.write('PING\r\n')
    await eventually(() => got === '+PONG\r\n')
    socket.write('PING\r\n')
    await closed
    expect(got).toBe('+PONG\r\n+P')
  })

  test('holds everything back, on open and on new connections, and then delivers it', async () => {
    proxy.blackhole()
    const incremented = client.incr('n')
    const socket = await raw()
    socket.write('PING\r\n')
    const answered = Promise.race([incremented, once(socket, 'data')]).then(() => 'answered')
    // Anything that the proxy lets through is answered before a connection that is only made now.
    const silence = ask(server.port, 'PING').then(() => 'silence')
    expect(await Promise.race([answered, silence])).toBe('silence')
    await proxy.restore()
    expect(await incremented).toBe(1)
    await answered
    socket.destroy()
  })

  test('refuses connections until it is restored, then works on the same port', async () => {
    const { port } = proxy
    await ready()
    const reconnected = nextReady()
    await proxy.refuse()
    await expect(raw()).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    expect(proxy.open).toBe(0)
    await proxy.restore()
    await reconnected
    expect([proxy.port, await client.ping()]).toEqual([port, 'PONG'])
  })

  test('resets connections to a server that is gone', async () => {
    const other = await startRedis()
    const toOther = await startProxy(other)
    await other.kill()
    const socket = connect(toOther.port, '127.0.0.1')
    expect((await once(socket, 'error'))[0]).toMatchObject({ code: 'ECONNRESET' })
    await toOther.close()
  })
})
