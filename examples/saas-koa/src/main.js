import { createServer } from 'node:http'
import Router from '@koa/router'
import { listen } from '@tollgate/example-kit'
import { makeLimiter, places, playSaas, refundWhen, tenantOf } from '@tollgate/example-kit/saas'
import { byIp, rateLimit } from '@tollgate/koa'
import Koa from 'koa'

const { limiter, close } = makeLimiter()
const limit = (place) => rateLimit({ limiter, identify: (ctx) => ctx.state.tenant, refundWhen, ...place })

const open = new Router().get('/health', (ctx) => (ctx.body = 'ok'))
const api = new Router()
  .get('/items', limit(), (ctx) => (ctx.body = { items: [] }))
  .get('/search', limit(places.search), (ctx) => (ctx.body = { found: 0 }))
  .post('/export', limit(places.export), (ctx) => (ctx.body = { exported: true }))
  .get('/flaky', limit(), (ctx) => {
    ctx.status = 500
    ctx.body = { error: 'not your fault' }
  })
  .get('/whoami', limit(), (ctx) => (ctx.body = ctx.state.rateLimit))

const app = new Koa()
app.use(open.routes())
// By address first, so that guessing keys is limited, too; then by tenant.
app.use(rateLimit({ limiter, identify: byIp(), ...places.guard }))
app.use(async (ctx, next) => {
  ctx.state.tenant = tenantOf(ctx.get('x-api-key'))
  ctx.assert(ctx.state.tenant, 401, 'unknown key')
  await next()
})
app.use(api.routes())

const server = createServer(app.callback())
await playSaas(await listen(server), async () => {
  server.closeAllConnections()
  server.close()
  await close()
})
