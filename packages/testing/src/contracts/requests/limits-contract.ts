import type { Store } from '@tollgate/core'
import type { AnyRequest, Serve } from '../adapter-contract.ts'
import { httpBench } from '../http-bench.ts'

const byKey = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? '')
/** What the contract of the tenant says. A new list at each request. */
const ofContract = ({ headers }: AnyRequest): string[] | undefined =>
  typeof headers['x-limits'] === 'string' ? headers['x-limits'].split(',') : undefined
const acme = (limits?: string): RequestInit => ({
  headers: { 'x-api-key': 'acme', ...(limits !== undefined && { 'x-limits': limits }) },
})

/** `limit` as a function of the request. */
export function limitsContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`limits contract: ${name}`, () => {
    const { limiterOf, start, statuses } = httpBench(serve, makeStore)
    const policy = async (url: string, asked: RequestInit): Promise<unknown> =>
      (await fetch(url, asked)).headers.get('ratelimit-policy')

    test('needs no plans: the limits of the request hold, and count on when they change', async () => {
      const url = await start({ identify: byKey, limit: async (req) => ofContract(req) })
      expect(await policy(url, acme('2/min,9/h'))).toBe('"minute";q=2;w=60, "hour";q=9;w=3600')
      expect(await statuses(url, 2, acme('2/min,9/h'))).toEqual([200, 429])
      const denied = await fetch(url, acme('2/min,9/h'))
      expect(await denied.json()).toMatchObject({
        detail: expect.stringMatching(/^Only 2 requests a minute are allowed; try again in/),
        'violated-policies': ['minute'],
      })
      expect(await statuses(url, 2, acme('3/min'))).toEqual([200, 429])
      expect(await policy(url, acme('unlimited'))).toBeNull()
    })

    test('limits that observe deny nothing, and are in no header', async () => {
      const limiter = limiterOf({ limit: [{ quota: 2, window: 'min', mode: 'observe' }, '9/h'] })
      const seen: string[] = []
      limiter.on('observed', ({ observed = [] }) => seen.push(...observed.map(({ name }) => name)))
      const url = await start({ limiter, identify: byKey })
      expect(await statuses(url, 4, acme())).toEqual([200, 200, 200, 200])
      expect(seen).toEqual(['minute', 'minute'])
      const { headers } = await fetch(url, acme())
      expect(headers.get('ratelimit-policy')).toBe('"hour";q=9;w=3600')
      expect(headers.get('ratelimit')).toMatch(/^"hour";r=4;t=\d+$/)
      expect(await statuses(url, 5, acme())).toEqual([200, 200, 200, 200, 429])
      const alone = await start({ identify: byKey, limit: '1/min', mode: 'observe', name: 'alone' })
      expect(await statuses(alone, 3, acme())).toEqual([200, 200, 200])
      const silent = [...(await fetch(alone, acme())).headers.keys()]
      expect(silent.filter((name) => name.startsWith('ratelimit'))).toEqual([])
    })

    test('limits with overage deny nothing, and are in the headers with nothing left', async () => {
      const limiter = limiterOf({ limit: [{ quota: 2, window: 'month', overage: true }, '9/h'] })
      const over: unknown[] = []
      limiter.on('overage', ({ limits }) => over.push(limits[0]?.over))
      const url = await start({ limiter, identify: byKey })
      expect(await statuses(url, 4, acme())).toEqual([200, 200, 200, 200])
      expect(over).toEqual([1, 2])
      const { headers } = await fetch(url, acme())
      expect(headers.get('ratelimit-policy')).toBe('"month";q=2;w=2592000, "hour";q=9;w=3600')
      expect(headers.get('ratelimit')).toMatch(/^"month";r=0;t=\d+, "hour";r=4;t=\d+$/)
      expect(headers.get('ratelimit-remaining')).toBe('4')
      expect(await statuses(url, 5, acme())).toEqual([200, 200, 200, 200, 429])
    })

    test('a top-up is in the headers at once, and used after the quota', async () => {
      const limiter = limiterOf({ limit: { quota: 2, window: 'month' } })
      const url = await start({ limiter, identify: byKey })
      expect(await statuses(url, 3, acme())).toEqual([200, 200, 429])
      await limiter.topUp('acme', { limit: 'month', units: 2, for: '1d', key: 'order-17' })
      const { headers } = await fetch(url, acme())
      expect(headers.get('ratelimit-policy')).toBe('"month";q=2;w=2592000')
      expect(headers.get('ratelimit')).toMatch(/^"month";r=1;t=\d+$/)
      expect(headers.get('ratelimit-limit')).toBe('3')
      expect(headers.get('ratelimit-remaining')).toBe('1')
      expect(await statuses(url, 2, acme())).toEqual([200, 429])
    })

    test('however long the names of limits are, clients can read the response', async () => {
      const named = (i: number): object => ({
        quota: 9 - (i % 8),
        window: i + 1,
        name: `${i}${'限'.repeat(62)}`,
      })
      const limit = (): never => Array.from({ length: 32 }, (_, i) => named(i)) as never
      const url = await start({ identify: byKey, limit, cost: (req) => Number(req.headers['x-cost'] ?? 1) })
      for (const [cost, status] of [
        ['1', 200],
        ['3', 429],
      ] as const) {
        const response = await fetch(url, { headers: { 'x-cost': cost } })
        expect(response.status).toBe(status)
        const told = ['ratelimit-policy', 'ratelimit'].map(
          (header) => response.headers.get(header)?.length ?? 0,
        )
        expect(Math.min(...told)).toBeGreaterThan(500)
        expect(Math.max(...told)).toBeLessThanOrEqual(4096)
      }
    })

    test('nothing is an error for the application where there are no plans, and so are wrong limits', async () => {
      const errors: { code?: string; message?: string }[] = []
      const url = await start(
        { identify: byKey, limit: ofContract },
        { onError: (error) => errors.push(error as Error) },
      )
      expect(await statuses(url, 1, acme())).toEqual([500])
      expect(await statuses(url, 1, acme('2/mn'))).toEqual([500])
      expect(errors.map(({ code }) => code)).toEqual(['ERR_TOLLGATE_SUBJECT', 'ERR_TOLLGATE_SUBJECT'])
      expect(errors[0]?.message).toBe(
        "limit: the function returned undefined, expected limits such as '40/min' or ['40/min', '1000/day'], or 'unlimited'; to use the subject's plan, give plans, too",
      )
      expect(errors[1]?.message).toContain("subject.limits[0]: got '2/mn'")
    })

    test('beside plans nothing means the plan; what the function throws goes to the application', async () => {
      const onError = jest.fn()
      const limit = (req: AnyRequest): string[] | undefined => {
        if (req.headers['x-limits'] === 'thrown') throw new Error('of the function')
        return ofContract(req)
      }
      const url = await start(
        { plans: { free: '5/min', pro: '9/min' }, defaultPlan: 'pro', identify: byKey, limit },
        { onError },
      )
      expect(await policy(url, acme())).toBe('"minute";q=9;w=60')
      expect(await policy(url, acme('3/min'))).toBe('"minute";q=3;w=60')
      expect(await statuses(url, 1, acme('thrown'))).toEqual([500])
      expect(onError).toHaveBeenCalledWith(expect.objectContaining({ message: 'of the function' }))
    })

    test('on a shared limiter, in a group, for the first of several subjects', async () => {
      const limiter = limiterOf({ limit: '50/min' })
      const identify = (req: AnyRequest): string[] => [byKey(req), 'everybody']
      const url = await start({ limiter, group: 'search', identify, limit: ofContract })
      expect(await policy(url, acme('4/min'))).toBe('"minute";q=4;w=60, "default.minute";q=50;w=60')
      expect((await limiter.scope({ group: 'search' }).peek('acme')).limits[0]?.remaining).toBe(49)
      expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(50)
    })
  })
}
