import { tollgateStore } from '@tollgate/stores/express-rate-limit'
import { serveHandler } from '@tollgate/testing'
import express from 'express'
import { rateLimit } from 'express-rate-limit'
import type { Build } from './opened.ts'

export const buildExpress: Build = async ({ store, options, limit, windowMs, more }) => {
  const app = express()
  const middleware = tollgateStore(store, options)
  app.use(
    rateLimit({
      ...{ windowMs, limit, store: middleware, standardHeaders: 'draft-7' },
      keyGenerator: (request) => request.get('x-key') ?? 'anyone',
      ...more,
    }),
  )
  app.get(
    '/',
    (request, response) => void response.status(Number(request.query['status'] ?? 200)).send('hello'),
  )
  return { ...(await serveHandler(app)), limiter: middleware.limiter }
}
