import { createLimiter, memoryStore } from '@tollgate/core'
import { dashboard as forFastify } from '../src/fastify.js'
import { dashboard } from '../src/index.js'

const limiter = createLimiter({ limit: '5/h', store: memoryStore() })
afterAll(() => limiter.close())

test.each([
  [{ authorise: () => ({ by: 'ops' }) }, 'authorise: there is no such option here; did you mean authorize?'],
  [
    { authorize: 'ops' },
    "authorize: got 'ops', expected a function that returns { by: 'a name' } or nothing",
  ],
  [{ readOnly: 'yes' }, "readOnly: got 'yes', expected true or false"],
  [{ origin: 'admin.example.com' }, "origin: got 'admin.example.com', expected an origin without a path"],
  [{ origin: 'https://admin.example.com/x' }, 'expected an origin without a path'],
  [{ origin: ['https://a.example', 7] }, 'origin: got 7'],
  [{ path: '_tollgate' }, "path: got '_tollgate', expected a path such as '/_tollgate'"],
  [{ path: '/a?b' }, 'expected a path such as'],
  [7, 'an object of options'],
])('refuses %p at construction', (options, message) => {
  expect(() => dashboard(limiter, options as never)).toThrow(
    expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', message: expect.stringContaining(message) }),
  )
})

test('refuses path where Fastify has the prefix', () => {
  expect(() => forFastify(limiter, { path: '/x' } as never)).toThrow(/^path: there is no such option here/)
})

test('refuses what is no limiter', () => {
  expect(() => dashboard((() => {}) as never)).toThrow(/^limiter: got .*expected what createLimiter returned/)
})
