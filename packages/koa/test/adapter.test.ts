import { adapterContract, serveHandler, type Serve } from '@tollgate/testing'
import Koa3, { type Context, type Response } from 'koa'
import Koa2 from 'koa2'
import { rateLimit, type RateLimitOptions } from '../src/index.js'

const serveWith =
  (Koa: typeof Koa3): Serve =>
  ({ options, more = [], look, handle, hold, trustProxy, before, onHandled, onError }) => {
    const app = new Koa({ proxy: trustProxy ?? false, maxIpsCount: 1 })
    app.on('error', (error) => onError?.(error))
    if (before) app.use((ctx, next) => before(ctx).then(next))
    for (const one of [options, ...more])
      app.use(rateLimit(one as unknown as RateLimitOptions<Context, Response>))
    app.use(async (ctx) => {
      if (ctx.path === '/error') throw new Error('of the application')
      onHandled?.()
      if (handle) {
        const made = await handle(ctx, ctx.res)
        if (made) ctx.body = made
        else ctx.respond = false
        return
      }
      if (hold) await hold()
      ctx.body = look?.(ctx, ctx.state) ?? { ok: true, decision: ctx.state.rateLimit }
    })
    return serveHandler(app.callback())
  }

adapterContract('Koa 3', serveWith(Koa3))
adapterContract('Koa 2', serveWith(Koa2))
