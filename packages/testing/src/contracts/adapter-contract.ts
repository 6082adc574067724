import type { ServerResponse } from 'node:http'
import { redisStore, type Decision, type Store } from '@tollgate/core'
import type { MaybePromise } from '@tollgate/core/adapter'
import { Redis } from 'ioredis'
import type { Served } from '../served.ts'
import { testPrefix, testRedisUrl } from '../redis/test-redis.ts'
import { isDeep } from '../deep.ts'
import { bytesContract } from './adapter-bytes.ts'
import { blockContract } from './denials/block-contract.ts'
import { concurrencyContract } from './responses/concurrency-contract.ts'
import { denialContract } from './denials/denial-contract.ts'
import { endContract } from './responses/end-contract.ts'
import { http2Contract } from './http2-contract.ts'
import { hostileContract } from './requests/hostile-contract.ts'
import { httpContract } from './http-contract.ts'
import { leaseContract } from './responses/lease-contract.ts'
import { limitsContract } from './requests/limits-contract.ts'
import { refundContract } from './responses/refund-contract.ts'
import { waitContract } from './denials/wait-contract.ts'
import { onDeniedContract } from './denials/on-denied-contract.ts'
import { requestContract } from './requests/request-contract.ts'
import { routeContract } from './routes/route-contract.ts'
import type { AnyRequest, Serve, ServeOptions } from './serve.ts'
import { shedContract } from './denials/shed-contract.ts'

export type { AnyRequest, Serve, ServeOptions } from './serve.ts'

const TYPE = 'https://iana.org/assignments/http-problem-types#'
const byKey = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? '')

/**
 * The requirements for every adapter, over real HTTP and on memory and Redis. Call it once for each framework and version;
 * only `serve` differs between them.
 *
 * @param serveHttp2 serves the same over HTTP/2 without TLS, if the framework can
 */
export function adapterContract(name: string, serve: Serve, serveHttp2?: Serve): void {
  let redis: Redis
  beforeAll(async () => {
    redis = new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
    await redis.ping()
  })
  afterAll(() => redis.disconnect())

  const onRedis = (): Store => redisStore(redis, { prefix: testPrefix() })
  const ways = [roadContract, httpContract, concurrencyContract, blockContract]
  const more = [routeContract, refundContract, denialContract, requestContract, onDeniedContract, endContract]
  const all = [...ways, ...more, hostileContract, shedContract, limitsContract]
  // Memory answers with values: what an adapter does then is the same in all contracts.
  for (const contract of isDeep ? all : ways) contract(`${name}, memory store`, serve, () => undefined)
  for (const contract of all) contract(`${name}, Redis`, serve, onRedis)
  bytesContract(name, serve)
  leaseContract(name, serve, onRedis)
  if (serveHttp2) http2Contract(name, serveHttp2)
  // On one store: it waits for seconds.
  waitContract(`${name}, Redis`, serve, onRedis)
}

/** The proxy warning comes once per process. A test file is a process, and each framework has its own file. */
let isWarned = false

function roadContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`adapter contract: ${name}`, () => {
    let served: Served | undefined
    afterEach(async () => {
      await served?.close()
      served = undefined
    })

    const start = async (
      options: ServeOptions['options'],
      rest: Omit<ServeOptions, 'options'> = {},
    ): Promise<void> => {
      const store = makeStore()
      served = await serve({ options: { ...(store && { store, deadlineMs: 10_000 }), ...options }, ...rest })
    }
    const get = (headers: Record<string, string> = {}, path = ''): Promise<Response> =>
      fetch(`${served?.url}${path}`, { headers })
    const statuses = async (count: number, headers?: Record<string, string>): Promise<number[]> => {
      const answers = []
      for (let i = 0; i < count; i += 1) answers.push((await get(headers)).status)
      return answers
    }

    test('an allowed request passes, with the headers of every limit and the decision', async () => {
      await start({ limit: ['100/min', '5000000/month'], identify: byKey })
      const response = await get({ 'x-api-key': 'acme' })
      expect(response.status).toBe(200)
      expect(response.headers.get('ratelimit-policy')).toBe(
        '"minute";q=100;w=60, "month";q=5000000;w=2592000',
      )
      expect(response.headers.get('ratelimit')).toMatch(/^"minute";r=99;t=60, "month";r=4999999;t=\d+$/)
      expect(response.headers.get('ratelimit-limit')).toBe('100')
      expect(response.headers.get('ratelimit-remaining')).toBe('99')
      expect(response.headers.get('ratelimit-reset')).toBe('60')
      expect(response.headers.get('x-ratelimit-limit')).toBeNull()
      const { decision } = (await response.json()) as { decision: Decision }
      expect(decision).toMatchObject({
        allowed: true,
        subject: { id: 'acme' },
        plan: 'default',
        source: 'store',
      })
    })

    test('a denied request gets 429, Retry-After, and a problem that must not be cached', async () => {
      await start({ limit: '2/min', identify: byKey })
      await statuses(2, { 'x-api-key': 'acme' })
      const response = await get({ 'x-api-key': 'acme' })
      expect(response.status).toBe(429)
      expect(response.headers.get('retry-after')).toMatch(/^(59|60)$/)
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('ratelimit')).toMatch(/^"minute";r=0;t=(59|60)$/)
      expect(response.headers.get('content-type')).toBe('application/problem+json')
      expect(await response.json()).toMatchObject({
        type: `${TYPE}quota-exceeded`,
        title: 'Quota Exceeded',
        status: 429,
        'violated-policies': ['minute'],
        code: 'rate_limit_exceeded',
      })
    })

    test('Retry-After is at least 1, also for a window below a second', async () => {
      await start({ limit: '1/300ms' })
      const all = await Promise.all(Array.from({ length: 20 }, () => get()))
      const denied = all.filter(({ status }) => status === 429)
      expect(denied.length).toBeGreaterThan(0)
      for (const { headers } of denied) expect(headers.get('retry-after')).toBe('1')
    })

    test('a cost that can never fit is denied with a reason and no Retry-After', async () => {
      await start({ limit: '10/min', cost: 11 })
      const response = await get()
      expect([response.status, response.headers.get('retry-after')]).toEqual([429, null])
      expect(await response.json()).toMatchObject({
        code: 'cost_exceeds_quota',
        detail:
          'This request takes 11 units, but only 10 units a minute are allowed. Waiting does not help: make it smaller, or ask for a higher limit.',
      })
      // The limit is unused, and its numbers say so: all units are left, and none is yet to come.
      expect(response.headers.get('ratelimit')).toBe('"minute";r=10')
      expect(response.headers.get('ratelimit-remaining')).toBe('10')
      expect(response.headers.get('ratelimit-reset')).toBe('0')
    })

    test('every tenant has its own plan; an async identify is awaited', async () => {
      const plans = { free: '1/min', pro: '3/min' }
      await start({ plans, identify: async (req) => ({ id: byKey(req), plan: byKey(req).split('-')[0] }) })
      expect(await statuses(2, { 'x-api-key': 'free-a' })).toEqual([200, 429])
      expect(await statuses(2, { 'x-api-key': 'free-b' })).toEqual([200, 429])
      expect(await statuses(4, { 'x-api-key': 'pro-a' })).toEqual([200, 200, 200, 429])
    })

    test('an unlimited plan sets no headers; a skipped request has no headers and no decision', async () => {
      const plans = { free: '1/min', internal: 'unlimited' }
      await start({
        plans,
        identify: () => ({ id: 'ops', plan: 'internal' }),
        skip: (req) => byKey(req) === 'health',
      })
      for (const key of ['ops', 'health', 'ops']) {
        const response = await get({ 'x-api-key': key })
        expect([response.status, response.headers.get('ratelimit')]).toEqual([200, null])
        const { decision } = (await response.json()) as { decision?: Decision }
        expect(decision?.source).toBe(key === 'health' ? undefined : 'unlimited')
      }
    })

    test('a request without an id counts by client IP on the default plan, separately from tenants', async () => {
      const plans = { free: '1/min', pro: '100/min' }
      await start({ plans, defaultPlan: 'free', identify: byKey, warnings: false })
      expect(await statuses(2)).toEqual([200, 429])
      expect(await statuses(2, { 'x-api-key': '@127.0.0.1' })).toEqual([200, 429])
      // An id that is an IP address counts as the client with that address.
      expect(await statuses(1, { 'x-api-key': '127.0.0.1' })).toEqual([429])
      expect(await statuses(1, { 'x-api-key': '::ffff:127.0.0.1' })).toEqual([429])
    })

    test("client IPs follow the framework's trust in proxies, IPv6 by /64", async () => {
      await start({ limit: '1/min' }, { trustProxy: true })
      const from = (ip: string): Promise<number[]> => statuses(1, { 'x-forwarded-for': ip })
      expect(await from('203.0.113.1')).toEqual([200])
      expect(await from('203.0.113.2')).toEqual([200])
      expect(await from('::ffff:203.0.113.1')).toEqual([429])
      expect(await from('2001:db8:1:2::1')).toEqual([200])
      expect(await from('2001:db8:1:2:ffff::1')).toEqual([429])
      expect(await from('2001:db8:1:3::1')).toEqual([200])
    })

    test('without trust, a forwarded header changes nothing, and one warning per process says so', async () => {
      const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
      // An application that trusts a proxy gets no warning, and the process can still warn another application.
      await start({ limit: '9/min' }, { trustProxy: true })
      expect(await statuses(1, { 'x-forwarded-for': '203.0.113.1' })).toEqual([200])
      await served?.close()
      await start({ limit: '1/min' })
      expect(await statuses(1, { 'x-forwarded-for': '203.0.113.1' })).toEqual([200])
      expect(await statuses(1, { 'x-forwarded-for': '203.0.113.2' })).toEqual([429])
      expect(warn.mock.calls.map(([message]) => String(message))).toEqual(
        isWarned ? [] : [expect.stringContaining('trusts no proxy')],
      )
      isWarned = true
      warn.mockRestore()
    })

    test.each([
      [
        'throws',
        () => {
          throw new Error('no tenant')
        },
      ],
      ['rejects', () => Promise.reject(new Error('no tenant'))],
      [
        'throws nothing',
        () => {
          throw undefined
        },
      ],
      ['rejects with a word that frameworks take for a command', () => Promise.reject('route')],
      ['gives something that is no subject', () => ({ id: Promise.resolve('acme') }) as never],
    ])('identify %s: the error handler is called once, and nothing else answers', async (_, identify) => {
      const onError = jest.fn()
      await start({ limit: '5/min', identify }, { onError })
      expect(await statuses(1)).toEqual([500])
      expect(onError.mock.calls).toEqual([[expect.any(Error)]])
    })

    test.each([0, -1, 1.5, Number.NaN])('a cost of %p is an error that names it', async (cost) => {
      const onError = jest.fn()
      await start({ limit: '5/min', cost: () => cost }, { onError })
      expect(await statuses(1)).toEqual([500])
      expect(onError.mock.calls).toEqual([[expect.objectContaining({ code: 'ERR_TOLLGATE_COST' })]])
      expect(String(onError.mock.calls[0]?.[0])).toContain(String(cost))
    })

    test('an error of the application reaches its error handler, once', async () => {
      const onError = jest.fn()
      await start({ limit: '5/min', identify: async () => 'acme' }, { onError })
      const failed = await get({}, 'error')
      // The error response has the limit headers, too.
      expect([failed.status, failed.headers.get('ratelimit')]).toEqual([
        500,
        expect.stringMatching(/^"minute";r=/),
      ])
      expect(onError.mock.calls).toEqual([[expect.objectContaining({ message: 'of the application' })]])
      expect(await statuses(1)).toEqual([200])
    })

    test('a HEAD request counts like any other, and its denial has no body', async () => {
      await start({ limit: '1/min' })
      const answers = [
        await fetch(served?.url ?? '', { method: 'HEAD' }),
        await fetch(served?.url ?? '', { method: 'HEAD' }),
      ]
      expect(answers.map(({ status }) => status)).toEqual([200, 429])
      expect(answers[1]?.headers.get('ratelimit')).toMatch(/^"minute";r=0;t=(59|60)$/)
      expect(await answers[1]?.text()).toBe('')
    })

    test('a cost per request', async () => {
      await start({ limit: '10/min', cost: async (req) => Number(req.headers['x-cost']) })
      expect(await statuses(3, { 'x-cost': '4' })).toEqual([200, 200, 429])
      expect(await statuses(2, { 'x-cost': '1' })).toEqual([200, 200])
    })

    test('each family of headers can be chosen', async () => {
      await start({ limit: '5/min', headers: { standard: false, single: false, legacy: 'epoch' } })
      const { headers } = await get()
      expect([
        headers.get('ratelimit'),
        headers.get('ratelimit-policy'),
        headers.get('ratelimit-limit'),
      ]).toEqual([null, null, null])
      expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['5', '4'])
      expect(Number(headers.get('x-ratelimit-reset')) - Date.now() / 1000).toBeCloseTo(60, -1)
    })

    test("the user's handler answers instead of Tollgate, with the headers set", async () => {
      const onDenied = jest.fn((_req: AnyRequest, res: never, _decision: Decision): MaybePromise<void> => {
        const node = (res as { raw?: object; res?: object }).raw ?? (res as { res?: object }).res ?? res
        const response = node as ServerResponse
        response.statusCode = 420
        response.end('calm down')
      })
      await start({ limit: '1/min', onDenied })
      await get()
      const response = await get()
      expect([response.status, await response.text()]).toEqual([420, 'calm down'])
      expect(onDenied.mock.calls[0]?.[2]).toMatchObject({ allowed: false, reason: 'quota-exceeded' })
    })

    test('a broken store: requests pass without made-up numbers, or get 503, never 429', async () => {
      const broken = {
        synchronous: false,
        consume: () => Promise.reject(new Error('down')),
        peek: () => Promise.reject(new Error('down')),
        refund: () => Promise.reject(new Error('down')),
        reset: () => Promise.reject(new Error('down')),
      }
      await start({ limit: '1/min', store: broken, onStoreFailure: 'open' })
      const open = await get()
      expect([open.status, open.headers.get('ratelimit'), open.headers.get('ratelimit-limit')]).toEqual([
        200,
        null,
        null,
      ])
      await served?.close()
      await start({ limit: '1/min', store: { ...broken }, onStoreFailure: 'closed' })
      const closed = await get()
      expect([closed.status, closed.headers.get('retry-after'), closed.headers.get('ratelimit')]).toEqual([
        503,
        '1',
        null,
      ])
      expect(await closed.json()).toMatchObject({ type: `${TYPE}temporary-reduced-capacity`, status: 503 })
    })
  })
}
