import { createHash } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { memoryStore } from '@tollgate/core'
import { failingStore } from '@tollgate/core/testing'
import type { Served } from '../../served.ts'
import { HTML, identify, PRIVATE, usageBench, type MakeUsage, type ServedUsage } from './usage-bench.ts'
import { usageOfWhom } from './usage-of-whom.ts'

/** What customers are told of their usage, over real HTTP. Call it once for each framework. */
export function usageContract(
  name: string,
  serve: (app: ServedUsage) => Promise<Served>,
  make: MakeUsage,
): void {
  usageOfWhom(name, serve, make)
  describe(`usage: ${name}`, () => {
    const { limiterOf, start, begin, ask, reportFor } = usageBench(serve)

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
