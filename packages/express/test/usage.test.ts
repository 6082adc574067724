import { serveHandler, usageContract } from '@tollgate/testing'
import express, { type Request, type Response } from 'express'
import { rateLimit, usage, type RateLimitOptions, type UsageRouteOptions } from '../src/index.js'

usageContract(
  'Express',
  ({ limit: options, usage: own }) => {
    const app = express()
    app.set('env', 'test')
    const limit = options && rateLimit(options as unknown as RateLimitOptions<Request, Response>)
    app.get('/usage', usage((own as unknown as UsageRouteOptions<Request, Response>) ?? limit))
    if (limit) app.use(limit)
    app.get('/', (_req, res) => void res.send('ok'))
    return serveHandler(app)
  },
  usage,
)

test('a limiter that knows clients by their address alone is refused', () => {
  const limit = rateLimit({ limit: '5/min' })
  expect(() => usage(limit)).toThrow('usage(limit): clients are known by their address only')
  return limit.limiter.close()
})

test('the limits of a route are shown by what `route` returned', async () => {
  const limit = rateLimit({ limit: '5/min', identify: () => 'acme' })
  const app = express()
  app.get('/usage', usage(limit.route({ stacked: { exports: '2/h' } })))
  const { url, close } = await serveHandler(app)
  const { limits } = (await (await fetch(`${url}usage`)).json()) as { limits: { name: string }[] }
  expect(limits.map(({ name }) => name)).toEqual(['minute', 'exports.hour'])
  await close()
  await limit.limiter.close()
})
