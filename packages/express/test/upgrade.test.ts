import { createServer } from 'node:http'
import { upgradeContract } from '@tollgate/testing'
import express from 'express'
import * as own from '../src/index.js'

const load = (id: string): unknown => (id === '@tollgate/express' ? own : require(id))

upgradeContract('express', load, async () => {
  const app = express()
  app.use(own.rateLimit({ limit: '1/min' }))
  return createServer(app)
})
