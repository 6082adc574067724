import Router from '@koa/router'
import { clientOf, eventually, serveHandler, type Served } from '@tollgate/testing'
import Koa3 from 'koa'
import Koa2 from 'koa2'
import { byIp, createLimiter, rateLimit } from '../src/index.js'

describe.each([
  ['Koa 3', Koa3],
  ['Koa 2', Koa2],
])('%s', (_, Koa) => {
  let app: Koa3
  let served: Served | undefined
  beforeEach(() => {
    app = new Koa()
  })
  afterEach(async () => {
    await served?.close()
    served = undefined
  })

  const { get, statuses } = clientOf(async () => (served ??= await serveHandler(app.callback())))

  test('app.use(rateLimit) without a call answers 500 and says what to type', async () => {
    const told: unknown[] = []
    app.on('error', (error) => told.push(error))
    app.use(rateLimit as never)
    app.use((ctx) => (ctx.body = 'let in'))
    expect(await statuses(2, '')).toEqual([500, 500])
    expect(told[0]).toMatchObject({
      code: 'ERR_TOLLGATE_CONFIG',
      problem: "rateLimit was mounted without calling it: write app.use(rateLimit({ limit: '100/min' }))",
    })
  })

  test('routes of @koa/router have their own options; with a shared limiter they share counters', async () => {
    const limiter = createLimiter({ limit: '5/min' })
    const router = new Router()
    const plain = rateLimit({ limiter })
    router.get('/report', rateLimit({ limiter, cost: 3 }), (ctx) => (ctx.body = ctx.state.rateLimit?.cost))
    router.get('/items/:id', plain, (ctx) => (ctx.body = ctx.params.id))
    router.post('/login', rateLimit({ limit: '1/h' }), (ctx) => (ctx.status = 204))
    router.get('/health', (ctx) => (ctx.body = { skipped: ctx.state.rateLimit === undefined }))
    app.use(router.routes())

    expect(plain.limiter).toBe(limiter)
    const report = await get('report')
    expect([await report.text(), report.headers.get('ratelimit-remaining')]).toEqual(['3', '2'])
    const item = await get('items/7')
    expect([await item.text(), item.headers.get('ratelimit-remaining')]).toEqual(['7', '1'])
    expect([...(await statuses(1, 'report')), ...(await statuses(2, 'items/7'))]).toEqual([429, 200, 429])
    const logins = [await fetch(`${served?.url}login`, { method: 'POST' })]
    logins.push(await fetch(`${served?.url}login`, { method: 'POST' }))
    expect(logins.map(({ status }) => status)).toEqual([204, 429])
    const health = await get('health')
    expect([await health.json(), health.headers.get('ratelimit')]).toEqual([{ skipped: true }, null])
  })

  test('a route above the limiter of the application decides alone, also if the request goes on to it', async () => {
    const limit = rateLimit({ limit: '100/min' })
    const router = new Router()
    router.get('/report', limit.route({ cost: 10 }), (ctx) => (ctx.body = 'a report'))
    router.get('/on', limit.route({ cost: 10 }), (_ctx, next) => next())
    app.use(router.routes())
    app.use(limit)
    app.use((ctx) => (ctx.body = 'all others'))

    const left = []
    for (const path of ['report', 'on', 'other'])
      left.push((await get(path)).headers.get('ratelimit-remaining'))
    expect(left).toEqual(['90', '80', '79'])
  })

  test('twice in one application: a guard by address, then authentication, then plans', async () => {
    const limiter = createLimiter({ plans: { guard: '4/min', free: '2/min' } })
    const authenticated = jest.fn()
    app.use(rateLimit({ limiter, identify: byIp({ plan: 'guard' }), headers: false }))
    app.use(async (ctx, next) => {
      authenticated()
      ctx.state.user = { id: ctx.get('x-api-key'), plan: 'free' }
      await next()
    })
    app.use(rateLimit({ limiter, identify: (ctx) => ctx.state.user }))
    app.use((ctx) => {
      ctx.body = ctx.state.rateLimit?.subject
    })

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

  test('middleware before the limiter sees denials, and can change them', async () => {
    const seen: unknown[] = []
    app.use(async (ctx, next) => {
      await next()
      seen.push([ctx.status, ctx.state.rateLimit?.allowed])
      if (ctx.state.rateLimit?.allowed === false) ctx.body = { slow: 'down' }
    })
    app.use(rateLimit({ limit: '1/min' }))
    app.use((ctx) => {
      ctx.body = 'ok'
    })
    expect(await (await get('')).text()).toBe('ok')
    const denied = await get('')
    expect([denied.status, await denied.json()]).toEqual([429, { slow: 'down' }])
    expect(seen).toEqual([
      [200, true],
      [429, false],
    ])
  })

  test('anything that the application throws passes through unchanged', async () => {
    const caught: unknown[] = []
    app.use(async (ctx, next) => {
      try {
        await next()
      } catch (error) {
        caught.push(error)
        ctx.status = 418
      }
    })
    app.use(rateLimit({ limit: '5/min' }))
    app.use(() => {
      throw 'odd'
    })
    expect(await statuses(1, '')).toEqual([418])
    expect(caught).toEqual(['odd'])
  })

  test('an error object that is thrown for several clients carries no headers of another client', async () => {
    const notFound = Object.assign(new Error('none'), { status: 404, headers: { 'x-shared': 'yes' } })
    let isHeld = false
    let release = (): void => {}
    app.use(async (ctx, next) => {
      try {
        await next()
      } finally {
        // Meanwhile the same error is thrown for another client.
        if (ctx.get('x-waits') === 'yes') {
          isHeld = true
          await new Promise<void>((resolve) => (release = resolve))
        }
      }
    })
    app.use(rateLimit({ limit: '9/min', identify: (ctx) => ctx.get('x-api-key') }))
    app.use(() => {
      throw notFound
    })
    app.on('error', () => {})
    const answer = async (key: string, waits = 'no'): Promise<unknown[]> => {
      const { status, headers } = await get('', { 'x-api-key': key, 'x-waits': waits })
      return [status, headers.get('x-shared'), headers.get('ratelimit-remaining')]
    }
    expect(await answer('a')).toEqual([404, 'yes', '8'])
    const slow = answer('a', 'yes')
    await eventually(() => isHeld)
    expect(await answer('b')).toEqual([404, 'yes', '8'])
    release()
    expect(await slow).toEqual([404, 'yes', '7'])
    expect(notFound).toEqual(expect.objectContaining({ headers: { 'x-shared': 'yes' } }))
  })

  test("an error's own headers win over those of the limiter", async () => {
    app.use(rateLimit({ limit: '9/min', headers: { expose: true } }))
    app.use((ctx) => ctx.throw(503, { headers: { 'retry-after': '7' } }))
    app.on('error', () => {})
    const { headers } = await get('')
    expect([headers.get('retry-after'), headers.get('ratelimit-remaining')]).toEqual(['7', '8'])
    expect(headers.get('access-control-expose-headers')).toContain('RateLimit')
  })

  test('onDenied answers with the response, or throws to Koa', async () => {
    app.use(async (ctx, next) => {
      await rateLimit({
        limiter,
        onDenied: (_ctx, response, decision) => {
          if (ctx.path === '/throw') ctx.throw(503, 'busy')
          response.status = 420
          response.body = { wait: decision.retryAfterMs !== null }
        },
      })(ctx, next)
    })
    const limiter = createLimiter({ limit: '1/min' })
    app.use((ctx) => {
      ctx.body = 'ok'
    })
    app.on('error', () => {})
    await get('')
    const denied = await get('')
    expect([denied.status, await denied.json()]).toEqual([420, { wait: true }])
    expect(denied.headers.get('retry-after')).toBe('60')
    const thrown = await get('throw')
    expect(thrown.status).toBe(503)
    const names = ['retry-after', 'cache-control', 'ratelimit-limit']
    expect(names.map((name) => thrown.headers.get(name))).toEqual(['60', 'no-store', '1'])
  })
})

test('a wrong option is thrown at once', () => {
  expect(() => rateLimit({ limit: '5/min', kost: 1 } as never)).toThrow('kost')
})
