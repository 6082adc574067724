import { once } from 'node:events'
import { connect } from 'node:net'
import { byIp, createLimiter, subjectForIp, type Store } from '@tollgate/core'
import { eventually } from '../../eventually.ts'
import type { AnyRequest, Serve, ServeOptions } from '../adapter-contract.ts'
import { httpBench, whenGone } from '../http-bench.ts'

type Options = ServeOptions['options']

const leaves = ({ headers }: AnyRequest): boolean => headers['x-leaves'] !== undefined

/** Clients that try to get around the limiter, and user functions that return something unexpected. */
export function hostileContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`hostile contract: ${name}`, () => {
    const { start, statuses } = httpBench(serve, makeStore)
    /** Called by the application before the limiter. For clients that leave, it waits until they have. */
    const waits = jest.fn(async (req: AnyRequest): Promise<undefined> => {
      if (leaves(req)) await whenGone(req)
    })
    beforeEach(() => waits.mockClear())
    /** Sends a request and leaves while the application waits. */
    const leave = async (url: string): Promise<void> => {
      const before = waits.mock.calls.length
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Leaves: yes\r\n\r\n')
      await eventually(() => expect(waits).toHaveBeenCalledTimes(before + 1))
      socket.destroy()
      await waits.mock.results[before]?.value
    }

    test('a client that leaves during identify is still counted, and blocked, by its address', async () => {
      const limiter = createLimiter({ limit: '5/min' })
      const url = await start({ limiter, identify: waits })
      for (let i = 0; i < 3; i += 1) await leave(url)
      await eventually(() => expect(limiter.stats().decisions.store.allowed).toBe(3))
      expect((await fetch(url)).headers.get('ratelimit')).toMatch(/^"minute";r=1;/)

      const passed = jest.fn(() => false)
      const closed = await start({
        limiter,
        skip: async (req) => Boolean(await waits(req)),
        blockList: ['127.0.0.0/8'],
        cost: () => (passed(), 1),
      })
      await leave(closed)
      // The request of the client that left has been decided by now, since nothing holds it up any more.
      expect(await statuses(closed, 1)).toEqual([403])
      expect(passed).not.toHaveBeenCalled()
    })

    /** Sends a request and resets the connection, so that it is gone before the server can read its address. */
    const reset = async (url: string): Promise<void> => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      await once(socket, 'connect')
      socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-Leaves: yes\r\n\r\n')
      socket.resetAndDestroy()
    }
    /** Waits until `before` has been called this many times and has finished. */
    const waited = async (before: jest.Mock<Promise<void>>, times: number): Promise<void> => {
      await eventually(() => expect(before).toHaveBeenCalledTimes(times))
      await Promise.all(before.mock.results.map(({ value }) => value as Promise<void>))
    }
    const byAddress = byIp({ plan: 'address' })

    test.each<[string, (req: AnyRequest) => Promise<void>]>([
      ['while the application waits for something else', waits],
      ['at once', async () => {}],
    ])('a client that left %s, and so has no address, does not pass by that', async (_, wait) => {
      const onHandled = jest.fn()
      const limiter = createLimiter({ plans: { address: '5/min', tenant: '50/min' }, warnings: false })
      const places: Options[] = [
        { limit: '5/min' },
        { limiter, identify: byAddress },
        {
          limiter,
          identify: (req) => [{ id: leaves(req) ? 'acme' : 'other', plan: 'tenant' }, byAddress(req)],
        },
        { limiter, identify: () => 'acme', blockList: ['127.0.0.0/8'] },
        { limiter, methods: ['POST'], blockList: ['127.0.0.0/8'] },
        { limiter, methods: ['POST'], blockList: ({ id }) => id === '127.0.0.1' },
      ]
      const answers = []
      for (const options of places) {
        const before = jest.fn(wait)
        const url = await start(options, { before, onHandled })
        await reset(url)
        await waited(before, 1)
        // Comes after the request of the client that left: once this is answered, the other has been decided, too.
        answers.push(...(await statuses(url, 1)))
      }
      expect(answers).toEqual([200, 200, 200, 403, 403, 403])
      expect(onHandled).toHaveBeenCalledTimes(3)
      const { limits } = await limiter.peek([subjectForIp(undefined), { id: 'acme', plan: 'tenant' }])
      for (const { remaining, quota } of limits) expect(remaining).toBe(quota)
    })

    test('a client that left passes where its address decides nothing', async () => {
      const onHandled = jest.fn()
      const limiter = createLimiter({ limit: '5/min' })
      const url = await start(
        { limiter, identify: () => 'acme', allowList: ['10.0.0.0/8'], blockList: ['enemy'] },
        { before: waits, onHandled },
      )
      await reset(url)
      await eventually(() => expect(onHandled).toHaveBeenCalledTimes(1))
      expect(await limiter.peek('acme')).toMatchObject({ limits: [{ remaining: 4 }] })
    })

    test('a blocked client passes neither with another method nor as a preflight', async () => {
      const url = await start({ limit: '5/min', methods: ['POST'], blockList: ['127.0.0.0/8'] })
      expect(await statuses(url, 1)).toEqual([403])
      const preflight = { method: 'OPTIONS', headers: { 'access-control-request-method': 'PUT' } }
      expect(
        await statuses(await start({ limit: '5/min', blockList: ['127.0.0.0/8'] }), 1, preflight),
      ).toEqual([403])
      expect(
        await statuses(await start({ limit: '1/min', methods: ['POST'], blockList: ['10.0.0.0/8'] }), 3),
      ).toEqual([200, 200, 200])
    })

    test('an address with a port counts as the address', async () => {
      const url = await start({ limit: '1/min' }, { trustProxy: true })
      const from = (address: string): RequestInit => ({ headers: { 'x-forwarded-for': address } })
      expect(await statuses(url, 1, from('203.0.113.7:5000'))).toEqual([200])
      expect(await statuses(url, 1, from('203.0.113.7:5001'))).toEqual([429])
      expect(await statuses(url, 1, from('203.0.113.7'))).toEqual([429])
    })

    test('a result of skip counts if it is truthy', async () => {
      const skip = (req: AnyRequest): never => req.headers['x-health'] as never
      const url = await start({ limit: '1/min', skip })
      expect(await statuses(url, 3, { headers: { 'x-health': 'yes' } })).toEqual([200, 200, 200])
      expect(await statuses(url, 2)).toEqual([200, 429])
    })

    test('a body may be a promise; a rejection goes to the error handler', async () => {
      const url = await start({ limit: '1/min', body: async ({ violated }) => ({ violated }) })
      await fetch(url)
      const denied = await fetch(url)
      expect([denied.status, await denied.json()]).toEqual([429, { violated: ['minute'] }])

      const onError = jest.fn()
      const broken = await start(
        { limit: '1/min', body: () => Promise.reject(new Error('body')) },
        { onError },
      )
      expect(await statuses(broken, 2)).toEqual([200, 500])
      expect(onError.mock.calls).toEqual([[expect.objectContaining({ message: 'body' })]])
    })

    test('a handler of denials may return any thenable: the request does not reach the application', async () => {
      const url = await start({
        limit: '1/min',
        onDenied: (_req: AnyRequest, res: never) => {
          const node = (res as { raw?: object; res?: object }).raw ?? (res as { res?: object }).res ?? res
          ;(node as { statusCode: number; end(text: string): void }).statusCode = 429
          ;(node as { end(text: string): void }).end('denied')
          // Like a reply of Fastify, its `then` returns nothing.
          return { then: (resolve: () => void): void => resolve() } as never
        },
      })
      expect(await (await fetch(url)).text()).toContain('ok')
      const denied = await fetch(url)
      expect([denied.status, await denied.text()]).toEqual([429, 'denied'])
    })

    test.each<[string, Options]>([
      ['a cost that is nothing', { cost: () => undefined as never }],
      [
        'a list with a promise for a subject',
        { identify: () => [Promise.reject(new Error('late'))] as never },
      ],
      [
        'a subject whose plan is a promise',
        { identify: () => ({ id: 'a', plan: Promise.reject(new Error('late')) }) as never },
      ],
    ])('%s: the error handler is called, and no rejection stays unhandled', async (_, options) => {
      const onError = jest.fn()
      const url = await start({ limit: '5/min', ...options }, { onError })
      expect(await statuses(url, 1)).toEqual([500])
      expect(onError.mock.calls).toEqual([[expect.objectContaining({ name: 'TollgateError' })]])
    })
  })
}
