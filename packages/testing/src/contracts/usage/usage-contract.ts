import { createHash } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  byIp,
  createLimiter,
  memoryStore,
  type Limiter,
  type LimiterOptions,
  type RateLimitOptions,
  type Subject,
  type UsageReport,
  type UsageRouteOptions,
} from '@tollgate/core'
import { failingStore } from '@tollgate/core/testing'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Served } from '../../served.ts'
import type { AnyRequest } from '../adapter-contract.ts'

/** An application whose route `/usage` shows usage. */
export interface ServedUsage {
  /** The middleware of all routes but this one. Default: none. */
  readonly limit?: RateLimitOptions<AnyRequest, never>
  /** Default: what the middleware knows. */
  readonly usage?: UsageRouteOptions<AnyRequest, never>
}

/** Makes a framework's handler for usage of any source. */
export type MakeUsage = (source: never) => unknown

const schema = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../../../docs/reference/usage.schema.json'), 'utf8'),
) as object
const isReport = new Ajv2020({ strict: true, validateFormats: false }).compile(schema)

const identify = ({ headers }: AnyRequest): Subject | undefined => {
  const id = headers['x-user']
  return id === undefined ? undefined : { id: String(id), plan: String(headers['x-plan'] ?? 'free') }
}
const HTML = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
const PRIVATE = 'private, no-store'

const plans = {
  free: ['100/min', '1000/month'],
  over: { limits: { quota: 3, window: 'month', overage: true } },
  busy: ['10/min', '5 concurrent'],
  staff: 'unlimited',
  banned: 'blocked',
  '<i>&"': { limits: { quota: 5, window: 'min', name: '<script>alert(1)</script>' } },
} as const

/** As a user's `identify`, with less of its types. */
type Who = UsageRouteOptions<AnyRequest, never>['identify']

/** What customers are told of their usage, over real HTTP. Call it once for each framework. */
export function usageContract(
  name: string,
  serve: (app: ServedUsage) => Promise<Served>,
  make: MakeUsage,
): void {
  describe(`usage: ${name}`, () => {
    const served: Served[] = []
    const limiters: Limiter[] = []
    afterEach(async () => {
      for (const app of served.splice(0)) await app.close()
      for (const limiter of limiters.splice(0)) await limiter.close()
    })

    const limiterOf = (options: Partial<LimiterOptions> = {}): Limiter => {
      const limiter = createLimiter({
        plans,
        defaultPlan: 'free',
        warnings: false,
        ...options,
      } as LimiterOptions)
      limiters.push(limiter)
      return limiter
    }
    const start = async (app: ServedUsage): Promise<string> => {
      const one = await serve(app)
      served.push(one)
      return one.url
    }
    const begin = async (limiter: Limiter = limiterOf()): Promise<string> =>
      start({ limit: { limiter, identify } as RateLimitOptions<AnyRequest, never> })
    const ask = async (url: string, user?: string, more: Record<string, string> = {}): Promise<Response> =>
      fetch(`${url}usage`, { headers: { ...(user !== undefined && { 'x-user': user }), ...more } })
    const reportFor = async (...given: Parameters<typeof ask>): Promise<UsageReport> => {
      const answer = await ask(...given)
      const said = (await answer.json()) as UsageReport
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json'])
      expect([isReport(said), isReport.errors]).toEqual([true, null])
      return said
    }

    test('each customer is told of its own limits, and asking takes no units', async () => {
      const url = await begin()
      const use = { headers: { 'x-user': 'acme' } }
      for (let i = 0; i < 3; i += 1) expect((await fetch(url, use)).status).toBe(200)
      const before = Date.now()
      for (let i = 0; i < 5; i += 1) {
        const { plan, limits, ...rest } = await reportFor(url, 'acme')
        expect([plan, rest]).toEqual(['free', {}])
        expect(limits).toMatchObject([
          { name: 'minute', quota: 100, unit: 'units', windowSeconds: 60, used: 3, remaining: 97 },
          { name: 'month', quota: 1000, unit: 'units', windowSeconds: 2_592_000, used: 3, remaining: 997 },
        ])
        for (const { resetsAt, resetSeconds } of limits) {
          const atMs = Date.parse(String(resetsAt))
          expect(atMs % 1000).toBe(0)
          expect(atMs).toBeGreaterThan(before)
          expect(Math.abs(atMs - Date.now() - resetSeconds * 1000)).toBeLessThan(60_000)
        }
      }
      expect((await reportFor(url, 'other')).limits.map(({ used }) => used)).toEqual([0, 0])
      const { headers } = await ask(url, 'acme')
      expect([headers.get('cache-control'), headers.get('vary')]).toEqual([
        PRIVATE,
        expect.stringContaining('Accept'),
      ])
      expect(headers.get('ratelimit')).toBeNull()
    })

    test('nobody is told of an address: 401, also where identify counts by it', async () => {
      const url = await begin()
      const answers = [await ask(url), await ask(url, '')]
      const byAddress = await start({
        usage: { limiter: limiterOf(), identify: () => ({ id: '192.0.2.1', kind: 'ip', plan: 'free' }) },
      })
      for (const answer of [...answers, await ask(byAddress, 'acme')]) {
        expect([answer.status, answer.headers.get('cache-control')]).toEqual([401, PRIVATE])
        expect(answer.headers.get('content-type')).toBe('application/problem+json')
        expect(await answer.json()).toMatchObject({ status: 401, title: 'Unauthorized' })
      }
    })

    test('asking more than 60 times a minute is refused, for that customer alone', async () => {
      const url = await begin()
      let answered = 0
      let refused: Response | undefined
      // A slow machine gets some of the units back meanwhile.
      while (!refused && answered < 1000) {
        const answer = await ask(url, 'acme')
        if (answer.status === 429) refused = answer
        else answered += 1
      }
      expect(answered).toBeGreaterThanOrEqual(60)
      expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect(refused?.headers.get('cache-control')).toBe(PRIVATE)
      expect((await ask(url, 'other')).status).toBe(200)
      const { limits } = await limiters[0]!.peek({ id: 'acme', plan: 'free' })
      expect(limits.map(({ used }) => used)).toEqual([0, 0])
    })

    test('all routes of a limiter share that', async () => {
      const limiter = limiterOf()
      const urls = [await begin(limiter), await begin(limiter)]
      for (const url of urls) {
        let answered = 0
        while (answered < 1000 && (await ask(url, 'acme')).status === 200) answered += 1
        if (url === urls[1]) expect(answered).toBeLessThan(60)
      }
    })

    test('who only writes an address, as some proxies do, is nobody', async () => {
      const url = await start({
        usage: { limiter: limiterOf(), identify: ((req) => identify(req)?.id) as Who },
      })
      for (const user of ['203.0.113.9', '203.0.113.9:4711', '[2001:db8::1]:4711', '2001:db8::1'])
        expect([user, (await ask(url, user)).status]).toEqual([user, 401])
      expect((await ask(url, 'acme')).status).toBe(200)
    })

    test('lists: one that is blocked, and one without limits', async () => {
      const lists = { blockList: ['abuser'], allowList: ['staff'] }
      const limit = { limiter: limiterOf(), identify, ...lists } as RateLimitOptions<AnyRequest, never>
      const url = await start({ limit })
      expect(await reportFor(url, 'abuser')).toEqual({ limits: [], blocked: { until: null } })
      expect(await reportFor(url, 'staff')).toEqual({ limits: [] })
      expect((await reportFor(url, 'acme')).limits).toHaveLength(2)
    })

    test('while denials block a customer, what it has used stays what it is', async () => {
      const blockAfter = { denials: 2, within: '1min', for: ['5min'] }
      const month = { quota: 1000, window: 'month', overage: true }
      const limiter = limiterOf({
        plans: {
          free: { limits: [{ quota: 2, window: 'h', algorithm: 'fixed-window' }, month], blockAfter },
        },
      } as never)
      const url = await begin(limiter)
      for (let i = 0; i < 5; i += 1) await limiter.consume({ id: 'acme', plan: 'free' })
      const { limits, blocked } = await reportFor(url, 'acme')
      expect(limits).toMatchObject([
        { used: 2, remaining: 0 },
        { used: 2, remaining: 998, over: 0 },
      ])
      expect(Date.parse(String(blocked?.until))).toBeGreaterThan(Date.now())
    })

    test('limits that a function gives to an address in front are not those of the customer', async () => {
      const limiter = limiterOf()
      const url = await start({
        usage: {
          ...{ limiter, limit: () => '3/min' },
          identify: () => [
            { id: '192.0.2.1', kind: 'ip' },
            { id: 'acme', plan: 'free' },
          ],
        },
      } as never)
      expect((await reportFor(url)).limits.map(({ quota }) => quota)).toEqual([100, 1000])
    })

    test('the page says times in the time zone of the customer', async () => {
      const limiter = limiterOf()
      // More than a week away: shorter waits are no dates.
      const anchor = ((new Date().getUTCDate() + 9) % 28) + 1
      const acme = { id: 'acme', plan: 'free', anchor, timeZone: 'Asia/Tokyo' }
      const url = await start({ usage: { limiter, identify: () => acme } })
      await limiter.consume(acme)
      const page = await (await ask(url, undefined, HTML)).text()
      const [, month = ''] = /1,000 a month<([^]*?)<\/li>/.exec(page) ?? []
      expect(month).toMatch(new RegExp(`more on ${anchor} \\w+ \\d{4}, 00:00 \\(Asia/Tokyo\\)`))
      expect(page).toMatch(/As of [^<]* \(Asia\/Tokyo\)/)
    })

    test('an override of any subject is told', async () => {
      const limiter = limiterOf()
      const url = await start({
        usage: { limiter, identify: () => ['user', { id: 'org', plan: 'over', label: 'org' }] },
      } as never)
      const { until } = await limiter.override('org', { factor: 2, for: '1h' })
      const { override, limits } = await reportFor(url)
      expect([override, limits[2]?.quota]).toEqual([{ until: until.toISOString() }, 6])
    })

    test('metrics count no request of those who ask', async () => {
      const heard = jest.fn()
      const url = await begin()
      for (const channel of ['tollgate:decision', 'tollgate:limited']) subscribe(channel, heard)
      const statuses = await Promise.all(
        Array.from({ length: 70 }, async () => (await ask(url, 'acme')).status),
      )
      for (const channel of ['tollgate:decision', 'tollgate:limited']) unsubscribe(channel, heard)
      expect(statuses).toContain(200)
      expect(heard).not.toHaveBeenCalled()
    })

    test('browsers get a page that loads nothing, and breaks out of nothing', async () => {
      const url = await begin()
      const answer = await ask(url, 'acme', { ...HTML, 'x-plan': '<i>&"' })
      const page = await answer.text()
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      expect([answer.headers.get('cache-control'), answer.headers.get('x-content-type-options')]).toEqual([
        PRIVATE,
        'nosniff',
      ])
      const [, style = ''] = /<style>([^]*?)<\/style>/.exec(page) ?? []
      const hash = createHash('sha256').update(style).digest('base64')
      expect(answer.headers.get('content-security-policy')).toBe(
        `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      )
      expect(page).toContain('Plan: &lt;i&gt;&amp;&quot;')
      expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt; <span>5 a minute</span>')
      expect(page).not.toMatch(/<script|<i>|style=|href=|src=/)
    })

    test('overage, top-ups, requests in flight, and plans without limits', async () => {
      const limiter = limiterOf()
      const url = await begin(limiter)
      const over = { id: 'acme', plan: 'over' }
      for (let i = 0; i < 5; i += 1) await limiter.consume(over)
      await limiter.topUp(
        { id: 'bought', plan: 'free' },
        { limit: 'month', units: 7, for: '30d', key: 'order-1' },
      )
      const running = await limiter.consume({ id: 'acme', plan: 'busy' })
      expect((await reportFor(url, 'acme', { 'x-plan': 'over' })).limits).toMatchObject([
        { used: 3, remaining: 0, over: 2 },
      ])
      expect((await reportFor(url, 'bought')).limits[1]).toMatchObject({
        used: 0,
        remaining: 1007,
        toppedUp: 7,
      })
      expect((await reportFor(url, 'acme', { 'x-plan': 'busy' })).limits[1]).toEqual({
        ...{ name: 'concurrent', quota: 5, unit: 'concurrent-requests', windowSeconds: 0 },
        ...{ used: 1, remaining: 4, resetSeconds: 0, resetsAt: null },
      })
      running.release()
      expect(await reportFor(url, 'acme', { 'x-plan': 'staff' })).toEqual({ plan: 'staff', limits: [] })
    })

    test('rules: an override with its end, a scaled plan without one, a block, a plan that is blocked', async () => {
      const limiter = limiterOf()
      const url = await begin(limiter)
      const { until } = await limiter.override('acme', { factor: 2, for: '2h' })
      expect(await reportFor(url, 'acme')).toMatchObject({
        limits: [{ quota: 200 }, { quota: 2000 }],
        override: { until: until.toISOString() },
      })
      await limiter.scale('free', 0.5, { for: '1h' })
      expect(await reportFor(url, 'other')).toMatchObject({
        limits: [{ quota: 50 }, { quota: 500 }],
        override: { until: null },
      })
      const block = await limiter.block('abuser', { for: '1h', reason: 'a secret' })
      const said = await reportFor(url, 'abuser')
      expect(said).toEqual({ plan: 'free', limits: [], blocked: { until: block.until.toISOString() } })
      expect(JSON.stringify(said)).not.toContain('secret')
      expect(await (await ask(url, 'abuser', HTML)).text()).toContain(
        'All requests are denied at the moment, until ',
      )
      expect(await reportFor(url, 'acme', { 'x-plan': 'banned' })).toMatchObject({ blocked: { until: null } })
    })

    test('several subjects, a group and stacked limits, without the name of the plan', async () => {
      const limiter = limiterOf()
      const url = await start({
        usage: {
          ...{ limiter, group: 'exports', stacked: { daily: '30/day' }, namePlan: false },
          identify: () => [
            { id: 'user-1', plan: 'free' },
            { id: 'org', plan: 'over', label: 'org' },
            { id: '192.0.2.1', kind: 'ip' },
          ],
        },
      })
      await limiter.scope({ group: 'exports' }).consume({ id: 'user-1', plan: 'free' })
      const { limits, ...rest } = await reportFor(url)
      expect(rest).toEqual({})
      expect(limits.map((one) => [one.name, one.used])).toEqual([
        ['minute', 1],
        ['month', 1],
        ['org.month', 0],
        ['daily.day', 0],
      ])
    })

    test('limits that are no plan have no name', async () => {
      const limiter = limiterOf({ plans: undefined, defaultPlan: undefined, limit: '5/min' } as never)
      const url = await start({ usage: { limiter, identify: () => 'acme' } })
      expect(Object.keys(await reportFor(url))).toEqual(['limits'])
      const group = { group: 'internal', limit: '7/min' } as const
      const ofGroup = await start({ usage: { limiter, identify: () => 'acme', ...group } })
      expect(Object.keys(await reportFor(ofGroup))).toEqual(['limits'])
      const own = await start({ usage: { limiter, identify: () => ({ id: 'own', limits: ['7/min'] }) } })
      expect(await reportFor(own)).toEqual({ limits: [expect.objectContaining({ quota: 7 })] })
      // The plan of a subject that a rule blocks is not looked up.
      await limiter.block('acme', { for: '1h' })
      expect(Object.keys(await reportFor(url))).toEqual(['limits', 'blocked'])
    })

    test('while the store is silent, the answer says so; what identify throws goes to the application', async () => {
      const store = failingStore(memoryStore())
      const limiter = limiterOf({ store })
      const url = await begin(limiter)
      store.down(new Error('gone'))
      const answer = await ask(url, 'acme')
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
      expect(await answer.json()).toMatchObject({
        status: 503,
        detail: expect.stringContaining('at the moment'),
      })
      const broken = await start({
        usage: { limiter, identify: () => Promise.reject(new Error('no database')) },
      })
      expect((await ask(broken, 'acme')).status).toBe(500)
    })

    test('limits by address are refused, also those that a function gives', async () => {
      const limiter = limiterOf({ plans: undefined, defaultPlan: undefined, limit: '5/min' } as never)
      for (const more of [{}, { limit: () => '3/min' }])
        expect(() => make({ limiter, identify: byIp(), ...more } as never)).toThrow(
          'clients are known by their address only',
        )
    })

    test.each([
      ['nothing', undefined],
      ['a number', 42],
      ['a function that no rateLimit made', () => {}],
      ['options without identify', { limiter: {} }],
      ['an option that does not exist', { limiter: limiterOf(), identify, cost: 2, colour: 'red' }],
    ])('%s is refused', (_, source) => {
      expect(() => make(source as never)).toThrow(expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG' }))
    })
  })
}
