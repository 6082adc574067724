import { clientOf, namesOf, serveHandler, type Served } from '@tollgate/testing'
import express5, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express'
import express4 from 'express4'
import { decisionsOf, rateLimit } from '../src/index.js'

describe.each([
  ['4', express4 as unknown as typeof express5],
  ['5', express5],
])('Express %s', (_, express) => {
  let served: Served
  afterEach(() => served.close())

  test('a decision cannot take the place of anything that requests have', async () => {
    const app = express().get('/items/:id', (req, res) => void res.json(namesOf(req)))
    served = await serveHandler(app)
    const names = (await (await clientOf(async () => served).get('items/1')).json()) as string[]
    expect(names).toEqual(expect.arrayContaining(['fresh', 'get', 'next', 'params', 'socket']))
    for (const requestProperty of names) {
      expect(() => rateLimit({ limit: '1/min', requestProperty })).toThrow(
        expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path: 'requestProperty' }),
      )
    }
  })

  test('the decision is at the request in applications below, however they are reached, and in the outer one', async () => {
    const app = express()
    const seen: unknown[] = []
    const note: RequestHandler = (req, _res, next) => {
      seen.push(req.rateLimit?.limits[0]?.quota)
      next()
    }
    const below = (): Express => express().use(note, rateLimit({ limit: '5/min' }), note)
    const called = below()
    app.use(note, rateLimit({ limit: '3/min' }))
    app.use(express.Router().use(below()), note)
    app.use((req, res, next) => called(req, res, next), note)
    app.use(below(), rateLimit({ limit: '7/min' }))
    app.use((_req, _res, next) => next(new Error('failed')))
    const answer: ErrorRequestHandler = (_error, { rateLimit: decision }, res, _next) =>
      void res.json(decision?.limits[0]?.quota)
    app.use(answer)
    served = await serveHandler(app)
    expect(await (await fetch(served.url)).json()).toBe(7)
    expect(seen).toEqual([undefined, 3, 5, 5, 5, 5, 5, 5, 5])
  })

  test.each<[string, (req: Request) => Request]>([
    ['Object.create', (req) => Object.create(req) as Request],
    ['a proxy', (req) => new Proxy(req, {})],
  ])('a request that was wrapped by %s is decided once, and has its decisions', async (_how, wrap) => {
    const app = express()
    const limit = rateLimit({ limit: '10/min' })
    app.get('/', limit.route({ cost: 5 }), (req, res) => {
      const wrapped = wrap(req)
      limit(wrapped, res, () => {
        const same = [wrapped.rateLimit === req.rateLimit, decisionsOf(wrapped)[0] === req.rateLimit]
        res.json([...same, decisionsOf(wrapped).length, req.rateLimit?.limits[0]?.remaining])
      })
    })
    served = await serveHandler(app)
    expect(await (await fetch(served.url)).json()).toEqual([true, true, 1, 5])
  })

  test('what the application or another package sets at the property before is replaced, and stays afterwards', async () => {
    const set: RequestHandler = (req, _res, next) => {
      Object.assign(req, { rateLimit: 'theirs' })
      next()
    }
    const app = express()
    const show: RequestHandler = (req, res) => void res.json([req.rateLimit, decisionsOf(req).length])
    app.get('/before', set, rateLimit({ limit: '5/min' }), show)
    app.get('/after', rateLimit({ limit: '5/min' }), set, show)
    app.get('/none', show)
    served = await serveHandler(app)
    const { get } = clientOf(async () => served)
    const all = await Promise.all(['before', 'after', 'none'].map(async (path) => (await get(path)).json()))
    expect(all).toEqual([
      [expect.objectContaining({ allowed: true }), 1],
      ['theirs', 1],
      [null, 0],
    ])
  })
})
