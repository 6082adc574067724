import { trustContract, type Served } from '@tollgate/testing'
import Fastify from 'fastify'
import { rateLimit } from '../src/index.js'

const serve = (trustProxy: boolean | string[]) => async (): Promise<Served> => {
  const app = Fastify({ trustProxy, forceCloseConnections: true })
  await app.register(rateLimit, { limit: '1/min' })
  app.get('/', () => 'ok')
  return { url: `${await app.listen({ host: '127.0.0.1', port: 0 })}/`, close: async () => app.close() }
}

trustContract('Fastify', [
  { typed: 'Fastify({ trustProxy: true })', isChosen: true, serve: serve(true) },
  {
    typed: "Fastify({ trustProxy: ['127.0.0.1', '10.0.0.0/8'] })",
    isChosen: false,
    serve: serve(['127.0.0.1', '10.0.0.0/8']),
  },
])

test('with a number Fastify trusts no proxy, as the page says, and Tollgate warns of it', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const { url, close } = await serve(1 as never)()
  const statuses = []
  for (const address of ['203.0.113.1', '203.0.113.2']) {
    statuses.push((await fetch(url, { headers: { 'x-forwarded-for': address } })).status)
  }
  expect(statuses).toEqual([200, 429])
  await close()
  const told = warn.mock.calls.map(([message]) => String(message))
  warn.mockRestore()
  expect(told).toEqual([expect.stringContaining("Fastify({ trustProxy: ['10.0.0.0/8'] })")])
})
