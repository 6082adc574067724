import { serveHandler, type Served } from '@tollgate/testing'
import express5, { type ErrorRequestHandler } from 'express'
import express4 from 'express4'
import { decisionsOf, rateLimit } from '../src/index.js'

let served: Served | undefined
afterEach(async () => {
  await served?.close()
  served = undefined
})

describe.each([
  ['Express 5', express5],
  ['Express 4', express4],
])('routes, %s', (_, express) => {
  /** Serves what `mount` adds to an application, and tells how much each of these requests left of 100. */
  const remains = async (mount: (app: express5.Express) => void, ...paths: string[]): Promise<unknown[]> => {
    const app = express() as express5.Express
    mount(app)
    served = await serveHandler(app)
    const found: unknown[] = []
    for (const path of paths) {
      const { status, headers } = await fetch(`${served.url}${path}`)
      found.push(`${status} ${headers.get('ratelimit-remaining')}`)
    }
    return found
  }

  test("next('route'): what was passed over costs nothing, and what was taken stays", async () => {
    const found = await remains(
      (app) => {
        const limit = rateLimit({ limit: '100/min' })
        app.use(limit)
        app.get('/before', (_req, _res, next) => next('route'), limit.route({ cost: 50 }))
        app.get('/after', limit.route({ cost: 10 }), (_req, _res, next) => next('route'))
        app.get(['/before', '/after'], (req, res) => res.json(decisionsOf(req).map(({ cost }) => cost)))
      },
      'before',
      'after',
    )
    expect(found).toEqual(['200 99', '200 89'])
  })

  test('routers that are mounted under routers, by the route that the limiter of the outer one has', async () => {
    const found = await remains(
      (app) => {
        const limit = rateLimit({ limit: '100/min' })
        const [api, reports] = [express.Router(), express.Router()]
        app.use(limit)
        app.use('/api', limit.route({ stacked: { api: '50/min' } }), api)
        api.use('/reports', limit.route({ cost: 5 }), reports)
        api.get('/', (_req, res) => res.end())
        reports.get('/big', limit.route({ cost: 20 }), (_req, res) => res.end())
        reports.get('/', (_req, res) => res.end())
      },
      'api',
      'api/reports',
      'api/reports/big',
      'api/reports/big',
      'api/reports/big',
    )
    expect(found).toEqual(['200 49', '200 44', '200 24', '200 4', '429 4'])
  })

  test('above the limiter of the application a route decides alone, also if the request goes on to it', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const found = await remains(
      (app) => {
        const limit = rateLimit({ limit: '100/min' })
        app.get('/export', limit.route({ cost: 10 }), (req, _res, next) =>
          next(req.query['on'] ? undefined : 'route'),
        )
        app.use(limit)
        app.get('/export', (_req, res) => res.end())
      },
      'export',
      'export?on=1',
    )
    expect([found, warn.mock.calls]).toEqual([['200 90', '200 80'], []])
    warn.mockRestore()
  })

  test('an error handler answers with the headers of the whole', async () => {
    const found = await remains((app) => {
      const limit = rateLimit({ limit: '100/min' })
      app.use(limit)
      app.get('/fails', limit.route({ cost: 10 }), () => {
        throw new Error('of the application')
      })
      app.use(((_error, _req, res, _next) => void res.status(500).end()) satisfies ErrorRequestHandler)
    }, 'fails')
    expect(found).toEqual(['500 90'])
  })
})

test.each<[object, string, string]>([
  [{ cots: 5 }, 'route.cots', 'did you mean cost?'],
  [{ cost: 0 }, 'route.cost', 'a whole number of units from 1'],
  [{ limit: '5/min' }, 'route.group', "such as group: 'search'"],
  [{ stacked: '5/min' }, 'route.stacked', "such as { export: '5/min' }"],
  [{ store: {} }, 'route.store', 'rateLimit({ store })'],
])('%j is refused where the route is declared', (options, path, expected) => {
  const limit = rateLimit({ limit: '9/min', stacked: { day: '50/d' } })
  const declare = (): unknown => limit.route(options)
  expect(declare).toThrow(expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }))
  expect(declare).toThrow(expected)
})

test('a limit on top with the name of another is refused, unless it is the same', () => {
  const limit = rateLimit({ limit: '9/min', stacked: { day: '50/d' } })
  expect(() => limit.route({ stacked: { day: '60/d' } })).toThrow(
    "the stacked limit 'day' of this limiter has '50/d'",
  )
  expect(() => limit.route({ stacked: { day: '50/d' } })).not.toThrow()
})
