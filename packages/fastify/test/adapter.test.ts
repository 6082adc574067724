import { adapterContract, type Serve } from '@tollgate/testing'
import Fastify from 'fastify'
import { rateLimit, type RateLimitPluginOptions } from '../src/index.js'

const serve: Serve = async ({
  options,
  more = [],
  look,
  handle,
  hold,
  trustProxy,
  before,
  onHandled,
  onError,
}) => {
  const app = Fastify({ trustProxy: trustProxy ? ['127.0.0.1'] : false, forceCloseConnections: true })
  if (onError) {
    app.setErrorHandler((error, _request, reply) => {
      onError(error)
      void reply.code(500).send()
    })
  }
  if (before) app.addHook('onRequest', before)
  for (const one of [options, ...more])
    await app.register(rateLimit, one as unknown as RateLimitPluginOptions)
  app.get('/', async (request, reply) => {
    onHandled?.()
    if (handle) {
      const made = await handle(request, reply.raw)
      return made ?? reply.hijack()
    }
    if (hold) await hold()
    return (
      look?.(request, request as unknown as Record<string, unknown>) ?? {
        ok: true,
        decision: request.rateLimit,
      }
    )
  })
  app.get('/error', () => {
    throw new Error('of the application')
  })
  return { url: `${await app.listen({ host: '127.0.0.1', port: 0 })}/`, close: async () => app.close() }
}

adapterContract('Fastify 5', serve)
