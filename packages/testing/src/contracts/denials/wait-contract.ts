import type { Decision, Store } from '@tollgate/core'
import { eventually } from '../../eventually.ts'
import type { AnyRequest, Serve } from '../adapter-contract.ts'
import { httpBench } from '../http-bench.ts'

const byKey = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? '')
const acme = { 'x-api-key': 'acme' }
const wait = { maxDelay: '60s', maxWaiting: 2 }
const plans = { line: { limits: '2/min', wait } }
/** A place of this one comes within a test. */
const soon = { line: { limits: '2/s', wait: { maxDelay: '1s', maxWaiting: 2 } } }

/** Requests that wait in line for their place, and clients that leave meanwhile. */
export function waitContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`wait contract: ${name}`, () => {
    const { limiterOf, start, statuses } = httpBench(serve, makeStore, { headers: acme })

    test('a request waits for its place and passes, with the policy and no numbers', async () => {
      const limiter = limiterOf({ plans: soon })
      const url = await start({ limiter, identify: byKey, headers: { legacy: 'delta' } })
      const visit = async () => {
        const response = await fetch(url, { headers: acme })
        const { decision } = (await response.json()) as { decision?: Decision }
        return { response, decision }
      }
      // A process that is held up for 0.1 s beyond the time of a place asks for another one.
      const placed: Awaited<ReturnType<typeof visit>>[] = []
      await eventually(async () => {
        const visits = await Promise.all([visit(), visit(), visit()])
        // What was denied has no decision in its body.
        placed.push(...visits.filter(({ decision }) => decision?.source === 'place'))
        expect(placed).not.toEqual([])
      })
      const [{ response, decision }] = placed as [(typeof placed)[number]]
      expect(response.status).toBe(200)
      expect(response.headers.get('ratelimit-policy')).toBe('"second";q=2;w=1')
      const others = [
        'ratelimit',
        'ratelimit-remaining',
        'ratelimit-limit',
        'x-ratelimit-remaining',
        'retry-after',
      ]
      expect(others.filter((one) => response.headers.has(one))).toEqual([])
      expect(decision).toMatchObject({ allowed: true, plan: 'line', limits: [], subject: { id: 'acme' } })
      expect(limiter.stats().waiting).toMatchObject({ admitted: placed.length, now: 0 })
    })

    test('one that finds the line full is denied as usual', async () => {
      const limiter = limiterOf({ plans })
      const url = await start({ limiter, identify: byKey })
      await statuses(url, 2)
      const waiting = [fetch(url, { headers: acme }), fetch(url, { headers: acme })]
      await eventually(() => limiter.stats().waiting.now === 2)
      const denied = await fetch(url, { headers: acme })
      expect([denied.status, denied.headers.get('ratelimit')]).toEqual([429, expect.stringContaining('r=0')])
      await limiter.close()
      await Promise.all(waiting)
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
      await eventually(() => expect(limiter.stats().waiting).toMatchObject({ now: 1, left: 1 }))
      // The next newcomer gets the place.
      const next = fetch(url, { headers: acme })
      await eventually(() => limiter.stats().waiting.now === 2)
      expect(onError).not.toHaveBeenCalled()
      expect(limiter.stats()).toMatchObject({ waiting: { booked: 3, left: 1, refused: 0 }, storeErrors: 0 })
      await limiter.close()
      await Promise.all([stays, next])
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
        expect.stringMatching(/^[1-6]?[0-9]$/),
      ])
    })
  })
}
