// Requests and responses that Express did not make: those of a plain Node server, and mocks of unit tests.
import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { eventually, serveHandler, type Served } from '@tollgate/testing'
import { rateLimit, type Limiter, type RateLimitHandler } from '../src/index.js'

type Bare = (req: unknown, res: unknown, next: (error?: unknown) => void) => void
const bare = (handler: RateLimitHandler): Bare => handler as unknown as Bare

let served: Served | undefined
afterEach(async () => {
  await served?.close()
  served = undefined
})

test('a plain Node server: limited by address, with a body of a type that the client accepts', async () => {
  const handler = bare(rateLimit({ limit: '1/min', warnings: false }))
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

test('a mock request with as few properties as possible', async () => {
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
  // The first request gets its unit back, since the response that both share ended with an error.
  Object.assign(res, { statusCode: 500, headersSent: true })
  res.emit('finish')
  await eventually(async () =>
    expect(await handlerLimiter(handler).peek('acme')).toMatchObject({ limits: [{ remaining: 1 }] }),
  )
})

test('a mock request without a socket is limited, too', () => {
  const next = jest.fn()
  const end = jest.fn()
  const res = { getHeader: () => undefined, setHeader: () => {}, end }
  const handler = bare(rateLimit({ limit: '1/min', warnings: false }))
  handler({ method: 'GET', headers: { forwarded: 'for=x' } }, res, next)
  handler({ method: 'GET', headers: { forwarded: 'for=x' } }, res, next)
  expect([next.mock.calls, end.mock.calls.length]).toEqual([[[]], 1])
})
