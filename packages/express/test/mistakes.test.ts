import { mistakesContract, serveHandler } from '@tollgate/testing'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { rateLimit, type RateLimitOptions } from '../src/index.js'

const make = (options: object): RequestHandler => rateLimit(options as RateLimitOptions<Request, Response>)

mistakesContract('Express', {
  twice(options) {
    const limit = make(options)
    const app = express().use(limit)
    return serveHandler(app.get('/', limit, (_req, res) => void res.send('ok')))
  },
  two(first, second) {
    const app = express().use(make(first))
    return serveHandler(app.get('/', make(second), (_req, res) => void res.send('ok')))
  },
  inHandler(options) {
    const app = express().use((req, res, next) => make(options())(req, res, next))
    return serveHandler(app.get('/', (_req, res) => void res.send('ok')))
  },
  kept(options) {
    let limit: RequestHandler | undefined
    const app = express().use((req, res, next) => (limit ??= make(options()))(req, res, next))
    return serveHandler(app.get('/', (_req, res) => void res.send('ok')))
  },
})
