import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clientOf, serveHandler, type Served } from '@tollgate/testing'
import express5, { type ErrorRequestHandler, type Express } from 'express'
import express4 from 'express4'
import { byIp, createLimiter, rateLimit } from '../src/index.js'

declare global {
  namespace Express {
    interface Request {
      user?: { id: string; plan: string }
    }
  }
}

describe.each([
  ['Express 5', express5],
  ['Express 4', express4],
])('%s', (_, framework) => {
  let app: Express
  let served: Served | undefined
  beforeEach(() => {
    app = framework()
  })
  afterEach(async () => {
    await served?.close()
    served = undefined
  })

  const { get, statuses } = clientOf(async () => (served ??= await serveHandler(app)))

  test('app.use(rateLimit) without a call answers 500 and says what to type', async () => {
    const told: unknown[] = []
    app.use(rateLimit as never)
    app.get('/', (_req, res) => void res.send('let in'))
    const answer: ErrorRequestHandler = (error, _req, res, _next) => {
      told.push(error)
      res.status(500).end()
    }
    app.use(answer)
    expect(await statuses(2, '')).toEqual([500, 500])
    const message = "rateLimit was mounted without calling it: write app.use(rateLimit({ limit: '100/min' }))"
    expect(told[0]).toMatchObject({ code: 'ERR_TOLLGATE_CONFIG', message })
  })

  test('routes and routers have their own options; with a shared limiter they share counters', async () => {
    const limiter = createLimiter({ limit: '5/min' })
    const router = framework.Router()
    router.use(rateLimit({ limiter }))
    router.get('/items/:id', (req, res) => void res.send(req.params.id))
    app.get('/report', rateLimit({ limiter, cost: 3 }), (req, res) => void res.json(req.rateLimit?.cost))
    app.get('/health', (req, res) => void res.json(req.rateLimit === undefined))
    app.use('/api', router)

    const report = await get('report')
    expect([await report.json(), report.headers.get('ratelimit-remaining')]).toEqual([3, '2'])
    const item = await get('api/items/7')
    expect([await item.text(), item.headers.get('ratelimit-remaining')]).toEqual(['7', '1'])
    expect([...(await statuses(1, 'report')), ...(await statuses(2, 'api/items/7'))]).toEqual([429, 200, 429])
    const health = await get('health')
    expect([await health.json(), health.headers.get('ratelimit')]).toEqual([true, null])
  })

  test('twice in one application: a guard by address, then authentication, then plans', async () => {
    const limiter = createLimiter({ plans: { guard: '4/min', free: '2/min' } })
    const authenticated = jest.fn()
    app.use(rateLimit({ limiter, identify: byIp({ plan: 'guard' }), headers: false }))
    app.use((req, _res, next) => {
      authenticated()
      req.user = { id: String(req.get('x-api-key')), plan: 'free' }
      next()
    })
    const plans = rateLimit({ limiter, identify: (req) => req.user })
    app.use(plans)
    app.get('/', (req, res) => void res.json(req.rateLimit?.subject))

    expect(plans.limiter).toBe(limiter)
    const first = await get('', { 'x-api-key': 'a' })
    expect([await first.json(), first.headers.get('ratelimit')]).toEqual([
      { id: 'a', plan: 'free' },
      '"minute";r=1;t=60',
    ])
    expect(await statuses(2, '', { 'x-api-key': 'a' })).toEqual([200, 429])
    expect(await statuses(2, '', { 'x-api-key': 'b' })).toEqual([200, 429])
    expect(authenticated).toHaveBeenCalledTimes(4)
    expect(await limiter.peek({ id: 'b', plan: 'free' })).toMatchObject({ limits: [{ remaining: 1 }] })
  })

  test('a client on a Unix socket has no address, and does not count as disconnected', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-'))
    const socketPath = join(folder, 'http.sock')
    app.use(rateLimit({ limit: '1/min', blockList: ['10.0.0.0/8'] }))
    app.get('/', (_req, res) => void res.send('ok'))
    const server = createServer(app).listen(socketPath)
    await once(server, 'listening')
    const status = async (): Promise<unknown> => {
      const [response] = (await once(request({ socketPath }).end(), 'response')) as [IncomingMessage]
      return response.resume().statusCode
    }
    expect([await status(), await status()]).toEqual([200, 429])
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true })
  })

  test('a denial has no ETag, and no charset if its media type has none', async () => {
    app.use(rateLimit({ limit: '1/min' }))
    await get('')
    const { headers } = await get('')
    expect([headers.get('etag'), headers.get('content-type')]).toEqual([null, 'application/problem+json'])
  })
})
