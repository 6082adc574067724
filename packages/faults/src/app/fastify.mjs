import { setTimeout as sleep } from 'node:timers/promises'
import { rateLimit } from '@tollgate/fastify'
import Fastify from 'fastify'

export async function build(options, note) {
  const app = Fastify()
  await app.register(rateLimit, { ...options, identify: (req) => options.identify(req.headers['x-tenant']) })
  const config = { rateLimit: false }
  app.get('/control', { config }, async () => 'ok')
  app.get('/waiting', { config }, () => sleep(options.deadlineMs, 'ok'))
  app.get('/', async (request, reply) => {
    note(request.raw, request.rateLimit)
    reply.header('x-source', request.rateLimit.source)
    return 'ok'
  })
  await app.ready()
  return { server: app.server, limiter: app.rateLimiter }
}
