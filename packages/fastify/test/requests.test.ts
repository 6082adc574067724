import type { FastifyInstance, FastifyRequest } from 'fastify'
import { namesOf } from '@tollgate/testing'
import { createLimiter, decisionsOf, rateLimit, type Decision } from '../src/index.js'
import { ok, useApp } from './support/app.ts'

let app: FastifyInstance
const { get } = useApp((made) => {
  app = made
})

test('listeners get the pattern of the route; undefined if no route matches', async () => {
  const routes: unknown[] = []
  const limiter = createLimiter({ limit: '9/min' }).on('decision', (_decision, context) => {
    routes.push(context?.route)
  })
  await app.register(rateLimit, { limiter, eventContext: true })
  app.get('/users/:id', ok)
  await app.register(async (shop) => void shop.get('/items/:item', ok), { prefix: '/shops/:shop' })
  for (const path of ['/users/42?key=1', '/shops/7/items/3', '/nowhere']) await get(path)
  expect(routes).toEqual(['/users/:id', '/shops/:shop/items/:item', undefined])
})

test('a decision has the property that the plugin or route names; decisionsOf gives all in order', async () => {
  await app.register(rateLimit, { limit: '9/min', requestProperty: 'planLimit' })
  const limiter = createLimiter({ plans: { login: '5/min' } })
  const onTop = app.rateLimit({ limiter, requestProperty: 'loginLimit' })
  app.get(
    '/',
    { preHandler: onTop },
    (request: FastifyRequest & { planLimit?: Decision; loginLimit?: Decision }) => ({
      plan: request.planLimit?.plan,
      login: request.loginLimit?.plan,
      usual: request.rateLimit === undefined,
      all: decisionsOf(request).map(({ plan }) => plan),
    }),
  )
  expect(app.hasRequestDecorator('planLimit')).toBe(true)
  expect(JSON.parse((await get('/')).body)).toEqual({
    plan: 'default',
    login: 'login',
    usual: true,
    all: ['default', 'login'],
  })
})

test('a decision cannot take the place of anything that requests have', async () => {
  await app.register(rateLimit, { limit: '9/min' })
  app.get('/items/:id', (request) => namesOf(request))
  const names = JSON.parse((await get('/items/1')).body) as string[]
  expect(names).toEqual(expect.arrayContaining(['id', 'is404', 'mediaType', 'validateInput']))
  for (const requestProperty of names.filter((name) => name !== 'rateLimit')) {
    expect(() => app.rateLimit({ requestProperty })).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path: 'requestProperty' }),
    )
  }
})

test('the plugin and hooks added by hand decide a request once, so there is no warning of a double mount', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
  await app.register(rateLimit, { limit: '9/min' })
  const hook = app.rateLimit()
  app.get('/', { onRequest: [hook, hook], preHandler: hook }, (request) => decisionsOf(request).length)
  expect((await get('/')).body).toBe('1')
  expect(warn).not.toHaveBeenCalled()
  warn.mockRestore()
})
