import { createServer } from 'node:http'
import { rateLimit } from '@tollgate/express'
import express from 'express'

export function build(options, note) {
  const app = express()
  app.get('/control', (_req, res) => res.send('ok'))
  app.get('/waiting', (_req, res) => setTimeout(() => res.send('ok'), options.deadlineMs))
  const limit = rateLimit({ ...options, identify: (req) => options.identify(req.get('x-tenant')) })
  app.use(limit)
  app.get('/', (req, res) => {
    note(req, req.rateLimit)
    res.set('x-source', req.rateLimit.source).send('ok')
  })
  return { server: createServer(app), limiter: limit.limiter }
}
