import { clientOf, namesOf, serveHandler, type Served } from '@tollgate/testing'
import express5, { type ErrorRequestHandler, type RequestHandler } from 'express'
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

  test('the decision is at the request in mounted applications, in the outer one, and in error handlers', async () => {
    const [app, mounted] = [express(), express()]
    const seen: unknown[] = []
    const note: RequestHandler = (req, _res, next) => (seen.push(req.rateLimit?.limits[0]?.quota), next())
    app.use(note)
    mounted.use(rateLimit({ limit: '5/min' }), note)
    app.use(mounted, note, rateLimit({ limit: '7/min' }), note)
    app.use((_req, _res, next) => next(new Error('failed')))
    const answer: ErrorRequestHandler = (_error, { rateLimit: decision }, res, _next) =>
      void res.json(decision?.limits[0]?.quota)
    app.use(answer)
    served = await serveHandler(app)
    expect(await (await fetch(served.url)).json()).toBe(7)
    expect(seen).toEqual([undefined, 5, 5, 7])
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
