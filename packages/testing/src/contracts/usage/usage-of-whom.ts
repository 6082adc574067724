import { byIp, type RateLimitOptions } from '@tollgate/core'
import type { Served } from '../../served.ts'
import type { AnyRequest } from '../adapter-contract.ts'
import {
  HTML,
  identify,
  PRIVATE,
  usageBench,
  type MakeUsage,
  type ServedUsage,
  type Who,
} from './usage-bench.ts'

/** Who is told of usage, and of whose. */
export function usageOfWhom(
  name: string,
  serve: (app: ServedUsage) => Promise<Served>,
  make: MakeUsage,
): void {
  describe(`whose usage: ${name}`, () => {
    const { limiterOf, start, begin, ask, reportFor } = usageBench(serve)

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
      const limiter = limiterOf()
      const url = await begin(limiter)
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
      const { limits } = await limiter.peek({ id: 'acme', plan: 'free' })
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

    test('limits by address are refused, also those that a function gives', async () => {
      const limiter = limiterOf({ plans: undefined, defaultPlan: undefined, limit: '5/min' } as never)
      for (const more of [{}, { limit: () => '3/min' }])
        expect(() => make({ limiter, identify: byIp(), ...more } as never)).toThrow(
          'clients are known by their address only',
        )
    })
  })
}
