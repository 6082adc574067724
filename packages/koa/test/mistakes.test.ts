import { mistakesContract, serveHandler } from '@tollgate/testing'
import Koa, { type Context, type Middleware, type Response } from 'koa'
import { rateLimit, type RateLimitOptions } from '../src/index.js'

const make = (options: object): Middleware => rateLimit(options as RateLimitOptions<Context, Response>)
const ok: Middleware = (ctx) => {
  ctx.body = 'ok'
}

mistakesContract('Koa', {
  twice(options) {
    const limit = make(options)
    return serveHandler(new Koa().use(limit).use(limit).use(ok).callback())
  },
  two: (first, second) => serveHandler(new Koa().use(make(first)).use(make(second)).use(ok).callback()),
  inHandler: (options) =>
    serveHandler(
      new Koa()
        .use((ctx, next) => make(options())(ctx, next))
        .use(ok)
        .callback(),
    ),
  kept(options) {
    let limit: Middleware | undefined
    const app = new Koa().use((ctx, next) => (limit ??= make(options()))(ctx, next))
    return serveHandler(app.use(ok).callback())
  },
})
