import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { decisionsOf, type Decision, type Limiter, type LimiterEvents, type Store } from '@tollgate/core'
import type { AnyRequest, Serve } from '../adapter-contract.ts'
import { httpBench } from '../http-bench.ts'

const byKey = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? '')
const acme = { 'x-api-key': 'acme' }

/** Decisions on the request object, and the request's context in events. A part of `adapterContract`. */
export function requestContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`request contract: ${name}`, () => {
    const { limiterOf, start, statuses } = httpBench(serve, makeStore, { headers: acme })

    test('decisions of several limiters have their own properties, and decisionsOf gives all in order', async () => {
      const limiter = limiterOf({ plans: { free: '5/min', guard: '9/min' }, defaultPlan: 'guard' })
      const options = { limiter, identify: byKey }
      const plansOf = (all: readonly unknown[]): unknown[] =>
        all.map((one) => (one as Decision | undefined)?.plan)
      const url = await start(
        { limiter, requestProperty: 'guard' },
        {
          more: [
            { limiter, identify: (req) => ({ id: byKey(req), plan: 'free' }) },
            { ...options, requestProperty: 'guard', group: 'last', limit: '7/min' },
          ],
          look: (req, at) => ({
            found: plansOf([at['guard'], at['rateLimit'], at['other']]),
            all: plansOf(decisionsOf(req)),
          }),
        },
      )
      const response = await fetch(url, { headers: acme })
      expect(await response.json()).toEqual({ found: ['last', 'free', null], all: ['guard', 'free', 'last'] })
    })

    test('a skipped request has no decisions', async () => {
      const url = await start(
        { limit: '1/min', skip: () => true },
        { look: (req) => ({ all: decisionsOf(req) }) },
      )
      expect(await (await fetch(url)).json()).toEqual({ all: [] })
    })

    test('with eventContext, listeners and subscribers get the method and address of the request', async () => {
      const heard: unknown[][] = []
      const published: unknown[] = []
      const limiter = limiterOf({ limit: '1/min' })
      limiter.on('decision', ({ allowed }, context) => heard.push(['decision', allowed, context]))
      limiter.on('limited', (_, context) => heard.push(['limited', context?.method, context?.address]))
      const note = (message: unknown): void => {
        const told = message as { limiter: Limiter; context?: LimiterEvents['decision'][1] }
        if (told.limiter === limiter) published.push(told.context?.method)
      }
      subscribe('tollgate:limited', note)
      const url = await start({ limiter, identify: byKey, eventContext: true }, { trustProxy: true })
      const init = { method: 'POST', headers: { ...acme, 'x-forwarded-for': '203.0.113.7' } }
      await statuses(`${url}error?secret=1`, 1, init)
      await statuses(`${url}error?secret=1`, 1, init)
      unsubscribe('tollgate:limited', note)
      const context = { method: 'POST', address: '203.0.113.7' }
      expect(heard).toEqual([
        ['decision', true, expect.objectContaining(context)],
        ['decision', false, expect.objectContaining(context)],
        ['limited', 'POST', '203.0.113.7'],
      ])
      expect(published).toEqual(['POST'])
      expect(JSON.stringify(heard)).not.toContain('secret')
    })

    test('listeners get what the function eventContext returns; without the option they get nothing', async () => {
      const heard: unknown[][] = []
      const limiter = limiterOf({ limit: '9/min' }).on('decision', (...args) => heard.push(args.slice(1)))
      const eventContext = (req: AnyRequest): object => ({ key: byKey(req) })
      await statuses(await start({ limiter, identify: byKey, eventContext }), 1)
      await statuses(await start({ limiter, identify: byKey }), 1)
      expect(heard).toEqual([[{ key: 'acme' }], []])
    })

    test('an eventContext that throws or returns no object: the error handler is called, no unit is lost', async () => {
      const onError = jest.fn()
      const limiter = limiterOf({ limit: '5/min' })
      const wrong = [
        () => Promise.resolve({}),
        () => 'a' as never,
        () => {
          throw new Error('no')
        },
      ] as const
      for (const eventContext of wrong) {
        const url = await start({ limiter, identify: byKey, eventContext }, { onError })
        expect(await statuses(url, 1)).toEqual([500])
      }
      expect(onError).toHaveBeenCalledTimes(3)
      expect((await limiter.peek('acme')).limits).toMatchObject([{ remaining: 5 }])
    })
  })
}
