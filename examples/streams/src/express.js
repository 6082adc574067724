// To copy: npm install @tollgate/core @tollgate/express express ioredis
import { pipeline } from 'node:stream'
import { rateLimit } from '@tollgate/express'
import express from 'express'
import { limiter, tenantOf } from './limits.js'
import { ticks } from './ticks.js'

export async function serve(port) {
  const app = express()
  app.use(rateLimit({ limiter, identify: (req) => tenantOf(req.get('x-api-key')) }))
  app.get('/ticks', (req, res) => {
    res.type('text/event-stream')
    // `pipe` would go on after the client has left.
    pipeline(ticks(req.query.count), res, () => {})
  })
  return app.listen(port, '127.0.0.1')
}
