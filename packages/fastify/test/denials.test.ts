import type { FastifyInstance, FastifyReply } from 'fastify'
import { Readable } from 'node:stream'
import { rateLimit } from '../src/index.js'
import { byKey, ok, useApp } from './support/app.ts'

let app: FastifyInstance
const { get, statuses } = useApp((made) => {
  app = made
})

describe('denials and the error handler of the application', () => {
  const own = jest.fn((error, _request, reply) => reply.code(error.statusCode).send({ oops: error.code }))
  const limited = expect.objectContaining({
    name: 'LimitedError',
    code: 'ERR_TOLLGATE_LIMITED',
    status: 429,
    statusCode: 429,
    message: 'Over the rate limit: minute',
    contentType: 'application/problem+json',
    body: expect.stringContaining('"violated-policies":["minute"]'),
    decision: expect.objectContaining({ allowed: false, violated: ['minute'] }),
  })
  beforeEach(() => own.mockClear())

  test('a handler that is set gets denials, with the headers set', async () => {
    app.setErrorHandler(own)
    await app.register(rateLimit, { limit: '1/min' })
    app.get('/', ok)
    await get('/')
    const response = await get('/')
    expect([response.status, JSON.parse(response.body)]).toEqual([429, { oops: 'ERR_TOLLGATE_LIMITED' }])
    expect(response.headers).toMatchObject({
      'retry-after': '60',
      'cache-control': 'no-store',
      ratelimit: '"minute";r=0;t=60',
      'content-type': 'application/json; charset=utf-8',
    })
    expect(own.mock.calls).toEqual([[limited, expect.anything(), expect.anything()]])
  })

  test('headers for caches that an earlier hook has set are replaced in a denial', async () => {
    app.addHook('onRequest', async (_request, reply) => {
      reply
        .header('cache-control', 'public, max-age=60')
        .header('retry-after', '1')
        .header('access-control-expose-headers', 'x-a')
    })
    await app.register(rateLimit, { limit: '1/min', headers: { expose: true } })
    app.get('/', ok)
    expect((await get('/')).headers['cache-control']).toBe('public, max-age=60')
    const { headers } = await get('/')
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'retry-after': '60' })
    expect(headers['access-control-expose-headers']).toMatch(/^x-a, RateLimit-Policy, /)
  })

  test('if onDenied returns the reply, the error handler is not called', async () => {
    const handler = jest.fn(ok)
    await app.register(rateLimit, {
      limit: '1/min',
      onDenied: (_request, reply) => reply.code(429).send({ no: true }),
    })
    app.addHook('onSend', async () => {})
    app.get('/', handler)
    await get('/')
    expect((await get('/')).status).toBe(429)
    expect(handler).toHaveBeenCalledTimes(1)
  })

  test("it can send Tollgate's own response", async () => {
    app.setErrorHandler(
      async (error: { statusCode: number; contentType: string; body: string }, _request, reply) =>
        reply.code(error.statusCode).type(error.contentType).send(Buffer.from(error.body)),
    )
    await app.register(rateLimit, { limit: '1/min' })
    app.get('/', ok)
    await get('/')
    const response = await get('/')
    expect([response.status, response.headers['content-type']]).toEqual([429, 'application/problem+json'])
    expect(JSON.parse(response.body)).toMatchObject({ code: 'rate_limit_exceeded' })
  })

  test('a handler of a context or a route gets only its denials', async () => {
    await app.register(rateLimit, { limit: '1/min', identify: byKey })
    app.get('/', ok)
    app.get('/own', { errorHandler: own, config: { rateLimit: { cost: 1 } } }, ok)
    app.register(async (api) => {
      api.setErrorHandler(own)
      api.get('/api', ok)
    })
    const types = []
    for (const url of ['/', '/own', '/api']) {
      expect(await statuses(2, url, { headers: { 'x-api-key': url } })).toEqual([200, 429])
      types.push((await get(url, { headers: { 'x-api-key': url } })).headers['content-type'])
    }
    const json = 'application/json; charset=utf-8'
    expect(types).toEqual(['application/problem+json', json, json])
    expect(own).toHaveBeenCalledTimes(4)
  })

  test('without a handler, a Content-Type set by an earlier hook is replaced', async () => {
    app.addHook('onRequest', async (_request, reply) => void reply.type('text/html'))
    await app.register(rateLimit, { limit: '1/min' })
    app.get('/', ok)
    await get('/')
    const response = await get('/')
    expect([response.headers['content-type'], JSON.parse(response.body).status]).toEqual([
      'application/problem+json',
      429,
    ])
  })

  test('a failed store reaches the handler as a 503', async () => {
    app.setErrorHandler(own)
    const fail = (): never => {
      throw new Error('down')
    }
    const store = { synchronous: true, consume: fail, peek: fail, refund: fail, reset: fail }
    await app.register(rateLimit, { limit: '1/min', store, onStoreFailure: 'closed' })
    app.get('/', ok)
    expect(await statuses(1, '/')).toEqual([503])
    expect(own.mock.calls[0]?.[0]).toMatchObject({
      code: 'ERR_TOLLGATE_LIMITED',
      decision: { source: 'closed' },
    })
  })
})

describe('an onDenied answers by what it returns, as a handler does', () => {
  const text = 'text/plain; charset=utf-8'
  const json = 'application/json; charset=utf-8'
  test.each<
    [what: string, answer: (reply: FastifyReply) => unknown, status: number, type: string, body: string]
  >([
    ['a text', () => 'slow down', 429, text, 'slow down'],
    ['an object', () => ({ error: 'slow down' }), 429, json, '{"error":"slow down"}'],
    ['a promise', async () => ({ error: 'slow down' }), 429, json, '{"error":"slow down"}'],
    ['a thenable', () => ({ then: (done: (made: string) => void) => done('later') }), 429, text, 'later'],
    ['a stream', (reply) => (reply.type(text), Readable.from(['slow ', 'down'])), 429, text, 'slow down'],
    ['with a status of its own', (reply) => (reply.code(402), 'pay'), 402, text, 'pay'],
    ['the reply, which it has sent', (reply) => reply.send('slow down'), 429, text, 'slow down'],
    [
      'the reply, which it sends later',
      (reply) => (setImmediate(() => reply.send('later')), reply),
      429,
      text,
      'later',
    ],
    ['nothing, once it has sent the reply', (reply) => void reply.send('slow down'), 429, text, 'slow down'],
    [
      'nothing, and sends the reply later',
      (reply) => void setImmediate(() => reply.send('later')),
      429,
      text,
      'later',
    ],
    [
      'a text, though it has taken the response over',
      (reply) => (reply.hijack().raw.writeHead(429, { 'content-type': text }).end('raw'), 'ignored'),
      429,
      text,
      'raw',
    ],
  ])('%s', async (_, answer, status, type, body) => {
    const handler = jest.fn(ok)
    app.addHook('onSend', async () => {})
    await app.register(rateLimit, { limit: '1/min', cost: 2, onDenied: (_request, reply) => answer(reply) })
    app.get('/', handler)
    const response = await get('/')
    expect([response.status, response.headers['content-type'], response.body]).toEqual([status, type, body])
    expect(handler).not.toHaveBeenCalled()
  })

  test('null is JSON, as of a handler, and what cannot be sent is an error', async () => {
    let returned: unknown = null
    await app.register(rateLimit, { limit: '1/min', cost: 2, onDenied: () => returned })
    app.get('/', ok)
    expect(await get('/')).toMatchObject({ status: 429, body: 'null' })
    returned = 10n
    expect((await get('/')).status).toBe(500)
  })
})
