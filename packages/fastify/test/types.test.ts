// Applications whose types are not Fastify's default ones. test/support/typed.ts has what TypeScript refuses.
import { once } from 'node:events'
import { connect } from 'node:http2'
import Fastify, { type FastifyTypeProvider } from 'fastify'
import { rateLimit } from '../src/index.js'
import { ok } from './support/app.ts'

interface OwnTypes extends FastifyTypeProvider {
  readonly validator: string
  readonly serializer: string
}

test('a server of HTTP/2 has the plugin, its options of routes, and its hook in every stage', async () => {
  const app = Fastify({ http2: true })
  await app.register(rateLimit, { limit: '9/min', identify: ({ ip }) => ip, warnings: false })
  const hook = app.rateLimit({ group: 'own', limit: '1/min' })
  const all = {
    onRequest: hook,
    preParsing: [hook],
    preValidation: hook,
    preHandler: [hook, app.rateLimit()],
  }
  app.get('/', all, ok)
  app.get('/five', { config: { rateLimit: { cost: 5 } } }, ok)
  app.setNotFoundHandler({ preHandler: hook, preValidation: hook }, ok)
  const session = connect(await app.listen({ host: '127.0.0.1', port: 0 }))
  const remaining = async (path: string): Promise<unknown> => {
    const [headers] = await once(session.request({ ':path': path }), 'response')
    return headers['ratelimit-remaining']
  }
  expect([await remaining('/five'), await remaining('/')]).toEqual(['4', '0'])
  session.destroy()
  await app.close()
})

test('a logger and a type provider of the application change nothing for the hook', async () => {
  const app = Fastify({ logger: { level: 'silent' } }).withTypeProvider<OwnTypes>()
  await app.register(rateLimit, { limit: '9/min' })
  app.get('/', { onRequest: app.rateLimit({ cost: 2 }) }, ok)
  const { headers } = await fetch(await app.listen({ host: '127.0.0.1', port: 0 }))
  expect(headers.get('ratelimit-remaining')).toBe('7')
  await app.close()
})
