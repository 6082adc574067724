import {
  adapterContract,
  closingLimiters,
  isDeep,
  serveHandler,
  serveHttp2Handler,
  type Serve,
  type ServedRoute,
} from '@tollgate/testing'
import Router from '@koa/router'
import Koa3, { type Context, type Middleware, type Response } from 'koa'
import Koa2 from 'koa2'
import {
  rateLimit,
  type RateLimitMiddleware,
  type RateLimitOptions,
  type RouteOptions,
} from '../src/index.js'

const ownOf = (given: object): RouteOptions<Context, Response> => given

const serveWith =
  (Koa: typeof Koa3, isHttp2 = false): Serve =>
  async ({ options, more = [], routes = [], ...rest }) => {
    const { look, handle, hold, trustProxy, before, onHandled, onError } = rest
    const isUnlimited = routes.some(({ isAlone }) => isAlone)
    const app = new Koa({ proxy: trustProxy ?? false, maxIpsCount: 1 })
    app.on('error', (error) => onError?.(error))
    if (before) app.use((ctx, next) => before(ctx).then(next))
    const limiting = (one: typeof options): RateLimitMiddleware =>
      rateLimit(one as unknown as RateLimitOptions<Context, Response>)
    const [limit, others] = [limiting(options), more.map(limiting)]
    const handler: Middleware = async (ctx) => {
      onHandled?.()
      if (handle) {
        const made = await handle(ctx, ctx.res)
        if (made) ctx.body = made
        else ctx.respond = false
        return
      }
      if (hold) await hold()
      ctx.body = look?.(ctx, ctx.state) ?? { ok: true, decision: ctx.state.rateLimit }
    }
    const mount = ({ path, options: own, within }: ServedRoute): void => {
      const router = new Router()
      if (within) router.use(path, limit.route(ownOf(within)))
      router.get(path, limit.route(ownOf(own)), handler).post(path, limit.route(ownOf(own)), handler)
      app.use(router.routes())
    }
    for (const route of routes) if (route.isAbove) mount(route)
    if (!isUnlimited) app.use(limit)
    for (const other of others) app.use(other)
    for (const route of routes) if (!route.isAbove) mount(route)
    app.use(async (ctx, next) => {
      if (routes.length > 0 && ctx.path !== '/') return
      if (ctx.path === '/error') throw new Error('of the application')
      await handler(ctx, next)
    })
    const served = await (isHttp2 ? serveHttp2Handler(app.callback()) : serveHandler(app.callback()))
    return closingLimiters(served, [limit, ...others])
  }

adapterContract('Koa 3', serveWith(Koa3), serveWith(Koa3, true))
if (isDeep) adapterContract('Koa 2', serveWith(Koa2), serveWith(Koa2, true))
