import type { Decision, Limiter, LimiterEvents, Store } from '@tollgate/core'
import { eventually } from '../../eventually.ts'
import type { AnyRequest, Serve, ServeOptions } from '../adapter-contract.ts'
import { httpBench } from '../http-bench.ts'
import { respond } from '../respond.ts'

const PLANS = { free: '1000/min', starter: '1000/min', pro: '1000/min' }
const headerOf = (req: AnyRequest, name: string): string => String(req.headers[name] ?? '')
const identify = (req: AnyRequest): { id: string; plan: string } => ({
  id: `id-${headerOf(req, 'x-plan')}`,
  plan: headerOf(req, 'x-plan'),
})
const of = (plan: string): RequestInit => ({ headers: { 'x-plan': plan } })

/** Requests that are refused since the process has too many in flight. Handlers hang, so that nothing depends on time. */
export function shedContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`shed contract: ${name}`, () => {
    const { limiterOf, start } = httpBench(serve, makeStore)
    let release: () => void
    let held: Promise<void>
    let handled: number
    let sent: Promise<number>[]
    beforeEach(() => {
      handled = 0
      sent = []
      held = new Promise((resolve) => (release = resolve))
    })
    afterEach(async () => {
      release()
      await Promise.allSettled(sent)
    })

    const hanging = (options: ServeOptions['options'], rest: Partial<ServeOptions> = {}): Promise<string> =>
      start(options, { onHandled: () => (handled += 1), hold: () => held, ...rest })
    /** Sends requests that hang, and waits until they do. */
    const hang = async (url: string, count: number, init: RequestInit): Promise<void> => {
      const before = handled
      for (let i = 0; i < count; i += 1) {
        const status = fetch(url, init).then((answer) => answer.status)
        // What still hangs when the test ends fails as its server closes, before anyone waits for it.
        status.catch(() => {})
        sent.push(status)
      }
      await eventually(() => expect(handled).toBe(before + count))
    }
    const statusOf = async (url: string, init: RequestInit): Promise<number> =>
      (await fetch(url, init)).status
    const limiterOfPlans = (): Limiter => limiterOf({ plans: PLANS, defaultPlan: 'free' })

    test('plans are refused in their order, each leaves room for those behind it, and all pass again afterwards', async () => {
      const shed = { plans: ['free', 'starter'], maxInFlight: 6 }
      const url = await hanging({ limiter: limiterOfPlans(), identify, shed })
      await hang(url, 2, of('free'))
      expect(await statusOf(url, of('free'))).toBe(503)
      await hang(url, 2, of('starter'))
      expect([await statusOf(url, of('free')), await statusOf(url, of('starter'))]).toEqual([503, 503])
      await hang(url, 2, of('pro'))
      expect(await statusOf(url, of('pro'))).toBe(503)
      release()
      expect(await Promise.all(sent)).toEqual(Array(6).fill(200))
      await eventually(async () => expect(await statusOf(url, of('free'))).toBe(200))
    })

    test('the answer says 503, when to come back, and no numbers; no unit is taken', async () => {
      const limiter = limiterOfPlans()
      const url = await hanging({ limiter, identify, shed: { plans: ['free'], maxInFlight: 2 } })
      await hang(url, 1, of('pro'))
      const { status, headers, json } = await fetch(url, of('free')).then(async (answer) => ({
        status: answer.status,
        headers: answer.headers,
        json: (await answer.json()) as unknown,
      }))
      expect(status).toBe(503)
      expect(json).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
        title: 'Temporary Reduced Capacity',
        status: 503,
        detail: 'The service is overloaded at the moment. Try again shortly.',
        code: 'overloaded',
      })
      expect(['1', '2', '3']).toContain(headers.get('retry-after'))
      expect(headers.get('cache-control')).toBe('no-store')
      expect([...headers.keys()].filter((key) => key.includes('ratelimit'))).toEqual([])
      const { limits } = await limiter.peek({ id: 'id-free', plan: 'free' })
      expect(limits[0]?.remaining).toBe(1000)
    })

    test('listeners, counts and onDenied are told, and the limiter decided nothing', async () => {
      const limiter = limiterOfPlans()
      const told: LimiterEvents['shed'][0][] = []
      const denied: Decision[] = []
      const decided: Decision[] = []
      limiter.on('shed', (shed) => void told.push(shed))
      limiter.on('limited', (decision) => void decided.push(decision))
      const onDenied = (_req: AnyRequest, res: unknown, decision: Decision): void => {
        denied.push(decision)
        respond(res, 'no')
      }
      const url = await hanging({ limiter, identify, shed: { plans: ['free'], maxInFlight: 2 }, onDenied })
      await hang(url, 1, of('pro'))
      expect(await statusOf(url, of('free'))).toBe(503)
      const subject = { id: 'id-free', plan: 'free' }
      expect(told).toEqual([{ subject, plan: 'free', inFlight: 1, limit: 2, delayMs: expect.any(Number) }])
      expect(denied).toEqual([
        expect.objectContaining({ allowed: false, source: 'shed', reason: 'overloaded', subject, cost: 0 }),
      ])
      expect(decided).toEqual([])
      expect(limiter.stats().shed).toBe(1)
      expect(await limiter.refund(denied[0] as Decision)).toBe(false)
    })

    test('what is not limited, allowed or exempt is never refused for overload', async () => {
      const marked = (req: AnyRequest, as: string): boolean => headerOf(req, 'x-as') === as
      const url = await hanging({
        ...{ limiter: limiterOfPlans(), identify, allowList: ['id-friend'] },
        skip: (req) => marked(req, 'skip'),
        shed: { maxInFlight: 1, exempt: (req) => marked(req, 'exempt') },
      })
      await hang(url, 1, of('pro'))
      expect(await statusOf(url, of('pro'))).toBe(503)
      const as = (mark: string): RequestInit => ({ headers: { 'x-plan': 'free', 'x-as': mark } })
      await hang(url, 1, as('skip'))
      await hang(url, 1, as('exempt'))
      await hang(url, 1, of('friend'))
      const preflight = { origin: 'https://example.com', 'access-control-request-method': 'GET' }
      // Some frameworks have it hang as the others do.
      const answer = statusOf(url, { method: 'OPTIONS', headers: preflight })
      expect(await statusOf(url, of('pro'))).toBe(503)
      release()
      expect(await answer).not.toBe(503)
    })

    test('an exempt that is async is waited for; what it rejects with is an error of its request', async () => {
      const exempt = async (req: AnyRequest): Promise<boolean> => headerOf(req, 'x-as') === 'exempt'
      const one = { limiter: limiterOfPlans(), identify, shed: { maxInFlight: 1, exempt } }
      const url = await hanging(one)
      await hang(url, 1, of('pro'))
      expect(await statusOf(url, of('free'))).toBe(503)
      await hang(url, 1, { headers: { 'x-plan': 'free', 'x-as': 'exempt' } })

      const onError = jest.fn()
      const rejecting = { ...one.shed, exempt: () => Promise.reject(new Error('exempt')) }
      expect(await statusOf(await start({ ...one, shed: rejecting }, { onError }), of('free'))).toBe(500)
      expect(onError.mock.calls).toEqual([[expect.objectContaining({ message: 'exempt' })]])
    })

    test('a request that passes two limiters counts once', async () => {
      const one = { limiter: limiterOfPlans(), identify, shed: { maxInFlight: 2 } }
      const two = { ...one, limiter: limiterOfPlans(), requestProperty: 'second' }
      const url = await hanging(one, { more: [two] })
      await hang(url, 2, of('pro'))
      expect(await statusOf(url, of('pro'))).toBe(503)
      expect([one.limiter.stats().shed, two.limiter.stats().shed]).toEqual([1, 0])
    })

    test('a request that its limits deny makes room again, and so does a client that leaves', async () => {
      const limiter = limiterOf({ limit: '2/min' })
      const url = await hanging({ limiter, identify: () => 'acme', shed: { maxInFlight: 2 } })
      const abort = new AbortController()
      const left = fetch(url, { signal: abort.signal })
      await eventually(() => expect(handled).toBe(1))
      await hang(url, 1, {})
      expect(await statusOf(url, {})).toBe(503)
      abort.abort()
      await expect(left).rejects.toThrow('abort')
      await eventually(async () => expect(await statusOf(url, {})).toBe(429))
      await eventually(async () => expect(await statusOf(url, {})).toBe(429))
    })

    test('planOf is asked once for a subject, and only where the first plan is refused', async () => {
      const planOf = jest.fn(async ({ id }: { id: string }) => (id === 'big' ? 'pro' : 'free'))
      const limiter = limiterOf({ plans: PLANS, defaultPlan: 'free', planOf })
      const byId = (req: AnyRequest): string => headerOf(req, 'x-id')
      const url = await hanging({ limiter, identify: byId, shed: { plans: ['free'], maxInFlight: 4 } })
      const ask = (id: string): RequestInit => ({ headers: { 'x-id': id } })
      await hang(url, 2, ask('small'))
      expect(planOf).toHaveBeenCalledTimes(1)
      expect(await statusOf(url, ask('other'))).toBe(503)
      await hang(url, 1, ask('big'))
      expect(planOf.mock.calls.map(([{ id }]) => id)).toEqual(['small', 'other', 'big'])
    })

    test('by default nothing is refused, however many are in flight', async () => {
      const url = await hanging({ limiter: limiterOfPlans(), identify })
      await hang(url, 40, of('free'))
      release()
      expect(await Promise.all(sent)).toEqual(Array(40).fill(200))
    })
  })
}
