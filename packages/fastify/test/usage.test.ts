import { usageContract } from '@tollgate/testing'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { rateLimit, usage, type RateLimitPluginOptions, type UsageRouteOptions } from '../src/index.js'

usageContract(
  'Fastify',
  async ({ limit, usage: own }) => {
    const app = Fastify({ forceCloseConnections: true })
    if (limit) await app.register(rateLimit, limit as unknown as RateLimitPluginOptions)
    const source = (own as unknown as UsageRouteOptions<FastifyRequest, FastifyReply>) ?? app.rateLimit
    app.get('/usage', { config: { rateLimit: false } }, usage(source))
    app.get('/', () => 'ok')
    return { url: `${await app.listen({ host: '127.0.0.1', port: 0 })}/`, close: async () => app.close() }
  },
  usage,
)

test('an error handler of the application gets no usage, and no refusal of it', async () => {
  const app = Fastify({ forceCloseConnections: true })
  app.setErrorHandler((_error, _request, reply) => reply.code(599).send('mine'))
  await app.register(rateLimit, { limit: '5/min', identify: ({ headers }) => headers['x-user'] as string })
  app.get('/usage', { config: { rateLimit: false } }, usage(app.rateLimit))
  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/usage`
  expect((await fetch(url)).status).toBe(401)
  expect((await fetch(url, { headers: { 'x-user': 'acme' } })).status).toBe(200)
  await app.close()
})
