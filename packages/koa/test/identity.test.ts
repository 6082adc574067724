import { identityContract, serveHandler } from '@tollgate/testing'
import Koa, { type Context, type Response } from 'koa'
import { rateLimit, type RateLimitOptions } from '../src/index.js'

identityContract('Koa', ({ options, before, after, login }) => {
  const app = new Koa()
  app.use((ctx, next) => {
    before(ctx)
    return next()
  })
  app.use(rateLimit(options as unknown as RateLimitOptions<Context, Response>))
  app.use((ctx) => {
    if (ctx.path === '/login') login(ctx)
    else after(ctx)
    ctx.body = 'ok'
  })
  return serveHandler(app.callback())
})
