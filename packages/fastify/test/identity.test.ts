// Of a limiter in an early stage that was chosen, authentication.test.ts tells.
import { identityContract } from '@tollgate/testing'
import Fastify from 'fastify'
import { rateLimit, type RateLimitPluginOptions } from '../src/index.js'

identityContract('Fastify', async ({ options, before, after, login }) => {
  const app = Fastify({ forceCloseConnections: true })
  await app.register(rateLimit, options as unknown as RateLimitPluginOptions)
  app.addHook('onRequest', async (request) => before(request))
  app.post('/login', async (request) => {
    login(request)
    return 'welcome'
  })
  for (const path of ['/a', '/b', '/c']) {
    // The limiter comes behind all hooks, so this is what comes too late.
    app.get(path, async (request) => {
      after(request)
      return 'ok'
    })
  }
  return { url: `${await app.listen({ host: '127.0.0.1', port: 0 })}/`, close: async () => app.close() }
})
