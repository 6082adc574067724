// Requests and responses that are not Express's own: of a bare Node server, and mocks as unit tests make them.
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { serveHandler, type Served } from '@tollgate/testing'
import { rateLimit, type Limiter, type RateLimitHandler } from '../src/index.js'

type Bare = (req: unknown, res: unknown, next: (error?: unknown) => void) => void
const bare = (handler: RateLimitHandler): Bare => handler as unknown as Bare

let served: Served | undefined
afterEach(async () => {
  await served?.close()
  served = undefined
})

test('a bare Node server: limited by address, with a body in the words that the client accepts', async () => {
  const handler = bare(rateLimit({ limit: '1/min' }))
  served = await serveHandler((req: IncomingMessage, res: ServerResponse) => {
    handler(req, res, (error) => res.writeHead(error ? 500 : 200).end(error ? 'failed' : 'ok'))
  })
  const ask = (): Promise<Response> =>
    fetch(served?.url ?? '', { headers: { accept: 'text/plain', 'x-forwarded-for': '203.0.113.1' } })
  expect(await (await ask()).text()).toBe('ok')
  const denied = await ask()
  expect([denied.status, denied.headers.get('content-type')]).toEqual([429, 'text/plain; charset=utf-8'])
  expect(await handlerLimiter(handler).peek({ id: '127.0.0.1', kind: 'ip' })).toMatchObject({
    allowed: false,
  })
})

const handlerLimiter = (handler: Bare): Limiter => (handler as unknown as RateLimitHandler).limiter

test('a mock of a request, with as little as can be', async () => {
  const next = jest.fn()
  const headers: Record<string, unknown> = {}
  const res = Object.assign(new EventEmitter(), {
    statusCode: 200,
    headersSent: false,
    getHeader: (name: string) => headers[name],
    setHeader: (name: string, value: unknown) => void (headers[name] = value),
    end: jest.fn(),
  })
  const handler = bare(
    rateLimit({ limit: '1/min', identify: () => 'acme', refundWhen: ({ status }) => status === 500 }),
  )
  handler({ method: 'GET', headers: {} }, res, next)
  handler({ method: 'GET', headers: {} }, res, next)
  expect(next.mock.calls).toEqual([[]])
  expect([res.statusCode, headers['Retry-After']]).toEqual([429, '60'])
  // Of the first: the response of both is over, badly.
  res.statusCode = 500
  res.emit('finish')
  await sleep(10)
  expect(await handlerLimiter(handler).peek('acme')).toMatchObject({ limits: [{ remaining: 1 }] })
})

test('a mock without a socket, by address: limited all the same', () => {
  const next = jest.fn()
  const end = jest.fn()
  const res = { getHeader: () => undefined, setHeader: () => {}, end }
  const handler = bare(rateLimit({ limit: '1/min' }))
  handler({ method: 'GET', headers: { forwarded: 'for=x' } }, res, next)
  handler({ method: 'GET', headers: { forwarded: 'for=x' } }, res, next)
  expect([next.mock.calls, end.mock.calls.length]).toEqual([[[]], 1])
})
