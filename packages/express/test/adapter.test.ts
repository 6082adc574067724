import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { adapterContract, type ServeOptions, type Served } from '@tollgate/testing'
import express5, { type ErrorRequestHandler, type Express } from 'express'
import express4 from 'express4'
import { rateLimit, type RateLimitOptions } from '../src/index.js'

type Framework = () => Express

function serveWith(framework: Framework): (options: ServeOptions) => Promise<Served> {
  return async ({ options, trustProxy, onError }) => {
    const app = framework()
    if (trustProxy) app.set('trust proxy', 1)
    app.use(rateLimit(options as unknown as RateLimitOptions<express5.Request, express5.Response>))
    app.get('/', (req, res) => void res.json({ ok: true, decision: req.rateLimit }))
    app.use(((error, _req, res, _next) => {
      onError?.(error)
      res.status(500).end()
    }) satisfies ErrorRequestHandler)
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    return {
      url: `http://127.0.0.1:${port}/`,
      close: async () => {
        server.closeAllConnections()
        server.close()
        await once(server, 'close')
      },
    }
  }
}

adapterContract('Express 5', serveWith(express5))
adapterContract('Express 4', serveWith(express4))
