// To copy: npm install @tollgate/core @tollgate/koa koa ioredis
import { rateLimit } from '@tollgate/koa'
import Koa from 'koa'
import { limiter, tenantOf } from './limits.js'
import { ticks } from './ticks.js'

export async function serve(port) {
  const app = new Koa()
  // A client that leaves is no error of the application.
  app.on('error', (error) => error.code === 'ERR_STREAM_PREMATURE_CLOSE' || console.error(error))
  app.use(rateLimit({ limiter, identify: (ctx) => tenantOf(ctx.get('x-api-key')) }))
  app.use((ctx) => {
    if (ctx.path !== '/ticks') return
    ctx.type = 'text/event-stream'
    ctx.body = ticks(ctx.query.count)
  })
  return app.listen(port, '127.0.0.1')
}
