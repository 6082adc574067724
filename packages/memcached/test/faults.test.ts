// Law 9 on Memcached: always an answer, within the deadline, whatever the server does.
import type { Decision, Limiter } from '@tollgate/core'
import { eventually, startMemcached, type MemcachedServer } from '@tollgate/testing'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import Memcached from 'memcached'
import memjs from 'memjs'
import type { Memcached as Servers } from '../src/index.ts'
import { allowed, consumeAll, newPrefix, Processes } from './support.ts'

const processes = new Processes()
const opened: (() => unknown)[] = []
let server: MemcachedServer

beforeEach(async () => {
  server = await startMemcached()
})
afterEach(async () => {
  server.resume()
  await processes.stop()
  for (const close of opened.splice(0)) await close()
  await server.kill()
})

/** After errors at once, node memcached sets a timer of hours that nobody can clear: it would keep the tests from ending. */
const HOURS_MS = 18_000_000
const { setTimeout: setTimer } = globalThis
beforeAll(() => {
  globalThis.setTimeout = ((run: () => void, ms: number, ...rest: []) => {
    const timer = setTimer(run, ms, ...rest)
    return ms === HOURS_MS ? timer.unref() : timer
  }) as typeof setTimeout
})
afterAll(() => {
  globalThis.setTimeout = setTimer
})

/** Every way to reach a server. */
const WAYS: Record<string, (address: string) => Servers> = {
  'an address': (address) => address,
  memjs: (address) => {
    const client = memjs.Client.create(address, { timeout: 1, retries: 1, logger: { log() {} } } as object)
    opened.push(() => client.close())
    return client as unknown as Servers
  },
  'node memcached': (address) => {
    const client = new Memcached(address, {
      ...{ retry: 100, failures: 1e9, failuresTimeout: 1000, retries: 0, timeout: 500 },
      reconnect: HOURS_MS,
    })
    opened.push(() => client.end())
    return client as unknown as Servers
  },
}

const LIMIT = { limit: { quota: 50, window: '10 h', algorithm: 'fixed-window' }, deadlineMs: 200 } as const

describe.each(Object.keys(WAYS))('by %s', (way) => {
  const start = (options: object = {}, prefix = newPrefix()): Limiter =>
    processes.start(WAYS[way]!(server.address), { ...LIMIT, ...options }, { prefix })
  const decidesAgain = (limiter: Limiter): Promise<void> =>
    eventually(async () => expect((await limiter.consume('other')).source).toBe('store'))

  test.each(['local', 'open', 'closed'] as const)('killed and restarted, under %s', async (policy) => {
    const limiter = start({ onStoreFailure: policy })
    await decidesAgain(limiter)
    const { port } = server
    await server.kill()
    for (let i = 0; i < 20; i += 1) expect((await limiter.consume('acme')).source).toBe(policy)
    server = await startMemcached({ port })
    await decidesAgain(limiter)
  })

  test('hung: it answers, and what was let in meanwhile is counted afterwards', async () => {
    const prefix = newPrefix()
    const limiter = start({ local: { instances: 1 } }, prefix)
    const reconciled: number[] = []
    limiter.on('reconciliation', ({ units }) => void reconciled.push(units))
    expect(allowed(await consumeAll(limiter, 'acme', 10))).toBe(10)
    server.pause()
    const meanwhile: Decision[] = []
    // The signal takes a moment to reach all threads.
    await eventually(async () => {
      const decision = await limiter.consume('acme')
      meanwhile.push(decision)
      expect(decision.source).toBe('local')
    })
    for (let i = 0; i < 60; i += 1) meanwhile.push(await limiter.consume('acme'))
    expect(new Set(meanwhile.slice(-60).map(({ source }) => source))).toEqual(new Set(['local']))
    server.resume()
    await decidesAgain(limiter)
    await eventually(() => expect(reconciled.length).toBeGreaterThan(0))
    // Requests that the server got late may count twice, never zero times.
    expect(allowed([...meanwhile, ...(await consumeAll(limiter, 'acme', 60))])).toBeLessThanOrEqual(40)
    expect((await limiter.peek('acme')).limits[0]).toMatchObject({ remaining: 0 })
  })

  test('absent at the start', async () => {
    const { port } = server
    await server.kill()
    const limiter = start()
    expect((await limiter.consume('acme')).source).toBe('local')
    server = await startMemcached({ port })
    await decidesAgain(limiter)
  })
})

describe("the store's own connection", () => {
  test('reads replies that come in pieces, or many at once', async () => {
    const proxy = await inPieces(server.port)
    const limiter = processes.start(proxy, LIMIT)
    const decisions = await consumeAll(limiter, 'acme', 60)
    expect(decisions.map(({ source }) => source)).toEqual(Array.from({ length: 60 }, () => 'store'))
    expect(allowed(decisions)).toBe(50)
  })

  test('gives up a connection that is silent, and opens another', async () => {
    let connections = 0
    const { connect } = await import('node:net')
    const address = await listen(
      createServer((client) => {
        connections += 1
        client.on('error', () => {})
        // The first is swallowed, as by a firewall that forgot it.
        if (connections > 1)
          client
            .pipe(connect(server.port, '127.0.0.1'))
            .on('error', () => {})
            .pipe(client)
      }),
    )
    const limiter = processes.start(address, LIMIT)
    expect((await limiter.consume('acme')).source).toBe('local')
    await eventually(async () => expect((await limiter.consume('acme')).source).toBe('store'))
    expect(connections).toBe(2)
  })

  test('does not believe what comes unasked', async () => {
    let client: Socket | undefined
    const { connect } = await import('node:net')
    const address = await listen(
      createServer((socket) => {
        client = socket.on('error', () => {})
        socket
          .pipe(connect(server.port, '127.0.0.1'))
          .on('error', () => {})
          .pipe(socket)
      }),
    )
    const limiter = processes.start(address, { ...LIMIT, deadlineMs: 20_000 })
    await consumeAll(limiter, 'acme', 50)
    const ended = once(client as Socket, 'end')
    client?.write('EN\r\n')
    await ended
    expect(allowed(await consumeAll(limiter, 'acme', 5))).toBe(0)
  })

  const GARBAGE = [
    'HTTP/1.1 400 Bad Request\r\n\r\n',
    '\u0000\u0001\u0002\r\n',
    'VA 5\r\nabc',
    'VA x \r\n\r\n',
    'ERROR\r\n',
    'x'.repeat(200_000),
  ]

  test.each(GARBAGE)('a server that answers %j is a fault of the store', async (garbage) => {
    const address = await answering((socket) => socket.write(garbage))
    const limiter = processes.start(address, { ...LIMIT, onStoreFailure: 'closed' })
    const faults: string[] = []
    limiter.on('storeError', ({ reason }) => void faults.push(reason))
    for (let i = 0; i < 10; i += 1) {
      expect(await limiter.consume('acme')).toMatchObject({ allowed: false, source: 'closed' })
    }
    expect(faults.length).toBeGreaterThan(0)
  })

  test('a server that closes in mid-answer is a fault of the store', async () => {
    const address = await answering((socket) => socket.end('VA 16\r\n1234'))
    const limiter = processes.start(address, { ...LIMIT, onStoreFailure: 'closed' })
    expect(await limiter.consume('acme')).toMatchObject({ allowed: false, source: 'closed' })
  })

  test('one of two servers is killed: the other goes on', async () => {
    const second = await startMemcached()
    opened.push(() => second.kill())
    const limiter = processes.start([server.address, second.address], { ...LIMIT, onStoreFailure: 'closed' })
    const ids = Array.from({ length: 40 }, (_, i) => `tenant-${i}`)
    const sources = async (): Promise<string[]> =>
      Promise.all(ids.map(async (id) => (await limiter.consume(id)).source))
    expect(new Set(await sources())).toEqual(new Set(['store']))
    await second.kill()
    expect(new Set(await sources())).toEqual(new Set(['store', 'closed']))
  })
})

/** A server that answers everything in one way. Returns its address. */
async function answering(answer: (socket: Socket) => unknown): Promise<string> {
  return listen(createServer((socket) => socket.on('error', () => {}).on('data', () => answer(socket))))
}

/** A proxy that passes answers on a byte at a time, then in one piece. */
async function inPieces(port: number): Promise<string> {
  const { connect } = await import('node:net')
  return listen(
    createServer((client) => {
      const upstream = connect(port, '127.0.0.1')
      client.on('error', () => {}).on('close', () => upstream.destroy())
      client.on('data', (data) => upstream.write(data))
      upstream.setNoDelay(true)
      client.setNoDelay(true)
      upstream.on('data', async (data) => {
        const cut = Math.min(data.length - 1, 7)
        for (let i = 0; i < cut; i += 1) {
          client.write(data.subarray(i, i + 1))
          await new Promise((resolve) => setImmediate(resolve))
        }
        client.write(data.subarray(cut))
      })
    }),
  )
}

async function listen(one: Server): Promise<string> {
  const sockets = new Set<Socket>()
  one.on('connection', (socket) => sockets.add(socket))
  one.listen(0, '127.0.0.1')
  await once(one, 'listening')
  opened.push(() => {
    for (const socket of sockets) socket.destroy()
    one.close()
  })
  return `127.0.0.1:${(one.address() as AddressInfo).port}`
}
