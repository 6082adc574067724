// To copy: npm install @tollgate/core @tollgate/fastify fastify ioredis
import { rateLimit } from '@tollgate/fastify'
import Fastify from 'fastify'
import { limiter, tenantOf } from './limits.js'
import { ticks } from './ticks.js'

export async function serve(port) {
  const app = Fastify()
  await app.register(rateLimit, { limiter, identify: (request) => tenantOf(request.headers['x-api-key']) })
  app.get('/ticks', (request, reply) => reply.type('text/event-stream').send(ticks(request.query.count)))
  await app.listen({ port, host: '127.0.0.1' })
  return app.server
}
