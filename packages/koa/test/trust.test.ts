import { serveHandler, trustContract, type Served } from '@tollgate/testing'
import Koa from 'koa'
import { rateLimit } from '../src/index.js'

const serve = (options: ConstructorParameters<typeof Koa>[0]) => (): Promise<Served> => {
  const app = new Koa(options)
  app.use(rateLimit({ limit: '1/min' }))
  app.use((ctx) => void (ctx.body = 'ok'))
  return serveHandler(app.callback())
}

trustContract('Koa', [
  { typed: 'new Koa({ proxy: true })', isChosen: true, serve: serve({ proxy: true }) },
  {
    typed: 'new Koa({ proxy: true, maxIpsCount: 1 })',
    isChosen: false,
    serve: serve({ proxy: true, maxIpsCount: 1 }),
  },
  {
    typed: "new Koa({ proxy: true, proxyIpHeader: 'X-Real-IP' })",
    isChosen: false,
    serve: serve({ proxy: true, proxyIpHeader: 'X-Real-IP' }),
  },
])
