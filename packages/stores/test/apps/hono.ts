import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Server } from 'node:http'
import { tollgateStore } from '@tollgate/stores/hono-rate-limiter'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { rateLimiter } from 'hono-rate-limiter'
import type { StatusCode } from 'hono/utils/http-status'
import type { Build } from './opened.ts'

export const buildHono: Build = async ({ store, options, limit, windowMs, more }) => {
  const app = new Hono()
  const middleware = tollgateStore(store, options)
  const keyGenerator = (c: { req: { header(name: string): string | undefined } }): string =>
    c.req.header('x-key') ?? 'anyone'
  app.use(
    rateLimiter({ windowMs, limit, store: middleware, standardHeaders: 'draft-7', keyGenerator, ...more }),
  )
  app.get('/', (c) => {
    c.status(Number(c.req.query('status') ?? 200) as StatusCode)
    return c.text('hello')
  })
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    limiter: middleware.limiter,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
