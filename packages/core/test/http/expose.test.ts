// Access-Control-Expose-Headers lists the headers that are sent, and no others.
import { type Decision, createLimiter } from '../../src/index.js'
import { type HeaderAccess, type HeaderOptions, createHeaderWriter } from '../../src/http/headers.js'

test.each<[HeaderOptions, string]>([
  [{}, 'RateLimit-Policy, RateLimit, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After'],
  [{ single: false }, 'RateLimit-Policy, RateLimit, Retry-After'],
  [
    { standard: false, single: false, legacy: 'epoch' },
    'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After',
  ],
  [{ standard: false, single: false }, 'Retry-After'],
])('%j', (options, exposed) => {
  const headers = new Map<string, string>()
  const decision = createLimiter({ limit: '5/min' }).consume('acme') as Decision
  const access: HeaderAccess<Map<string, string>> = {
    getHeader: (res, name) => res.get(name),
    setHeader: (res, name, value) => void res.set(name, value),
  }
  createHeaderWriter<typeof headers>({ ...options, expose: true })(decision, access, headers)
  const named = headers.get('Access-Control-Expose-Headers')
  expect(named).toBe(exposed)
  const sent = [...headers.keys()].filter((name) => /ratelimit/i.test(name))
  expect(
    exposed
      .split(', ')
      .filter((name) => name !== 'Retry-After')
      .sort(),
  ).toEqual(sent.sort())
})
