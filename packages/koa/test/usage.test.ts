import { serveHandler, usageContract } from '@tollgate/testing'
import Koa, { type Context, type Response } from 'koa'
import { rateLimit, usage, type RateLimitOptions, type UsageRouteOptions } from '../src/index.js'

usageContract(
  'Koa',
  ({ limit: options, usage: own }) => {
    const app = new Koa()
    app.silent = true
    const limit = options && rateLimit(options as unknown as RateLimitOptions<Context, Response>)
    const shown = usage((own as unknown as UsageRouteOptions<Context, Response>) ?? limit)
    app.use((ctx, next) => (ctx.path === '/usage' ? shown(ctx, next) : next()))
    if (limit) app.use(limit)
    app.use((ctx) => {
      ctx.body = 'ok'
    })
    return serveHandler(app.callback())
  },
  usage,
)
