import type { Decision, Limiter, RouteOptions, ScopeOptions, Store } from '@tollgate/core'
import { decisionsOf } from '@tollgate/core'
import { eventually } from '../../eventually.ts'
import type { AnyRequest, Serve, ServeOptions } from '../serve.ts'
import { httpBench } from '../http-bench.ts'
import { spellings } from './route-spellings.ts'
import { routesAbove } from './routes-above.ts'
import { Visitors } from '../requests/visitors.ts'

const byKey = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? '')
const acme = { headers: { 'x-api-key': 'acme' } }

/** What a route says of itself. */
type Own = RouteOptions<AnyRequest, never>

/** A route with options of its own. */
export interface ServedRoute {
  /** Such as `/export`. */
  readonly path: string
  readonly options: Own
  /** Options of the router that the route is in. */
  readonly within?: Own
  /** The limiter is mounted for this route only, and not for the whole application. */
  readonly isAlone?: boolean
  /** It is declared above the limiter of the application, where that makes a difference. */
  readonly isAbove?: boolean
}

/** Routes that cost more, or have limits of their own, above a limiter of the whole application and behind it. */
export function routeContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`route contract: ${name}`, () => {
    const { limiterOf, start: serveIt } = httpBench(serve, makeStore)
    const start: RoutePlace['start'] = (options, own, { isAbove = false, ...rest } = {}) => {
      const routes = [{ path: '/export', options: own, isAbove }]
      return serveIt({ identify: byKey, ...options }, { routes, ...rest })
    }
    const left = async (limiter: Limiter, scope: ScopeOptions = {}): Promise<number[]> =>
      (await limiter.scope(scope).peek('acme')).limits.map(({ remaining }) => remaining)
    const exports = (url: string, init: RequestInit = acme): Promise<Response> => fetch(`${url}export`, init)
    const statuses = async (url: string, count: number): Promise<number[]> => {
      const all = []
      for (let i = 0; i < count; i += 1) all.push((await exports(url)).status)
      return all
    }

    test('a route that costs 10: one decision on the whole, in the headers and on the request', async () => {
      const limiter = limiterOf({ limit: '25/min' })
      const all: (readonly Decision[])[] = []
      const url = await start(
        { limiter },
        { cost: 10 },
        { look: (req) => ({ all: all.push(decisionsOf(req)), ok: true }) },
      )
      const answer = await exports(url)
      expect([answer.status, answer.headers.get('ratelimit')]).toEqual([200, '"minute";r=15;t=60'])
      expect(answer.headers.get('ratelimit-remaining')).toBe('15')
      expect(all.map((some) => some.map(({ cost, allowed }) => [cost, allowed]))).toEqual([[[10, true]]])
      expect((await fetch(url, acme)).headers.get('ratelimit-remaining')).toBe('14')
      expect(await left(limiter)).toEqual([14])
    })

    test('what does not fit is denied as a whole, and all goes back', async () => {
      const limiter = limiterOf({ limit: '25/min' })
      const url = await start({ limiter }, { cost: 10 })
      expect(await statuses(url, 2)).toEqual([200, 200])
      for (let i = 0; i < 3; i += 1) {
        const denied = await exports(url)
        expect(denied.status).toBe(429)
        // A denial from memory does not know what is left.
        expect(denied.headers.get('ratelimit') ?? '"minute";r=5;t=1').toMatch(/^"minute";r=5;t=\d+$/)
        expect(denied.headers.get('retry-after')).toMatch(/^(5\d|60)$/)
        expect(await denied.json()).toMatchObject({
          detail: expect.stringContaining('and this request takes 10 units'),
          'violated-policies': ['minute'],
        })
      }
      expect(await left(limiter)).toEqual([5])
    })

    test('a cost above the quota never passes in two halves', async () => {
      const limiter = limiterOf({ limit: '9/min' })
      const url = await start({ limiter }, { cost: 10 })
      const denied = await exports(url)
      expect([denied.status, denied.headers.get('retry-after')]).toEqual([429, null])
      expect(await denied.json()).toMatchObject({ code: 'cost_exceeds_quota' })
      expect(await left(limiter)).toEqual([9])
    })

    test('a limit on top: both are told, both deny, and a denied request takes nothing of either', async () => {
      const limiter = limiterOf({ limit: '25/min' })
      const url = await start({ limiter }, { stacked: { export: '2/h' } })
      const answer = await exports(url)
      expect(answer.headers.get('ratelimit-policy')).toBe('"minute";q=25;w=60, "export.hour";q=2;w=3600')
      expect(answer.headers.get('ratelimit')).toMatch(/^"minute";r=24;t=60, "export.hour";r=1;t=3600$/)
      expect(await statuses(url, 2)).toEqual([200, 429])
      const denied = await exports(url)
      expect(denied.headers.get('ratelimit')).toMatch(/^("minute";r=23;t=\d+, )?"export.hour";r=0;t=\d+$/)
      expect(await denied.json()).toMatchObject({ 'violated-policies': ['export.hour'] })
      expect(await left(limiter)).toEqual([23])
    })

    test('a group counts instead: the plan of the application gets its unit back', async () => {
      const limiter = limiterOf({ limit: '25/min' })
      const own = { group: 'exports', limit: '2/min' }
      const url = await start({ limiter }, own)
      expect(await statuses(url, 3)).toEqual([200, 200, 429])
      expect((await exports(url)).headers.get('ratelimit-policy')).toBe('"minute";q=2;w=60')
      expect([await left(limiter), await left(limiter, own)]).toEqual([[25], [0]])
    })

    test('an application may stack limits itself: those of the route are added', async () => {
      const limiter = limiterOf({ limit: '25/min' })
      const url = await start({ limiter, stacked: { day: '9/d' } }, { stacked: { export: '2/h' }, cost: 2 })
      expect((await exports(url)).headers.get('ratelimit')).toMatch(
        /^"minute";r=23;t=60, "day.day";r=7;t=\d+, "export.hour";r=0;t=3600$/,
      )
    })

    test('routers within routers: what each says adds up, and the innermost says the cost', async () => {
      const limiter = limiterOf({ limit: '25/min' })
      const routes = [
        { path: '/export', options: { cost: 5 }, within: { cost: 2, stacked: { api: '20/min' } } },
        { path: '/twice', options: { cost: 3 }, within: { cost: 3 } },
      ]
      const url = await serveIt({ limiter, identify: byKey }, { routes })
      expect((await exports(url)).headers.get('ratelimit')).toBe('"minute";r=20;t=60, "api.minute";r=15;t=60')
      expect((await fetch(`${url}twice`, acme)).headers.get('ratelimit')).toMatch(/^"minute";r=17;t=\d+$/)
      expect(await left(limiter)).toEqual([17])
    })

    test('a route alone, where nothing was decided before it, takes all that it costs', async () => {
      const limiter = limiterOf({ limit: '25/min' })
      const own = { cost: 10, stacked: { export: '15/h' } }
      const routes = [{ path: '/export', options: own, isAlone: true }]
      const url = await serveIt({ limiter, identify: byKey }, { routes })
      expect(await statuses(url, 2)).toEqual([200, 429])
      expect((await fetch(url, acme)).headers.get('ratelimit')).toBeNull()
      expect([await left(limiter), limiter.stats().decisions.store]).toEqual([
        [15],
        { allowed: 1, denied: 1 },
      ])
    })

    test('a route that asks for no more than was taken is not decided again', async () => {
      const limiter = limiterOf({ limit: '25/min' })
      const url = await start({ limiter, cost: 3 }, { cost: 3, requestProperty: 'exportLimit' })
      expect(await statuses(url, 2)).toEqual([200, 200])
      expect([await left(limiter), limiter.stats().decisions.store.allowed]).toEqual([[19], 2])
    })

    test('cost as a function; its error goes to the application, and takes no more', async () => {
      const onError = jest.fn()
      const limiter = limiterOf({ limit: '25/min' })
      const cost = async (req: AnyRequest): Promise<number> => Number(req.headers['x-pages'])
      const url = await start({ limiter }, { cost }, { onError })
      expect((await exports(url, { headers: { ...acme.headers, 'x-pages': '7' } })).status).toBe(200)
      expect((await exports(url, { headers: { ...acme.headers, 'x-pages': 'no' } })).status).toBe(500)
      expect(onError.mock.calls).toEqual([[expect.objectContaining({ code: 'ERR_TOLLGATE_COST' })]])
      // What the application took before stays, where that was decided first.
      expect((await left(limiter))[0]).toBeGreaterThanOrEqual(17)
    })

    others({ limiterOf, start, exports, left })
    spellings({ limiterOf, start, left })
    routesAbove({ limiterOf, start, exports, left })
  })
}

/** What each test has. `start` serves `/export` with options of its own, behind a limiter, or above it. */
export interface RoutePlace {
  readonly limiterOf: ReturnType<typeof httpBench>['limiterOf']
  readonly start: (
    options: ServeOptions['options'],
    own: Own,
    rest?: Omit<ServeOptions, 'options'> & Pick<ServedRoute, 'isAbove'>,
  ) => Promise<string>
  readonly exports: (url: string, init?: RequestInit) => Promise<Response>
  readonly left: (limiter: Limiter, scope?: ScopeOptions) => Promise<number[]>
}

/** The other options of the limiter, of the application and of the route. */
function others({ limiterOf, start, exports, left }: RoutePlace): void {
  test('who pays is asked once; a route with an identify of its own has another pay', async () => {
    const limiter = limiterOf({ limit: '25/min' })
    const identify = jest.fn(byKey)
    const url = await start({ limiter, identify }, { cost: 10 })
    await exports(url)
    expect(identify).toHaveBeenCalledTimes(1)
    const other = await start({ limiter }, { cost: 2, identify: async () => 'export' })
    await exports(other)
    expect([await left(limiter), (await limiter.peek('export')).limits[0]?.remaining]).toEqual([[15], 23])
  })

  test('what the application does not limit, the route does not limit either, unless it says so itself', async () => {
    const limiter = limiterOf({ limit: '25/min' })
    const skip = (req: AnyRequest): boolean => req.headers['x-skip'] !== undefined
    const url = await start({ limiter, skip, allowList: ['friend'], methods: ['GET'] }, { cost: 10 })
    const all = [
      { headers: { ...acme.headers, 'x-skip': '1' } },
      { headers: { 'x-api-key': 'friend' } },
      { ...acme, method: 'POST' },
    ]
    for (const init of all) {
      const { status, headers } = await exports(url, init)
      expect([status, headers.get('ratelimit')]).toEqual([200, null])
    }
    expect(await left(limiter)).toEqual([25])
    const posts = await start({ limiter, methods: ['GET'] }, { cost: 10, methods: ['POST'] })
    expect((await exports(posts, { ...acme, method: 'POST' })).headers.get('ratelimit-remaining')).toBe('15')
  })

  test('a list of the route refuses what the application let in, which gets its units back', async () => {
    const limiter = limiterOf({ limit: '25/min' })
    const url = await start({ limiter }, { blockList: ['acme'] })
    const blocked = await exports(url)
    expect([blocked.status, blocked.headers.get('ratelimit')]).toEqual([403, null])
    expect(await left(limiter)).toEqual([25])
  })

  test('the answer and the property of the route; nobody finds the decision that it took the place of', async () => {
    const limiter = limiterOf({ limit: '25/min' })
    const look = (_: AnyRequest, at: Readonly<Record<string, unknown>>): object => ({
      costs: [at['rateLimit'], at['exportLimit']].map((one) => (one as Decision | undefined)?.cost ?? 20),
    })
    const own = {
      cost: 20,
      requestProperty: 'exportLimit',
      body: () => 'no exports',
      headers: { single: false },
    }
    const url = await start({ limiter }, own, { look })
    const first = await exports(url)
    expect([first.headers.get('ratelimit-limit'), await first.json()]).toEqual([null, { costs: [20, 20] }])
    const denied = await exports(url)
    expect([denied.status, await denied.text()]).toEqual([429, 'no exports'])
  })

  test('a plan without limits: the headers are those of the route alone, or none', async () => {
    const limiter = limiterOf({ plans: { free: '5/min', staff: 'unlimited' }, defaultPlan: 'free' })
    const identify = (): object => ({ id: 'acme', plan: 'staff' })
    const url = await start({ limiter, identify } as never, { cost: 2, stacked: { export: '5/min' } })
    expect((await exports(url)).headers.get('ratelimit')).toBe('"export.minute";r=3;t=60')
    const other = await start(
      { limiter: limiterOf({ limit: '5/min' }) },
      { identify: () => ({ id: 'a', limits: 'unlimited' }) },
    )
    expect((await exports(other)).headers.get('ratelimit')).toBeNull()
    expect((await exports(other)).headers.get('ratelimit-remaining')).toBeNull()
  })

  test('refundWhen gives all back, once, and is asked once', async () => {
    const limiter = limiterOf({ limit: '25/min' })
    const refundWhen = jest.fn(() => true)
    const url = await start({ limiter, refundWhen }, { cost: 10, stacked: { export: '15/h' } })
    expect([(await exports(url)).status, (await exports(url)).status]).toEqual([200, 200])
    await eventually(async () => expect(await left(limiter)).toEqual([25]))
    expect(refundWhen).toHaveBeenCalledTimes(2)
  })

  test('requests in flight: the route takes no second slot, and frees it at the end and when it denies', async () => {
    const visitors = new Visitors()
    const limiter = limiterOf({ limit: ['25/min', '1 concurrent'] })
    const url = await start({ limiter }, { cost: 10 }, { handle: visitors.handle })
    for (let i = 0; i < 2; i += 1) {
      const visit = await visitors.enter(`${url}export`)
      expect(limiter.stats().inFlight).toBe(1)
      await visitors.refused(`${url}export`)
      visit.answer({ ok: true })
      await visit.response
    }
    await eventually(() => expect(limiter.stats().inFlight).toBe(0))
    expect(await left(limiter)).toEqual([5, 1])
    await visitors.refused(`${url}export`)
    await eventually(async () => expect(await left(limiter)).toEqual([5, 1]))
  })

  test('a process that sheds counts the request once', async () => {
    const exempt = jest.fn(() => false)
    const limiter = limiterOf({ plans: { free: '25/min' }, defaultPlan: 'free' })
    const url = await start({ limiter, shed: { plans: ['free'], exempt } }, { cost: 10 })
    expect((await exports(url)).status).toBe(200)
    expect(exempt).toHaveBeenCalledTimes(1)
  })
}
