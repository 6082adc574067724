// An option that is undefined is one that was not given: it neither replaces a default nor what a place has from around it.
import { createHttpLimiter, type HttpAdapter } from '../../src/adapter.js'
import { createHeaderWriter } from '../../src/http/headers.js'
import { createLimiter, type RateLimitOptions } from '../../src/index.js'
import { LIMITER_OPTIONS, ONLY_HTTP_OPTIONS } from '../../src/limiter/options/limiter-options.js'
import { readCacheOptions } from '../../src/requests/plan/plan-lookup.js'

const adapter = {
  framework: 'framework of this test',
  ip: () => '192.0.2.1',
  method: () => 'GET',
  header: () => undefined,
  isSent: () => true,
  attach: (req: object, decision: object) => void Object.assign(req, { decision }),
} as unknown as HttpAdapter<object, object>

test('every option of an adapter can be undefined, but for the limits', async () => {
  const none = Object.fromEntries(
    [...LIMITER_OPTIONS, ...ONLY_HTTP_OPTIONS, 'cost', 'group', 'stacked'].map((name) => [name, undefined]),
  )
  const options: RateLimitOptions<object, object> = { ...none, limit: '5/min', warnings: false }
  const req = {}
  expect(await createHttpLimiter(adapter, options).admit(req, {})).toBe(true)
  expect(req).toMatchObject({ decision: { allowed: true, source: 'store', limits: [{ remaining: 4 }] } })
})

test('with a shared limiter the options that would make one can be undefined', async () => {
  const limiter = createLimiter({ limit: '1/min' })
  const none = { store: undefined, plans: undefined, hashIds: undefined }
  expect(await createHttpLimiter(adapter, { limiter, ...none }).admit({}, {})).toBe(true)
})

test('a place keeps what it has from around it', async () => {
  const limiter = createLimiter({ limit: '9/min' })
  const place = createHttpLimiter(adapter, { limiter, cost: 4, identify: () => 'acme' }).route({
    cost: undefined,
    identify: undefined,
  })
  const req = {}
  await place.admit(req, {})
  expect(req).toMatchObject({ decision: { subject: { id: 'acme' }, limits: [{ remaining: 5 }] } })
})

test('headers and planCache keep their defaults', async () => {
  const sent = (options: object): object => {
    const headers: Record<string, unknown> = {}
    const access = { setHeader: (_: object, name: string, value: string) => void (headers[name] = value) }
    const decision = createLimiter({ limit: '5/min' }).peek('acme')
    createHeaderWriter(options, undefined)(decision as never, access as never, {})
    return headers
  }
  const none = { standard: undefined, single: undefined, legacy: undefined }
  expect(Object.keys(sent(none))).toEqual(Object.keys(sent({})))
  expect(Object.keys(sent({})).length).toBeGreaterThan(1)
  const cache = { ttlMs: undefined, staleMs: undefined, maxSubjects: undefined, deadlineMs: undefined }
  expect(readCacheOptions(cache)).toEqual(readCacheOptions({}))
})
