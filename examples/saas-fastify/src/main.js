import { port } from '@tollgate/example-kit'
import { makeLimiter, places, playSaas, refundWhen, tenantOf } from '@tollgate/example-kit/saas'
import { byIp, rateLimit } from '@tollgate/fastify'
import Fastify from 'fastify'

const { limiter, close } = makeLimiter()

const app = Fastify({ forceCloseConnections: true })
app.get('/health', async () => 'ok')
await app.register(async (api) => {
  // By address first, so that guessing keys is limited, too; then, behind authentication, by tenant.
  await api.register(rateLimit, { limiter, identify: byIp(), ...places.guard })
  api.decorateRequest('tenant')
  api.addHook('onRequest', async (request, reply) => {
    request.tenant = tenantOf(request.headers['x-api-key'])
    if (!request.tenant) return reply.code(401).send({ error: 'unknown key' })
  })
  await api.register(rateLimit, {
    limiter,
    identify: (request) => request.tenant,
    refundWhen,
  })
  api.get('/items', async () => ({ items: [] }))
  api.get('/search', { config: { rateLimit: places.search } }, async () => ({ found: 0 }))
  api.post('/export', { config: { rateLimit: places.export } }, async () => ({ exported: true }))
  api.get('/flaky', (_request, reply) => reply.code(500).send({ error: 'not your fault' }))
  api.get('/whoami', async (request) => request.rateLimit)
})

const url = await app.listen({ port, host: '127.0.0.1' })
await playSaas(url, async () => {
  await app.close()
  await close()
})
