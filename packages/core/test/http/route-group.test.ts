import { createLimiter } from '../../src/index.js'
import { groupForRoute } from '../../src/http/options.js'

test.each<[methods: string | string[], pattern: string, name: string]>([
  ['GET', '/', 'GET'],
  ['GET', '/reports', 'GET.reports'],
  ['HEAD', '/reports/', 'GET.reports'],
  [['POST', 'HEAD'], '/reports', 'GET.reports'],
  [['PUT', 'PATCH'], '/reports', 'PATCH.reports'],
  ['DELETE', '/v1/reports/:id', 'DELETE.v1.reports..id'],
  ['GET', '/user_names/by-id', 'GET.user_names.by-id'],
])('%j %s is counted in %s', (methods, pattern, name) => {
  expect(groupForRoute(methods, pattern)).toBe(name)
})

test('routes that are not the same have names that are not, each of which a group can have', () => {
  const long = '/a-rather-long-path/with/many/parts'
  const routes: [method: string, pattern: string, more?: string][] = [
    ['GET', '/a/b'],
    ['GET', '/a.b'],
    ['GET', '/a//b'],
    ['GET', '/a/:b'],
    ['GET', '/a/.b'],
    ['GET', '/a:b'],
    ['GET', '/a/:b(\\d+)'],
    ['GET', '/a/*'],
    ['GET', '*'],
    ['GET', '/ä'],
    ['GET', '/A/b'],
    ['POST', '/a/b'],
    ['GET', '/a/b', 'one.example.com'],
    ['GET', '/a/b', 'two.example.com'],
    ['GET', long],
    ['GET', `${long}/:id`],
    ['POST', long],
  ]
  const names = routes.map(([method, pattern, more]) => groupForRoute(method, pattern, more))
  expect(new Set(names).size).toBe(routes.length)
  const limiter = createLimiter({ limit: '5/min' })
  for (const group of names) expect(() => limiter.scope({ group, limit: '2/min' })).not.toThrow()
})
