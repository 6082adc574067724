// Where Fastify applications mount the dashboard.
import { createLimiter, memoryStore } from '@tollgate/core'
import type { RequestListener } from 'node:http'
import Fastify, { type FastifyInstance } from 'fastify'
import { rateLimit } from '../../fastify/src/index.ts'
import { dashboard } from '../src/fastify.js'
import { serve, type Mounted } from './hosts.js'

const authorize = (): { readonly by: string } => ({ by: 'ops' })

async function mount(app: FastifyInstance): Promise<Mounted> {
  await app.ready()
  return serve(app.routing as RequestListener)
}

test('the limiter of an application does not limit its dashboard', async () => {
  const app = Fastify()
  await app.register(rateLimit, { limit: '2/min' })
  app.get('/', async () => 'ok')
  await app.register(dashboard(app.rateLimiter, { authorize }), { prefix: '/_tollgate' })
  const mounted = await mount(app)
  const statusOf = async (url: string): Promise<number> => (await mounted.ask(url)).status
  for (let i = 0; i < 5; i += 1) expect(await statusOf('/_tollgate/api/session')).toBe(200)
  expect([await statusOf('/'), await statusOf('/'), await statusOf('/')]).toEqual([200, 200, 429])
  await mounted.close()
  await app.close()
})

test.each([
  ['/t/:tenant/admin', '/t/acme/admin'],
  ['/%C3%A4', '/%C3%A4'],
  ['/deep/er', '/deep/er'],
])('below the prefix %s, it is at %s, with and without a slash', async (prefix, base) => {
  const app = Fastify()
  const limiter = createLimiter({ limit: '5/h', store: memoryStore() })
  await app.register(dashboard(limiter, { authorize }), { prefix: decodeURI(prefix) })
  const mounted = await mount(app)
  expect((await mounted.ask(`${base}?theme=dark`)).headers.get('content-type')).toBe(
    'text/html; charset=utf-8',
  )
  expect((await mounted.ask(`${base}/`)).headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect((await mounted.ask(`${base}/api/session`)).text).toContain('"by":"ops"')
  await mounted.close()
  await app.close()
  await limiter.close()
})
