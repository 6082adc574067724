import { RATE_LIMIT_HEADERS, type Decision, type Limiter, type Store } from '@tollgate/core'
import type { AnyRequest, Serve, ServeOptions } from './adapter-contract.ts'
import { httpBench } from './http-bench.ts'

type Options = ServeOptions['options']

const byKey = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? '')
const acme = { 'x-api-key': 'acme' }

/**
 * Identity, scopes, costs, refunds and answers: the requirements of `adapterContract` for each adapter beyond the basic
 * ones.
 */
export function httpContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`http contract: ${name}`, () => {
    const { limiterOf, start, statuses } = httpBench(serve, makeStore, { headers: acme })
    const remaining = async (limiter: Limiter, id = 'acme'): Promise<number | undefined> =>
      (await limiter.peek(id)).limits[0]?.remaining

    test('routes of one group share counters, separate from other groups and the rest', async () => {
      const limiter = limiterOf({ limit: '2/min' })
      const options = { limiter, identify: byKey }
      const search = await start({ ...options, group: 'search' })
      const more = await start({ ...options, group: 'search' })
      const other = await start({ ...options, group: 'other' })
      const common = await start(options)
      expect(await statuses(search, 1)).toEqual([200])
      expect(await statuses(more, 2)).toEqual([200, 429])
      expect(await statuses(other, 3)).toEqual([200, 200, 429])
      expect(await statuses(common, 3)).toEqual([200, 200, 429])
    })

    test("a group with its own limits, instead of the plan's", async () => {
      const limiter = limiterOf({ limit: '100/min' })
      const login = await start({ limiter, identify: byKey, group: 'login', limit: '1/min' })
      expect(await statuses(login, 2)).toEqual([200, 429])
      expect(await remaining(limiter)).toBe(100)
    })

    test("stacked limits of a route: all of them and the plan's have room, or nothing is taken", async () => {
      const limiter = limiterOf({ limit: '3/min' })
      const url = await start({ limiter, identify: byKey, stacked: { export: '1/h' } })
      const first = await fetch(url, { headers: acme })
      expect(first.headers.get('ratelimit-policy')).toBe('"minute";q=3;w=60, "export.hour";q=1;w=3600')
      const second = await fetch(url, { headers: acme })
      expect([second.status, await second.json()]).toMatchObject([
        429,
        { 'violated-policies': ['export.hour'] },
      ])
      expect(await remaining(limiter)).toBe(2)
    })

    test('several subjects: all must have room, or nothing is taken', async () => {
      const limiter = limiterOf({ plans: { org: '3/min', user: '2/min' }, defaultPlan: 'org' })
      const identify = (req: AnyRequest): object[] => [
        { id: 'acme', plan: 'org' },
        { id: byKey(req), plan: 'user' },
      ]
      const url = await start({ limiter, identify: identify as never })
      const as = (user: string): RequestInit => ({ headers: { 'x-api-key': user } })
      expect(await statuses(url, 3, as('u1'))).toEqual([200, 200, 429])
      expect(await statuses(url, 2, as('u2'))).toEqual([200, 429])
      const { limits } = await limiter.peek([
        { id: 'acme', plan: 'org' },
        { id: 'u2', plan: 'user' },
      ])
      expect(limits.map(({ name: limit, remaining: left }) => [limit, left])).toEqual([
        ['minute', 0],
        ['user.minute', 1],
      ])
    })

    test('one limiter in two places: first a guard by address, then the plan', async () => {
      const limiter = limiterOf({ plans: { guard: '3/min', pro: '100/min' }, defaultPlan: 'guard' })
      const guard = await start({ limiter })
      const api = await start({ limiter, identify: (req) => ({ id: byKey(req), plan: 'pro' }) })
      expect(await statuses(guard, 4)).toEqual([200, 200, 200, 429])
      expect(await statuses(api, 4)).toEqual([200, 200, 200, 200])
    })

    test('allow and block lists: ids, addresses, networks, functions', async () => {
      const lists: Options = {
        limit: '1/min',
        identify: byKey,
        allowList: ['friend', '203.0.113.0/24', '2001:db8::/32'],
        blockList: (subject) => Promise.resolve(subject.id === 'enemy'),
      }
      const url = await start(lists, { trustProxy: true })
      const from = (ip: string): RequestInit => ({ headers: { ...acme, 'x-forwarded-for': ip } })
      expect(await statuses(url, 3, { headers: { 'x-api-key': 'friend' } })).toEqual([200, 200, 200])
      expect(await statuses(url, 3, from('::ffff:203.0.113.9'))).toEqual([200, 200, 200])
      expect(await statuses(url, 3, from('2001:db8:7::1'))).toEqual([200, 200, 200])
      expect(await statuses(url, 2, from('198.51.100.1'))).toEqual([200, 429])
      const blocked = await fetch(url, { headers: { 'x-api-key': 'enemy' } })
      expect([blocked.status, blocked.headers.get('retry-after'), blocked.headers.get('ratelimit')]).toEqual([
        403,
        null,
        null,
      ])
      expect(await blocked.json()).toMatchObject({ status: 403, code: 'blocked' })
    })

    test('a subject on a plan that is blocked gets 403, as one on the block list', async () => {
      const plans = { free: '1/min', suspended: 'blocked' }
      const url = await start({ plans, identify: (req) => ({ id: byKey(req), plan: 'suspended' }) })
      const blocked = await fetch(url, { headers: acme })
      expect([blocked.status, blocked.headers.get('retry-after'), blocked.headers.get('ratelimit')]).toEqual([
        403,
        null,
        null,
      ])
      expect(await blocked.json()).toMatchObject({ status: 403, code: 'blocked' })
    })

    test('HEAD counts like other methods; a CORS preflight does not; methods can be chosen', async () => {
      const limiter = limiterOf({ limit: '3/min' })
      const url = await start({ limiter, identify: byKey })
      const asked = { ...acme, 'access-control-request-method': 'POST' }
      const preflight = { method: 'OPTIONS', headers: { ...asked, origin: 'https://app.example' } }
      expect(await statuses(url, 4, preflight)).not.toContain(429)
      await fetch(url, { method: 'HEAD', headers: acme })
      expect(await remaining(limiter)).toBe(2)
      const posts = await start({ limiter, identify: byKey, methods: ['POST'], group: 'posts' })
      expect(await statuses(posts, 5)).toEqual([200, 200, 200, 200, 200])
      expect(await statuses(posts, 5, { method: 'POST', headers: acme })).toContain(429)
    })

    test('where GET is limited, HEAD does not get around it', async () => {
      const reads = await start({ limit: '2/min', identify: byKey, methods: ['GET'] })
      expect(await statuses(reads, 3, { method: 'HEAD', headers: acme })).toEqual([200, 200, 429])
      expect(await statuses(reads, 1)).toEqual([429])
      const posts = await start({ limit: '2/min', identify: byKey, methods: ['POST'] })
      expect(await statuses(posts, 3, { method: 'HEAD', headers: acme })).toEqual([200, 200, 200])
    })

    test.each(['access-control-request-method', 'origin'])(
      'OPTIONS with %s alone is no preflight, and is limited',
      async (name) => {
        const url = await start({ limit: '2/min', identify: byKey })
        const options = { method: 'OPTIONS', headers: { ...acme, [name]: 'POST' } }
        expect((await statuses(url, 3, options))[2]).toBe(429)
      },
    )

    test.each([
      ['*/*', 'application/problem+json'],
      ['application/json', 'application/json'],
      ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/plain; charset=utf-8'],
      ['text/plain', 'text/plain; charset=utf-8'],
      ['image/png', 'application/problem+json'],
      [`${'a/b,'.repeat(500)};;q=x,`, 'application/problem+json'],
    ])('a client that accepts %s is denied in %s', async (accept, type) => {
      const url = await start({ limit: '1/min', identify: byKey })
      await statuses(url, 1)
      const response = await fetch(url, { headers: { ...acme, accept } })
      expect([response.status, response.headers.get('content-type')]).toEqual([429, type])
      expect(await response.text()).toMatch(/try again in (59 seconds|1 minute)/)
    })

    test.each<[string, NonNullable<Options['body']>, string, string]>([
      ['text', () => 'calm down', 'text/plain; charset=utf-8', 'calm down'],
      [
        'an object',
        ({ violated }: Decision) => ({ violated }),
        'application/json',
        '{"violated":["minute"]}',
      ],
    ])('a body of the user: %s', async (_, body, type, text) => {
      const url = await start({ limit: '1/min', identify: byKey, body })
      await statuses(url, 1)
      const response = await fetch(url, { headers: acme })
      expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([
        429,
        type,
        text,
      ])
    })

    test('Retry-After with jitter is never earlier, and not always the same', async () => {
      const url = await start({ limit: '1/min', identify: byKey, retryJitterMs: 60_000 })
      await statuses(url, 1)
      const told = new Set<number>()
      for (let i = 0; i < 12; i += 1) {
        told.add(Number((await fetch(url, { headers: acme })).headers.get('retry-after')))
      }
      expect(Math.min(...told)).toBeGreaterThanOrEqual(59)
      expect(Math.max(...told)).toBeLessThanOrEqual(120)
      expect(told.size).toBeGreaterThan(2)
    })

    test('scripts of other origins may read the headers; a hash can say whose each limit is', async () => {
      const headers = { expose: true, partitionKey: true }
      const url = await start({ limit: '9/min', identify: byKey, headers })
      const response = await fetch(url, { headers: acme })
      expect(response.headers.get('access-control-expose-headers')).toBe(
        RATE_LIMIT_HEADERS.filter((header) => !header.startsWith('X-')).join(', '),
      )
      const [, key] =
        /^"minute";r=8;t=60;(pk=:[\w+/]{12}:)$/.exec(response.headers.get('ratelimit') ?? '') ?? []
      expect(response.headers.get('ratelimit-policy')).toBe(`"minute";q=9;w=60;${key}`)
      const other = await fetch(url, { headers: { 'x-api-key': 'other' } })
      expect(other.headers.get('ratelimit')).not.toContain(String(key))
    })

    test('a look-up gives the plan; one that hangs gives the default plan within its deadline', async () => {
      const planOf = ({ id }: { id: string | number }): Promise<string> =>
        id === 'slow' ? new Promise(() => {}) : Promise.resolve('pro')
      const limiter = limiterOf({
        plans: { free: '1/min', pro: '3/min' },
        defaultPlan: 'free',
        planOf,
        planCache: { deadlineMs: 50 },
      })
      const url = await start({ limiter, identify: byKey })
      expect(await statuses(url, 4)).toEqual([200, 200, 200, 429])
      expect(await statuses(url, 2, { headers: { 'x-api-key': 'slow' } })).toEqual([200, 429])
    })

    test.each<[string, Options]>([
      ['cost', { cost: () => Promise.reject(new Error('no')) }],
      ['skip', { skip: () => Promise.reject(new Error('no')) }],
      ['allowList', { allowList: () => Promise.reject(new Error('no')) }],
      [
        'body',
        {
          cost: 9,
          body: () => {
            throw new Error('no')
          },
        },
      ],
    ])('%s that throws: the error handler is called once, and no unit is lost', async (_, options) => {
      const onError = jest.fn()
      const limiter = limiterOf({ limit: '5/min' })
      const url = await start({ ...options, limiter, identify: byKey }, { onError })
      expect(await statuses(url, 1)).toEqual([500])
      expect(onError.mock.calls).toEqual([[expect.any(Error)]])
      expect(await remaining(limiter)).toBe(5)
    })
  })
}
