import type { Decision } from '@tollgate/core'
import { decisionsOf } from '@tollgate/core'
import type { RoutePlace } from './route-contract.ts'
import type { AnyRequest } from '../serve.ts'
import { Visitors } from '../requests/visitors.ts'

/**
 * Routes that are asked before the limiter of the application: in Express and Koa since they stand above it. What the
 * application would say first never decides for them.
 */
export function routesAbove({ limiterOf, start, exports, left }: RoutePlace): void {
  const above = { isAbove: true }
  const acme = { headers: { 'x-api-key': 'acme' } }

  test('above the limiter: one decision for all that the route asks for', async () => {
    const limiter = limiterOf({ limit: '25/min' })
    const told: number[] = []
    limiter.on('decision', ({ cost }) => void told.push(cost))
    const seen: (readonly Decision[])[] = []
    const look = (req: AnyRequest): object => ({ count: seen.push(decisionsOf(req)) })
    const url = await start({ limiter }, { cost: 10 }, { ...above, look })
    expect((await exports(url)).headers.get('ratelimit')).toBe('"minute";r=15;t=60')
    expect((await fetch(url, acme)).headers.get('ratelimit-remaining')).toBe('14')
    expect([told, seen.map((some) => some.map(({ cost }) => cost))]).toEqual([
      [10, 1],
      [[10], [1]],
    ])
    expect([await left(limiter), limiter.stats().decisions.store]).toEqual([[14], { allowed: 2, denied: 0 }])
  })

  test('above the limiter: a denial tells the wait for the cost of the route', async () => {
    const limiter = limiterOf({ limit: { quota: 60, window: 'h', burst: 20 } })
    const url = await start({ limiter }, { cost: 10 }, above)
    await limiter.consume('acme', { cost: 20 })
    // The second may be a denial from memory. One unit comes a minute.
    for (let i = 0; i < 2; i += 1) {
      const [small, big] = [await fetch(url, acme), await exports(url)]
      expect([small.status, big.status]).toEqual([429, 429])
      expect(Number(small.headers.get('retry-after'))).toBeLessThanOrEqual(60)
      expect(Number(big.headers.get('retry-after'))).toBeGreaterThan(540)
    }
  })

  test('above the limiter: a group is not refused since the common counters are used up', async () => {
    const limiter = limiterOf({ limit: '1/min' })
    const url = await start({ limiter }, { group: 'search', limit: '2/min' }, above)
    const statuses = [await fetch(url, acme), await fetch(url, acme)].map(({ status }) => status)
    for (let i = 0; i < 3; i += 1) statuses.push((await exports(url)).status)
    expect(statuses).toEqual([200, 429, 200, 200, 429])
  })

  test('above the limiter: nor since the slots of the plan are', async () => {
    const visitors = new Visitors()
    const limiter = limiterOf({ limit: '1 concurrent' })
    const own = { group: 'status', limit: '9/min' }
    const url = await start({ limiter }, own, { ...above, handle: visitors.handle })
    const slow = await visitors.enter(url)
    await visitors.refused(url)
    const status = await visitors.visit(`${url}export`)
    expect('answer' in status || status.status).toBe(true)
    for (const visit of [slow, status]) if ('answer' in visit) visit.answer({ ok: true })
    await slow.response
  })

  test('above the limiter: a route that costs less than the application is let in while its cost fits', async () => {
    const limiter = limiterOf({ limit: '12/min' })
    const url = await start({ limiter, cost: 5 }, { cost: 1 }, above)
    const statuses = []
    for (let i = 0; i < 3; i += 1) statuses.push((await fetch(url, acme)).status)
    for (let i = 0; i < 3; i += 1) statuses.push((await exports(url)).status)
    expect(statuses).toEqual([200, 200, 429, 200, 200, 429])
  })

  test('above the limiter: a denied request takes nothing that would have to go back', async () => {
    const limiter = limiterOf({ limit: '25/min' })
    const url = await start({ limiter }, { stacked: { login: '2/h' } }, above)
    for (const status of [200, 200, 429, 429, 429, 429]) expect((await exports(url)).status).toBe(status)
    const { store, cache } = limiter.stats().decisions
    // Denials from memory are those of stores that are asked.
    expect([store.allowed, store.denied + cache.denied]).toEqual([2, 4])
  })

  test('above the limiter: other paths and methods are limited as everywhere', async () => {
    const limiter = limiterOf({ limit: '25/min' })
    const url = await start({ limiter }, { cost: 10 }, above)
    await (await exports(url, { ...acme, method: 'PUT' })).text()
    expect(await left(limiter)).toEqual([24])
    await (await exports(url, { ...acme, method: 'HEAD' })).text()
    expect(await left(limiter)).toEqual([14])
    const headers = { ...acme.headers, origin: 'https://a.example', 'access-control-request-method': 'POST' }
    await (await exports(url, { method: 'OPTIONS', headers })).text()
    expect(await left(limiter)).toEqual([14])
  })
}
