import { createServer } from 'node:http'
import { upgradeContract } from '@tollgate/testing'
import Koa from 'koa'
import * as own from '../src/index.js'

const load = (id: string): unknown => (id === '@tollgate/koa' ? own : require(id))

upgradeContract('koa', load, async () => {
  const app = new Koa()
  app.use(own.rateLimit({ limit: '1/min' }))
  return createServer(app.callback())
})
