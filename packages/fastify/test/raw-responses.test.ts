import type { FastifyInstance, FastifyReply } from 'fastify'
import type { OutgoingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { rateLimit } from '../src/index.js'
import { ok, useApp } from './support/app.ts'

let app: FastifyInstance
const { get, remaining } = useApp((made) => {
  app = made
})

const own = { 'x-own': 'yes' }

test.each<[string, (reply: FastifyReply) => unknown, string | undefined]>([
  ['an event stream', ({ raw }) => raw.writeHead(200, { 'cache-control': 'no-cache', ...own }).end(), '4'],
  ['after hijack', (reply) => reply.hijack().raw.writeHead(200, own).end(), '4'],
  ['with the text of the status', ({ raw }) => raw.writeHead(200, 'Fine', ['x-own', 'yes']).end(), '4'],
  ['without writeHead', ({ raw }) => raw.setHeader('x-own', 'yes').end('data'), '4'],
  [
    'with the headers of the reply',
    (reply) => reply.raw.writeHead(200, { ...reply.getHeaders(), ...own } as OutgoingHttpHeaders).end(),
    '4',
  ],
  ['its own value', ({ raw }) => raw.writeHead(200, { 'RateLimit-Remaining': '9', ...own }).end(), '9'],
  [
    'its own value, set before',
    ({ raw }) => raw.setHeader('RateLimit-Remaining', '9').writeHead(200, own).end(),
    '9',
  ],
  [
    'one header removed',
    (reply) => reply.removeHeader('RateLimit-Remaining').raw.writeHead(200, own).end(),
    undefined,
  ],
  ['by Fastify, a stream', (reply) => reply.headers(own).send(Readable.from(['data'])), '4'],
])("a response written to Node's response has the headers, too: %s", async (_, answer, expected) => {
  await app.register(rateLimit, { limit: '5/min' })
  app.get('/', (_request, reply) => void answer(reply))
  const { headers } = await get('/')
  expect([headers['x-own'], headers['ratelimit-remaining']]).toEqual(['yes', expected])
  expect(headers['ratelimit-policy']).toBe('"minute";q=5;w=60')
})

test('packages that wrap writeHead, as on-headers does, find it called once', async () => {
  const wraps: jest.Mock[] = []
  const wrap = async (_request: unknown, { raw }: FastifyReply): Promise<void> => {
    const wrapped = jest.fn(raw.writeHead)
    wraps.push(wrapped)
    raw.writeHead = wrapped as typeof raw.writeHead
  }
  app.addHook('onRequest', wrap)
  await app.register(rateLimit, { limit: '5/min' })
  app.addHook('onRequest', wrap)
  app.get('/', ok)
  expect(await remaining('/')).toBe('4')
  expect(wraps.map(({ mock }) => mock.calls.length)).toEqual([1, 1])
})

test('a header that Node refuses is answered with 500, as without a limiter, and the process goes on', async () => {
  await app.register(rateLimit, { limit: '5/min' })
  app.get('/', (_request, reply) => reply.header('ratelimit-remaining', 'a\u0001').send('data'))
  app.get('/raw', (_request, reply) => void reply.header('ratelimit-remaining', 'a\u0001').raw.end('data'))
  app.get('/ok', ok)
  const [refused, raw] = [await get('/'), await get('/raw')]
  expect([refused.status, raw.status, raw.headers['ratelimit-remaining']]).toEqual([500, 200, undefined])
  expect(await remaining('/ok')).toBe('2')
})

test("a header that was on Node's response before is replaced", async () => {
  app.addHook('onRequest', async (_request, { raw }) => void raw.setHeader('RateLimit-Remaining', '99'))
  await app.register(rateLimit, { limit: '5/min' })
  app.get('/', (_request, reply) => void reply.hijack().raw.writeHead(200, own).end())
  expect(await remaining('/')).toBe('4')
})
