// A route with a limit and without a group has counters of its own.
import type { FastifyInstance, RouteOptions } from 'fastify'
import { createLimiter, rateLimit } from '../src/index.js'
import { ok, useApp } from './support/app.ts'

let app: FastifyInstance
const { get, statuses, remaining } = useApp((made) => {
  app = made
})

const limited = (limit: string): { config: object } => ({ config: { rateLimit: { limit } } })
const post = { method: 'POST' } as const

test('apart from those of the plugin and of other routes, by method and path', async () => {
  await app.register(rateLimit, { limit: '10/min' })
  app.get('/', ok)
  app.get('/a', limited('3/min'), ok)
  app.post('/a', limited('4/min'), ok)
  app.get('/a/:id', limited('5/min'), ok)
  app.get('/a.id', limited('5/min'), ok)
  app.get('/a_id', limited('5/min'), ok)
  app.get(`/${'long/'.repeat(20)}1`, limited('6/min'), ok)
  app.get(`/${'long/'.repeat(20)}2`, limited('6/min'), ok)
  for (let i = 0; i < 2; i += 1) {
    const left = ['2', '3', '4', '4', '4', '5', '5', '9'].map((first) => String(Number(first) - i))
    expect([
      await remaining('/a'),
      await remaining('/a', post),
      await remaining(`/a/${i}`),
      await remaining('/a.id'),
      await remaining('/a_id'),
      await remaining(`/${'long/'.repeat(20)}1`),
      await remaining(`/${'long/'.repeat(20)}2`),
      await remaining('/'),
    ]).toEqual(left)
  }
})

test('one object of options may be that of several routes', async () => {
  const own = limited('2/min')
  await app.register(rateLimit, { limit: '10/min' })
  app.get('/a', own, ok)
  app.get('/b', own, ok)
  expect(await statuses(3, '/a')).toEqual([200, 200, 429])
  expect(await statuses(3, '/b')).toEqual([200, 200, 429])
  expect(own).toEqual(limited('2/min'))
})

test.each<[what: string, route: Pick<RouteOptions, 'method'>]>([
  ['GET', { method: 'GET' }],
  ['several methods', { method: ['POST', 'GET'] }],
])('HEAD counts with its %s', async (_, route) => {
  await app.register(rateLimit, { limit: '10/min' })
  app.route({ ...route, url: '/a', ...limited('3/min'), handler: ok })
  const head = { method: 'HEAD' } as const
  expect([await remaining('/a'), await remaining('/a', head), await remaining('/a', head)]).toEqual([
    '2',
    '1',
    '0',
  ])
  expect(await statuses(1, '/a', head)).toEqual([429])
  if (route.method !== 'GET') expect(await statuses(1, '/a', post)).toEqual([429])
})

test('a prefix is a part of it; a slash at the end makes no other route', async () => {
  await app.register(rateLimit, { limit: '10/min' })
  const part = async (inner: FastifyInstance): Promise<void> => void inner.get('/', limited('3/min'), ok)
  app.register(part, { prefix: '/v1' })
  app.register(part, { prefix: '/v2' })
  expect([await remaining('/v1'), await remaining('/v1/'), await remaining('/v2')]).toEqual(['2', '1', '2'])
})

test('a host is a part of it', async () => {
  await app.register(rateLimit, { limit: '10/min' })
  for (const [host, limit] of [
    ['127.0.0.1', '3/min'],
    ['localhost', '5/min'],
  ] as const) {
    app.get('/a', { ...limited(limit), constraints: { host: new RegExp(`^${host}:`) } }, ok)
  }
  expect([await remaining('/a'), await remaining('/a')]).toEqual(['2', '1'])
})

test('in an encapsulated plugin with a limiter of its own', async () => {
  const limiter = createLimiter({ limit: '9/min' })
  await app.register(rateLimit, { limiter })
  app.get('/a', limited('3/min'), ok)
  await app.register(
    async (inner) => {
      await inner.register(rateLimit, { limit: '8/min' })
      inner.get('/a', limited('2/min'), ok)
    },
    { prefix: '/inner' },
  )
  // Each registration around a route decides; its options are those of the nearest.
  expect([await remaining('/a'), await remaining('/inner/a')]).toEqual(['2', '1'])
  expect(limiter.stats().decisions.store.allowed).toBe(2)
})

test('with a group around it, which the route leaves', async () => {
  const limiter = createLimiter({ limit: '9/min' })
  await app.register(rateLimit, { limiter, group: 'api', limit: '8/min' })
  app.get('/', ok)
  app.get('/a', limited('3/min'), ok)
  expect([await remaining('/a'), await remaining('/')]).toEqual(['2', '7'])
})

test('declared before the plugin', async () => {
  const own = limited('3/min')
  app.get('/a', own, ok)
  app.get('/b', own, ok)
  await app.register(rateLimit, { limit: '10/min' })
  app.get('/', ok)
  const left = [await remaining('/a'), await remaining('/a', { method: 'HEAD' }), await remaining('/b')]
  expect([...left, await remaining('/')]).toEqual(['2', '1', '2', '9'])
})

test('the answer names it', async () => {
  await app.register(rateLimit, { limit: '10/min' })
  app.get('/reports/:id', limited('1/min'), ok)
  await statuses(1, '/reports/1')
  const { detail } = JSON.parse((await get('/reports/1')).body)
  expect(detail).toContain('Only 1 request a minute is allowed for GET.reports..id')
})
