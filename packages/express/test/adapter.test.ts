import { pipeline, Readable } from 'node:stream'
import {
  adapterContract,
  closingLimiters,
  isDeep,
  serveHandler,
  type Serve,
  type ServedRoute,
} from '@tollgate/testing'
import express5, { type ErrorRequestHandler, type RequestHandler } from 'express'
import express4 from 'express4'
import { rateLimit, type RateLimitHandler, type RateLimitOptions, type RouteOptions } from '../src/index.js'

const ownOf = (given: object): RouteOptions<express5.Request, express5.Response> => given

const serveWith =
  (framework: typeof express5): Serve =>
  async ({ options, more = [], routes = [], ...rest }) => {
    const { look, handle, hold, trustProxy, before, onHandled, onError } = rest
    const isUnlimited = routes.some(({ isAlone }) => isAlone)
    const app = framework().disable('x-powered-by')
    if (trustProxy) app.set('trust proxy', 1)
    if (before) app.use((req, _res, next) => void before(req).then(next))
    const limiting = (one: typeof options): RateLimitHandler =>
      rateLimit(one as unknown as RateLimitOptions<express5.Request, express5.Response>)
    const [limit, others] = [limiting(options), more.map(limiting)]
    const handler: RequestHandler = async (req, res, next) => {
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
    }
    const mount = ({ path, options: own, within }: ServedRoute): void => {
      const router = framework.Router()
      if (within) router.use(path, limit.route(ownOf(within)))
      router
        .route(path)
        .get(limit.route(ownOf(own)), handler)
        .post(limit.route(ownOf(own)), handler)
      app.use(router)
    }
    for (const route of routes) if (route.isAbove) mount(route)
    if (!isUnlimited) app.use(limit)
    for (const other of others) app.use(other)
    app.get('/', handler)
    for (const route of routes) if (!route.isAbove) mount(route)
    app.get('/error', () => {
      throw new Error('of the application')
    })
    app.use(((error, _req, res, _next) => {
      onError?.(error)
      res.status(500).end()
    }) satisfies ErrorRequestHandler)
    return closingLimiters(await serveHandler(app), [limit, ...others])
  }

adapterContract('Express 5', serveWith(express5))
if (isDeep) adapterContract('Express 4', serveWith(express4))
