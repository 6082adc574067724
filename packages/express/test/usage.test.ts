import { eventually, serveHandler, usageContract } from '@tollgate/testing'
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

test('an answer of the application that came first stays, and ends no process', async () => {
  // As an own time limit does while a look-up takes long.
  const identify = async ({ res }: Request): Promise<string> => {
    res?.status(503).send('too late')
    await new Promise((resolve) => setImmediate(resolve))
    return 'acme'
  }
  const limit = rateLimit({ limit: '5/min', identify })
  const handle = usage(limit)
  const done = jest.fn()
  const app = express()
  app.get('/usage', (req, res, next) => {
    handle(req, res, next)
    setTimeout(done, 50)
  })
  const { url, close } = await serveHandler(app)
  const answer = await fetch(`${url}usage`)
  expect([answer.status, await answer.text()]).toEqual([503, 'too late'])
  await eventually(() => expect(done).toHaveBeenCalled())
  expect((await fetch(`${url}usage`)).status).toBe(503)
  await close()
  await limit.limiter.close()
})

test('mounted for all methods, it only lets read', async () => {
  const limit = rateLimit({ limit: '5/min', identify: () => 'acme' })
  const app = express()
  app.use('/usage', usage(limit))
  const { url, close } = await serveHandler(app)
  const post = await fetch(`${url}usage`, { method: 'POST' })
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  expect((await fetch(`${url}usage`, { method: 'HEAD' })).status).toBe(200)
  await close()
  await limit.limiter.close()
})

test('usage that was not called says so', async () => {
  const app = express()
  app.set('env', 'test')
  app.get('/usage', usage as never)
  const { url, close } = await serveHandler(app)
  expect(await (await fetch(`${url}usage`)).text()).toContain(
    'usage was mounted without calling it: write usage(limit)',
  )
  await close()
})
