import type { Store } from '@tollgate/core'
import { eventually } from '../eventually.ts'
import type { AnyRequest, Serve } from './adapter-contract.ts'
import { httpBench } from './http-bench.ts'

const byKey = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? '')
const acme = { 'x-api-key': 'acme' }
/** Requests that wait do so for as long as a test needs to look at them, and no longer. */
const plans = { line: { limits: '2/2s', wait: { maxDelay: '2s', maxWaiting: 2 } } }

/** Requests that wait in line for their place, and clients that leave meanwhile. */
export function waitContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`wait contract: ${name}`, () => {
    const { limiterOf, start, statuses } = httpBench(serve, makeStore, { headers: acme })

    test('a request waits for its place and passes, with the policy and no numbers', async () => {
      const limiter = limiterOf({ plans })
      const url = await start({ limiter, identify: byKey, headers: { legacy: 'delta' } })
      expect(await statuses(url, 2)).toEqual([200, 200])
      const response = await fetch(url, { headers: acme })
      expect(response.status).toBe(200)
      expect(response.headers.get('ratelimit-policy')).toBe('"2-seconds";q=2;w=2')
      const others = [
        'ratelimit',
        'ratelimit-remaining',
        'ratelimit-limit',
        'x-ratelimit-remaining',
        'retry-after',
      ]
      expect(others.filter((one) => response.headers.has(one))).toEqual([])
      expect(await response.json()).toMatchObject({
        decision: { allowed: true, source: 'place', plan: 'line', limits: [], subject: { id: 'acme' } },
      })
      expect(limiter.stats().waiting).toMatchObject({ booked: 1, admitted: 1, now: 0 })
    })

    test('one that finds the line full is denied as usual', async () => {
      const limiter = limiterOf({ plans })
      const url = await start({ limiter, identify: byKey })
      await statuses(url, 2)
      const waiting = [fetch(url, { headers: acme }), fetch(url, { headers: acme })]
      await eventually(() => limiter.stats().waiting.now === 2)
      const denied = await fetch(url, { headers: acme })
      expect([denied.status, denied.headers.get('ratelimit')]).toEqual([429, expect.stringContaining('r=0')])
      const answers = await Promise.all(waiting)
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
    })

    test('a client that leaves gives its place back, and nothing answers or reports an error', async () => {
      const limiter = limiterOf({ plans })
      const onError = jest.fn()
      const url = await start({ limiter, identify: byKey }, { onError })
      await statuses(url, 2)
      const leaving = new AbortController()
      const left = fetch(url, { headers: acme, signal: leaving.signal })
      const stays = fetch(url, { headers: acme })
      await eventually(() => limiter.stats().waiting.now === 2)
      leaving.abort()
      await expect(left).rejects.toThrow('abort')
      await eventually(() => limiter.stats().waiting.left === 1)
      // The next newcomer gets the place.
      const next = fetch(url, { headers: acme })
      await eventually(() => limiter.stats().waiting.now === 2)
      const answers = await Promise.all([stays, next])
      expect(answers.map(({ status }) => status)).toEqual([200, 200])
      expect(onError).not.toHaveBeenCalled()
      expect(limiter.stats()).toMatchObject({ waiting: { admitted: 2, left: 1 }, storeErrors: 0 })
    })

    test('closing the limiter answers those who wait', async () => {
      const limiter = limiterOf({ plans })
      const url = await start({ limiter, identify: byKey })
      await statuses(url, 2)
      const waiting = fetch(url, { headers: acme })
      await eventually(() => limiter.stats().waiting.now === 1)
      await limiter.close()
      const response = await waiting
      expect([response.status, response.headers.get('retry-after')]).toEqual([
        429,
        expect.stringMatching(/^[12]$/),
      ])
    })
  })
}
