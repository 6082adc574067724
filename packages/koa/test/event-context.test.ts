import Router from '@koa/router'
import { serveHandler } from '@tollgate/testing'
import Koa from 'koa'
import { createLimiter, rateLimit } from '../src/index.js'

test('route is the pattern of @koa/router if there is one, and never the URL', async () => {
  const routes: unknown[] = []
  const limiter = createLimiter({ limit: '9/min' }).on('decision', (_decision, context) => {
    routes.push(context?.route)
  })
  const limit = (): Koa.Middleware => rateLimit({ limiter, eventContext: true })
  const ok: Koa.Middleware = (ctx) => void (ctx.body = 'ok')
  const router = new Router().get('/users/:id', limit(), ok).get(/^\/file-/, limit(), ok)
  const shops = new Router({ prefix: '/shops/:shop' }).get('/items/:item', limit(), ok)
  const app = new Koa().use(router.routes()).use(shops.routes()).use(limit()).use(ok)
  const { url, close } = await serveHandler(app.callback())
  for (const path of ['users/42?key=1', 'file-7', 'shops/7/items/3', 'late']) await fetch(`${url}${path}`)
  await close()
  expect(routes).toEqual(['/users/:id', '/^\\/file-/', '/shops/:shop/items/:item', undefined])
})
