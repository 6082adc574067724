import { type Decision, byHeader, byIp, createLimiter } from '../../src/index.js'
import { createHttpLimiter } from '../../src/adapter.js'
import { createHeaderWriter, type HeaderAccess } from '../../src/http/headers.js'
import { ipSubject } from '../../src/requests/subject/address.js'
import { httpAdapter } from '../support/http-adapter.js'

describe('an address as an id', () => {
  test.each([
    ['203.0.113.7', 64, '203.0.113.7'],
    ['::ffff:203.0.113.7', 64, '203.0.113.7'],
    ['::ffff:cb00:7107', 64, '203.0.113.7'],
    ['0:0:0:0:0:ffff:203.0.113.7', 64, '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', 64, '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', 64, '2001:db8:1:2::/64'],
    ['2001:db8::1', 64, '2001:db8:0:0::/64'],
    ['2001:db8:1:2ff::1', 56, '2001:db8:1:200::/56'],
    ['2001:db8:1:2::1', 32, '2001:db8::/32'],
    // translated by NAT64
    ['64:ff9b::203.0.113.7', 64, '203.0.113.7'],
    ['64:ff9b::cb00:7107', 128, '203.0.113.7'],
    ['64:ff9b:0:0:1::203.0.113.7', 64, '64:ff9b:0:0::/64'],
    // not part of a network
    ['::1', 64, '::1'],
    ['0:0:0:0:0:0:0:1', 32, '::1'],
    ['::', 64, '::'],
    ['::1.2.3.4', 64, '::102:304'],
    ['::1.2.3.5', 64, '::102:305'],
    ['fe80::1%eth0', 64, 'fe80:0:0:0::/64'],
    ['2001:db8::1', 128, '2001:db8:0:0:0:0:0:1::/128'],
    // with a port, as some proxies forward them
    ['203.0.113.7:5000', 64, '203.0.113.7'],
    ['[2001:db8:1:2::1]:443', 64, '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::1]', 64, '2001:db8:1:2::/64'],
    ['not an address', 64, 'not an address'],
    ['', 64, ''],
  ])('%s by /%d is %s', (address, prefix, expected) => {
    expect(ipSubject(address, prefix)).toBe(expected)
  })
})

describe('helpers for identify', () => {
  const request = (headers: Record<string, string | string[]>): { headers: typeof headers } => ({ headers })

  test('byHeader', () => {
    const identify = byHeader('X-API-Key', { plain: true, plan: (id) => (id === 'k1' ? 'pro' : undefined) })
    expect(identify(request({ 'x-api-key': ' k1 ' }))).toEqual({ id: 'k1', plan: 'pro' })
    expect(identify(request({ 'x-api-key': 'k2' }))).toEqual({ id: 'k2', plan: undefined })
    expect(identify(request({ 'x-api-key': ['a', 'b'] }))).toEqual({ id: 'a,b', plan: undefined })
    expect(identify(request({ 'x-api-key': '  ' }))).toBeUndefined()
    expect(identify(request({}))).toBeUndefined()
  })

  test('byIp', () => {
    expect(byIp({ plan: 'anonymous' })({ ip: '::ffff:10.0.0.1' })).toEqual({
      id: '10.0.0.1',
      kind: 'ip',
      plan: 'anonymous',
    })
    expect(byIp({ ipv6Prefix: 48 })({ ip: '2001:db8:1:2::1' })).toEqual({ id: '2001:db8:1::/48', kind: 'ip' })
    expect(byIp()({})).toEqual({ id: 'unknown', kind: 'ip' })
  })

  test.each(['', '%eth0', '%'])('a client without an address (%p) gets the id unknown', (ip) => {
    expect(byIp()({ ip })).toEqual({ id: 'unknown', kind: 'ip' })
  })

  test.each<[unknown, string]>([
    [null, 'byIp'],
    ['203.0.113.7', 'byIp'],
    [new Map(), 'byIp'],
    [{ prefix: 56 }, 'byIp.prefix'],
    [{ ipv6Prefix: 129 }, 'byIp.ipv6Prefix'],
    [{ plan: 5 }, 'byIp.plan'],
    [{ plan: () => 'free' }, 'byIp.plan'],
  ])('byIp(%p) is refused at construction', (options, path) => {
    expect(() => byIp(options as never)).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }),
    )
  })

  test.each<[unknown, unknown, string]>([
    ['x api key', undefined, 'byHeader(name)'],
    ['x-api-key', null, 'byHeader'],
    ['x-api-key', 'pro', 'byHeader'],
    ['x-api-key', () => 'pro', 'byHeader'],
    ['x-api-key', { plans: 'pro' }, 'byHeader.plans'],
    ['x-api-key', { plan: 5 }, 'byHeader.plan'],
    ['x-api-key', { plan: null }, 'byHeader.plan'],
  ])('byHeader(%p, %p) is refused at construction', (name, options, path) => {
    expect(() => byHeader(name as never, options as never)).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }),
    )
  })
})

describe('headers', () => {
  const decision = (limits: Decision['limits'], violated: string[] = []): Decision => ({
    allowed: violated.length === 0,
    subject: { id: 'a' },
    plan: 'p',
    cost: 1,
    limits,
    violated,
    retryAfterMs: 0,
    source: 'store',
    release: () => false,
  })
  const written = (
    made: Decision,
    options?: Parameters<typeof createHeaderWriter>[0],
    headers: Record<string, string> = {},
  ): Record<string, string> => {
    const access: HeaderAccess<typeof headers> = {
      getHeader: (res, name) => res[name],
      setHeader: (res, name, value) => void (res[name] = value),
    }
    createHeaderWriter<typeof headers>(options)(made, access, headers)
    return headers
  }
  const minute = { name: 'minute', quota: 100, windowMs: 60_000, used: 93, remaining: 7, resetMs: 1001 }
  const day = {
    name: 'day',
    quota: 5000,
    windowMs: 86_400_000,
    used: 4997,
    remaining: 3,
    resetMs: 70_000_000,
  }

  test('the lists contain every limit, the single fields the limit closest to denying', () => {
    expect(written(decision([minute, day]), { legacy: 'delta' })).toEqual({
      'RateLimit-Policy': '"minute";q=100;w=60, "day";q=5000;w=86400',
      RateLimit: '"minute";r=7;t=2, "day";r=3;t=70000',
      'RateLimit-Limit': '5000',
      'RateLimit-Remaining': '3',
      'RateLimit-Reset': '70000',
      'X-RateLimit-Limit': '5000',
      'X-RateLimit-Remaining': '3',
      'X-RateLimit-Reset': '70000',
    })
  })

  test('the single fields of a denial show the limit that denied', () => {
    const denying = { ...minute, used: 96, remaining: 4, resetMs: 900 }
    expect(written(decision([denying, day], ['minute']))).toMatchObject({
      'RateLimit-Limit': '100',
      'RateLimit-Reset': '1',
    })
  })

  test('a window below a second rounds up; an unused limit has no reset time', () => {
    const short = { name: '300-ms', quota: 5, windowMs: 300, used: 0, remaining: 5, resetMs: 0 }
    expect(written(decision([short]))).toMatchObject({
      'RateLimit-Policy': '"300-ms";q=5;w=1',
      RateLimit: '"300-ms";r=5',
    })
  })

  test('any limit name becomes a valid string of structured fields, and cannot inject headers', () => {
    const odd = { ...minute, name: 'a "b" \\ é\r\nX: 1 \ud800' }
    const { RateLimit = '' } = written(decision([odd]))
    expect(RateLimit).toBe('"a \\"b\\" \\\\ %C3%A9%0D%0AX: 1 %EF%BF%BD";r=7;t=2')
  })

  test('headers: false sends none', () => {
    expect(written(decision([minute]), false)).toEqual({})
  })

  test.each([
    [{ legacy: true }, 'headers.legacy'],
    [{ draft: 7 }, 'headers.draft'],
    [{ single: 1 }, 'headers.single'],
    ['draft-8', 'headers'],
    [true, 'headers'],
    [null, 'headers'],
    [[], 'headers'],
    [new Date(), 'headers'],
    [new Map(), 'headers'],
  ])('options %p are refused', (options, path) => {
    expect(() => createHeaderWriter(options as never)).toThrow(expect.objectContaining({ path }))
  })
})

describe('options of an adapter', () => {
  const limiter = createLimiter({ limit: '1/min' })

  test.each<[unknown, string]>([
    [undefined, 'options'],
    [null, 'options'],
    [[], 'options'],
    [{ limit: '1/min', identfy: () => 'a' }, 'identfy'],
    [{ limiter, identfy: () => 'a' }, 'identfy'],
    [{ limiter, limit: '1/min' }, 'group'],
    [{ limiter, plans: { a: '1/min' } }, 'plans'],
    [{ limiter, group: 'a b' }, 'group'],
    [{ limiter, stacked: { a: '1/fortnight' } }, 'stacked.a'],
    [{ limit: '1/min', methods: ['get'] }, 'methods[0]'],
    [{ limit: '1/min', methods: [] }, 'methods'],
    [{ limit: '1/min', retryJitterMs: -1 }, 'retryJitterMs'],
    [{ limit: '1/min', refundWhen: true }, 'refundWhen'],
    [{ limit: '1/min', body: 'no' }, 'body'],
    [{ limit: '1/min', allowList: 'acme' }, 'allowList'],
    [{ limit: '1/min', allowList: '' }, 'allowList'],
    [{ limit: '1/min', blockList: null }, 'blockList'],
    [{ limit: '1/min', planOf: null }, 'planOf'],
    [{ limit: '1/min', stacked: null }, 'stacked'],
    [{ limit: '1/min', group: null }, 'group'],
    [{ limit: '1/min', methods: null }, 'methods'],
    [{ limit: '1/min', headers: null }, 'headers'],
    [{ limiter: null }, 'limiter'],
    [{ limit: '1/min', allowList: ['acme', ''] }, 'allowList[1]'],
    [{ limit: '1/min', blockList: ['10.0.0.0/33'] }, 'blockList[0]'],
    [{ limit: '1/min', blockList: ['::1/x'] }, 'blockList[0]'],
    [{ limit: '1/min', headers: { expose: 1 } }, 'headers.expose'],
    [{ limiter: { consume: () => {} } }, 'limiter'],
    [{ limit: '1/min', headers: [] }, 'headers'],
    [{ limit: '1/min', cost: 0 }, 'cost'],
    [{ limit: '1/min', maxRetryAfterMs: 999 }, 'maxRetryAfterMs'],
    [{ limit: '1/min', maxRetryAfterMs: Infinity }, 'maxRetryAfterMs'],
    [{ limit: '1/min', maxRetryAfterMs: null }, 'maxRetryAfterMs'],
    [{ limit: '1/min', retryJitterMs: 0.5 }, 'retryJitterMs'],
    [{ limit: '1/min', namePlan: 'no' }, 'namePlan'],
    [{ limit: '1/min', eventContext: {} }, 'eventContext'],
    [{ limit: '1/min', requestProperty: '' }, 'requestProperty'],
    [{ limit: '1/min', requestProperty: 'a-b' }, 'requestProperty'],
    [{ limit: '1/min', requestProperty: 'body' }, 'requestProperty'],
    [{ limit: '1/min', requestProperty: 'headers' }, 'requestProperty'],
    [{ limit: '1/min', requestProperty: 'statusCode' }, 'requestProperty'],
    [{ limit: '1/min', requestProperty: '__proto__' }, 'requestProperty'],
    [{ limit: '1/min', requestProperty: 5 }, 'requestProperty'],
  ])('%p is refused at construction', (options, path) => {
    expect(() => createHttpLimiter(httpAdapter(), options as never)).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }),
    )
  })
})

describe('list entries that match nobody, and options without effect, are refused', () => {
  const make = (options: object) => () =>
    createHttpLimiter(httpAdapter(), { limit: '1/min', ...options } as never)

  test.each(['10.0.0/8', ' 10.1.1.1', '300.1.2.3', '10.0.0.0/8/9', '2001:db8::/1/2', '1:2:3:4:5:6:7:8:9'])(
    'an entry %j',
    (entry) => {
      expect(make({ blockList: ['acme', entry] })).toThrow(
        expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path: 'blockList[1]' }),
      )
    },
  )

  test.each(['acme', '12345', '1.5', 'org:1:2', 'a/b', 'team/10', '64:ff9b::a01:101', '2001:db8::/32'])(
    'but not %j',
    (entry) => {
      expect(make({ blockList: [entry] })).not.toThrow()
    },
  )

  test('an unknown method, and an array with holes', () => {
    expect(make({ methods: ['GET', 'post'] })).toThrow(
      "methods[1]: got 'post', expected a method in upper case",
    )
    expect(make({ methods: ['PSOT'] })).toThrow(expect.objectContaining({ path: 'methods[0]' }))
    // oxlint-disable-next-line no-sparse-arrays
    expect(make({ methods: ['GET', , 'POST'] })).toThrow(expect.objectContaining({ path: 'methods[1]' }))
    // oxlint-disable-next-line no-sparse-arrays
    expect(make({ blockList: ['a', , 'b'] })).toThrow(expect.objectContaining({ path: 'blockList[1]' }))
  })

  test('options that are an instance of a class, since inherited ones would be missed', () => {
    class Options {
      limit = '1/min'
      identify(): string {
        return 'acme'
      }
    }
    expect(() => createHttpLimiter(httpAdapter(), new Options() as never)).toThrow(
      'expected an object of options',
    )
  })

  test('options that are changed afterwards have no effect', () => {
    const options = { limit: '1/min', cost: 1 } as { limit: string; cost: unknown }
    const http = createHttpLimiter(httpAdapter(), options as never)
    options.cost = 'many'
    expect(http.admit({}, {})).toBe(true)
  })
})
