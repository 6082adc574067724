import type { Store } from '@tollgate/core'
import { eventually } from '../../eventually.ts'
import type { AnyRequest, Serve } from '../adapter-contract.ts'
import { httpBench } from '../http-bench.ts'

const byKey = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? '')
const acme = { 'x-api-key': 'acme' }

/** Requests that are served from units that the process took in advance. */
export function leaseContract(name: string, serve: Serve, makeStore: () => Store): void {
  describe(`lease contract: ${name}`, () => {
    const { limiterOf, start } = httpBench(serve, makeStore, { headers: acme })
    const plans = { big: { limits: ['600000/h', '5000000/month'], lease: true } }

    /** Asks until an answer has no numbers. Returns it. */
    async function leased(url: string): Promise<Response> {
      let found: Response | undefined
      await eventually(async () => {
        const answers = await Promise.all(Array.from({ length: 40 }, () => fetch(url, { headers: acme })))
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
        found = answers.find(({ headers }) => headers.get('ratelimit') === null)
        if (!found) throw new Error('all were decided by the store')
      })
      return found as Response
    }

    test('such an answer has the policy, and no number that this process does not know', async () => {
      const limiter = limiterOf({ plans })
      const url = await start({ limiter, identify: byKey, headers: { legacy: 'delta' } })
      const { headers } = await leased(url)
      expect(headers.get('ratelimit-policy')).toBe('"hour";q=600000;w=3600, "month";q=5000000;w=2592000')
      const others = ['ratelimit', 'ratelimit-remaining', 'ratelimit-limit', 'ratelimit-reset', 'retry-after']
      const legacy = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
      expect([...others, ...legacy].filter((one) => headers.has(one))).toEqual([])
    })

    test('the application gets its decision, and every request is counted', async () => {
      const seen = new Map<string, number>()
      const limiter = limiterOf({ plans })
      limiter.on('decision', ({ source }) => void seen.set(source, (seen.get(source) ?? 0) + 1))
      // On a slow machine a lease can end before it is given back.
      let lost = 0
      limiter.on('lease', ({ kind, units }) => void (lost += kind === 'lost' ? units : 0))
      const url = await start({ limiter, identify: byKey })
      const response = await leased(url)
      expect(await response.json()).toMatchObject({
        decision: { allowed: true, source: 'lease', plan: 'big', limits: [], subject: { id: 'acme' } },
      })
      const total = [...seen.values()].reduce((sum, count) => sum + count, 0)
      await eventually(async () => {
        expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(600_000 - total - lost)
      })
    })
  })
}
