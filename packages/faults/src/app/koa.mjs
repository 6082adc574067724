import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { rateLimit } from '@tollgate/koa'
import Koa from 'koa'

export function build(options, note) {
  const app = new Koa()
  app.use(async (ctx, next) => {
    if (ctx.path === '/') return next()
    if (ctx.path === '/waiting') await sleep(options.deadlineMs)
    ctx.body = 'ok'
  })
  const limit = rateLimit({ ...options, identify: (ctx) => options.identify(ctx.get('x-tenant')) })
  app.use(limit)
  app.use((ctx) => {
    const decision = ctx.state.rateLimit
    note(ctx.req, decision)
    ctx.set('x-source', decision.source)
    ctx.body = 'ok'
  })
  return { server: createServer(app.callback()), limiter: limit.limiter }
}
