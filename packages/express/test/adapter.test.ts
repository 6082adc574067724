import { pipeline, Readable } from 'node:stream'
import { adapterContract, serveHandler, type Serve } from '@tollgate/testing'
import express5, { type ErrorRequestHandler, type Express } from 'express'
import express4 from 'express4'
import { rateLimit, type RateLimitOptions } from '../src/index.js'

const serveWith =
  (framework: () => Express): Serve =>
  ({ options, more = [], look, handle, hold, trustProxy, before, onHandled, onError }) => {
    const app = framework().disable('x-powered-by')
    if (trustProxy) app.set('trust proxy', 1)
    if (before) app.use((req, _res, next) => void before(req).then(next))
    for (const one of [options, ...more])
      app.use(rateLimit(one as unknown as RateLimitOptions<express5.Request, express5.Response>))
    app.get('/', async (req, res, next) => {
      onHandled?.()
      if (handle) {
        void handle(req, res).then((made) => {
          if (made instanceof Readable) pipeline(made, res, () => {})
          else if (made) res.json(made)
        }, next)
        return
      }
      if (hold) await hold()
      res.json(
        look?.(req, req as unknown as Record<string, unknown>) ?? { ok: true, decision: req.rateLimit },
      )
    })
    app.get('/error', () => {
      throw new Error('of the application')
    })
    app.use(((error, _req, res, _next) => {
      onError?.(error)
      res.status(500).end()
    }) satisfies ErrorRequestHandler)
    return serveHandler(app)
  }

adapterContract('Express 5', serveWith(express5))
adapterContract('Express 4', serveWith(express4))
