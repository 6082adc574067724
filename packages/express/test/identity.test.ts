import { identityContract, serveHandler } from '@tollgate/testing'
import express, { type Request, type Response } from 'express'
import { rateLimit, type RateLimitOptions } from '../src/index.js'

identityContract('Express', ({ options, before, after, login }) => {
  const app = express()
  app.use((req, _res, next) => {
    before(req)
    next()
  })
  app.use(rateLimit(options as unknown as RateLimitOptions<Request, Response>))
  app.post('/login', (req, res) => {
    login(req)
    res.send('welcome')
  })
  app.use((req, _res, next) => {
    after(req)
    next()
  })
  app.get(['/a', '/b', '/c'], (_req, res) => void res.send('ok'))
  return serveHandler(app)
})
