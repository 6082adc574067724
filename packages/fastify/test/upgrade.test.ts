import { upgradeContract } from '@tollgate/testing'
import Fastify from 'fastify'
import * as own from '../src/index.js'

const load = (id: string): unknown => (id === '@tollgate/fastify' ? own : require(id))

upgradeContract('fastify', load, async () => {
  const app = Fastify()
  await app.register(own.rateLimit, { limit: '1/min' })
  await app.ready()
  return app.server
})
