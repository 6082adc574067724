import { serveHandler } from '@tollgate/testing'
import express5 from 'express'
import express4 from 'express4'
import { createLimiter, rateLimit } from '../src/index.js'

test.each([
  ['Express 5', express5],
  ['Express 4', express4],
])('%s: the route of a request where it is known, and never its URL', async (_, framework) => {
  const routes: unknown[] = []
  const limiter = createLimiter({ limit: '9/min' }).on('decision', (_decision, context) => {
    routes.push(context?.route)
  })
  const limit = (): express5.RequestHandler => rateLimit({ limiter, eventContext: true })
  const ok: express5.RequestHandler = (_req, res) => void res.send('ok')
  const router = framework.Router().get('/items/:item', limit(), ok)
  const app = framework()
    .get('/users/:id', limit(), ok)
    .get(/^\/file-/, limit(), ok)
    .use('/shops/:shop', router)
    .use(limit())
    .get('/late', ok)
  const { url, close } = await serveHandler(app)
  for (const path of ['users/42?key=1', 'file-7', 'shops/7/items/3', 'late']) await fetch(`${url}${path}`)
  await close()
  expect(routes).toEqual(['/users/:id', '/^\\/file-/', '/items/:item', undefined])
})
