import rateLimit from '@fastify/rate-limit'
import { tollgateStore } from '@tollgate/stores/fastify-rate-limit'
import Fastify from 'fastify'
import type { Build } from './opened.ts'

export const buildFastify: Build = async ({ store, options, limit, windowMs, more }) => {
  const app = Fastify()
  const middleware = tollgateStore(store, options)
  await app.register(rateLimit, {
    ...{ max: limit, timeWindow: windowMs, store: middleware },
    keyGenerator: (request) => String(request.headers['x-key'] ?? 'anyone'),
    ...more,
  })
  app.get('/', async () => 'hello')
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { url: `${url}/`, limiter: middleware.limiter, close: () => app.close() }
}
