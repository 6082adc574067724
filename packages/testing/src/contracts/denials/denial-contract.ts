import { denialReferences, toHttpResponse, type Decision, type Store } from '@tollgate/core'
import type { AnyRequest, Serve, ServeOptions } from '../serve.ts'
import { httpBench } from '../http-bench.ts'

type Options = ServeOptions['options']

const byKey = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? '')
const acme = { 'x-api-key': 'acme' }
const onPlan =
  (plan: string): NonNullable<Options['identify']> =>
  (req) => ({ id: byKey(req), plan })
const HELP = 'Waiting does not help: make it smaller, or ask for a higher limit.'

interface Problem {
  readonly detail: string
  readonly code: string
}

/** A day at least ten days ahead that every month has, so that a monthly window can begin on it. */
function dayAhead(): Date {
  const day = new Date(Date.now() + 10 * 86_400_000)
  while (day.getUTCDate() > 28) day.setUTCDate(day.getUTCDate() + 1)
  return day
}

/** The text and code of a denial, and its Retry-After. A part of `adapterContract`. */
export function denialContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`denial contract: ${name}`, () => {
    const { limiterOf, start, statuses } = httpBench(serve, makeStore, { headers: acme })
    /** Sends requests until one is denied, and resolves with its response. */
    const denied = async (url: string, headers: Record<string, string> = acme): Promise<Response> => {
      for (let i = 0; i < 10; i += 1) {
        const response = await fetch(url, { headers })
        if (response.status !== 200) return response
      }
      throw new Error('no request was denied')
    }
    const problemOf = async (response: Response): Promise<Problem> => (await response.json()) as Problem

    const plans = {
      free: '3/min',
      bucket: { quota: 7200, window: 'h', burst: 2 },
      steady: { quota: 2, window: 'min', algorithm: 'token-bucket' },
      quarter: { quota: 2, window: '90 s' },
      two: ['2/h', '2/2h'],
      'Big plan': '1/15 min',
    } as const
    test.each<[string, Options, RegExp]>([
      [
        'one limit of a plan',
        { plans, identify: onPlan('free') },
        /^The free plan allows 3 requests a minute; try again in (\d\d seconds|1 minute)\.$/,
      ],
      [
        'a plan whose name has a space',
        { plans, identify: onPlan('Big plan') },
        /^The Big plan allows 1 request in 15 minutes; try again in 15 minutes\.$/,
      ],
      [
        'several limits of a plan',
        { plans, identify: onPlan('two') },
        /^The two plan allows 2 requests an hour and 2 requests in 2 hours; try again in 2 hours\.$/,
      ],
      [
        'a window that has no name',
        { plans, identify: onPlan('quarter') },
        /^The quarter plan allows 2 requests in 90 seconds; try again in (89|90) seconds\.$/,
      ],
      [
        'a token bucket with a burst',
        { plans, identify: onPlan('bucket') },
        /^The bucket plan allows 7,200 requests an hour \(at most 2 at once\); try again in 1 second\.$/,
      ],
      [
        'a token bucket without',
        { plans, identify: onPlan('steady') },
        /^The steady plan allows 2 requests a minute; try again in (29|30) seconds\.$/,
      ],
      [
        'units',
        { plans, identify: onPlan('free'), cost: 2 },
        /^The free plan allows 3 units a minute, and this request takes 2 units; try again in (\d\d seconds|1 minute)\.$/,
      ],
      [
        'a plan that nobody is to read',
        { plans, identify: onPlan('free'), namePlan: false },
        /^Only 3 requests a minute are allowed; /,
      ],
      [
        'the plan of `limit`',
        { limit: '1/h', identify: byKey },
        /^Only 1 request an hour is allowed; try again in (1 hour|60 minutes)\.$/,
      ],
      [
        'stacked limits',
        { plans, identify: onPlan('free'), stacked: { export: '1/d' } },
        /^Only 1 request a day is allowed for export; the next is possible on \d+ \w+ \d{4}, \d\d:\d\d \(UTC\)\.$/,
      ],
      [
        'a group on the plan',
        { plans, identify: onPlan('free'), group: 'search' },
        /^The free plan allows 3 requests a minute for search; /,
      ],
      [
        'a plan and what is stacked',
        { plans, identify: onPlan('free'), stacked: { export: '3/h' } },
        /^The free plan allows 3 requests a minute, and only 3 requests an hour are allowed for export; try again in (1 hour|60 minutes)\.$/,
      ],
      [
        'several subjects',
        {
          plans,
          identify: (req) => [
            { id: 'org', plan: 'free' },
            { id: byKey(req), plan: 'quarter' },
          ],
        },
        /^The quarter plan allows 2 requests in 90 seconds; /,
      ],
    ])('the detail of %s is for people', async (_, options, expected) => {
      const response = await denied(await start(options))
      expect(response.status).toBe(429)
      expect((await problemOf(response)).detail).toMatch(expected)
    })

    test('the detail names a group that has limits of its own', async () => {
      const limiter = limiterOf({ plans })
      const url = await start({ limiter, identify: onPlan('free'), group: 'login', limit: '2/min' })
      expect((await problemOf(await denied(url))).detail).toMatch(
        /^Only 2 requests a minute are allowed for login; /,
      )
    })

    test('the detail of a calendar limit gives the minute of its next window, in its time zone', async () => {
      const day = dayAhead()
      const window = { window: 'month', timeZone: 'Europe/Berlin', anchor: day.getUTCDate() }
      const url = await start({ plans: { pro: { quota: 1, ...window } }, identify: onPlan('pro') })
      const month = day.toLocaleString('en', { month: 'long', timeZone: 'UTC' })
      const date = `${day.getUTCDate()} ${month} ${day.getUTCFullYear()}, 00:00 (Europe/Berlin)`
      const { detail } = await problemOf(await denied(url))
      expect(detail).toBe(`The pro plan allows 1 request a month; the next is possible on ${date}.`)
      const costly = await start({
        plans: { pro: { quota: 3, ...window } },
        identify: onPlan('pro'),
        cost: 2,
      })
      expect((await problemOf(await denied(costly))).detail).toBe(
        `The pro plan allows 3 units a month, and this request takes 2 units; try again on ${date}.`,
      )
    })

    test('the time in the detail is not before the time of Retry-After', async () => {
      const url = await start({ limit: '1/7h', identify: byKey, retryJitterMs: 3_600_000 })
      const response = await denied(url)
      const { detail } = await problemOf(response)
      const [, day, time] = /on (.+), (\d\d:\d\d) \(UTC\)\.$/.exec(detail) ?? []
      const told = Date.parse(`${day} ${time} UTC`)
      const waitMs = Number(response.headers.get('retry-after')) * 1000
      // Both times are rounded up: the one in the text to the minute, Retry-After to the second.
      expect(told - Date.now() - waitMs).toBeGreaterThan(-2000)
      expect(told - Date.now() - waitMs).toBeLessThan(60_000)
    })

    test('a cost that can never fit has a code of its own, and says what to do', async () => {
      const cost = (req: AnyRequest): number => Number(req.headers['x-cost'])
      const url = await start({ plans: { free: ['10/min', '12/h'] }, identify: onPlan('free'), cost })
      await fetch(url, { headers: { ...acme, 'x-cost': '2' } })
      // The cost does not fit the hourly limit now either, but would later. It never fits the other limit, and that
      // decides.
      const response = await denied(url, { ...acme, 'x-cost': '11' })
      expect([response.status, response.headers.get('retry-after')]).toEqual([429, null])
      expect(await response.json()).toMatchObject({
        code: 'cost_exceeds_quota',
        detail: `This request takes 11 units, but the free plan allows 10 units a minute. ${HELP}`,
      })
    })

    test('Retry-After is at most the longest timer of JavaScript; the detail gives the real time', async () => {
      const told: Decision[] = []
      const limiter = limiterOf({ limit: '1/90d' }).on('limited', (decision) => told.push(decision))
      const url = await start({ limiter, identify: byKey, retryJitterMs: 3_600_000 })
      const response = await denied(url)
      const seconds = Number(response.headers.get('retry-after'))
      expect(seconds).toBeLessThanOrEqual(2_147_483)
      // Jitter spreads what is cut below the longest.
      expect(seconds).toBeGreaterThanOrEqual(2_147_483 - 3600)
      expect(response.headers.get('ratelimit-reset')).toBe('7776000')
      expect(told[0]?.retryAfterMs).toBeGreaterThan(89 * 86_400_000)
      const [, day] = /on (.+), \d\d:\d\d/.exec((await problemOf(response)).detail) ?? []
      expect(Date.parse(`${day} UTC`) - Date.now()).toBeGreaterThan(88 * 86_400_000)
    })

    test('maxRetryAfterMs sets the longest Retry-After', async () => {
      const url = await start({ limit: '1/h', identify: byKey, maxRetryAfterMs: 90_500 })
      expect((await denied(url)).headers.get('retry-after')).toBe('90')
      const usual = await start({ limit: '1/90d', identify: byKey })
      expect((await denied(usual)).headers.get('retry-after')).toBe('2147483')
      const whole = await start({ limit: '1/90d', identify: byKey, maxRetryAfterMs: 2 ** 40 })
      expect(Number((await denied(whole)).headers.get('retry-after'))).toBeGreaterThan(7_775_000)
    })

    test.each(['application/json', 'text/plain', undefined])(
      'toHttpResponse says the same, for a client that accepts %s',
      async (accept) => {
        const heard: Decision[] = []
        const limiter = limiterOf({ limit: '1/h' }).on('decision', (decision) => heard.push(decision))
        const headers = { ...acme, ...(accept && { accept }) }
        const url = await start({ limiter, identify: byKey, maxRetryAfterMs: 90_000 })
        const responses = [await fetch(url, { headers }), await fetch(url, { headers })]
        const options = { accept: accept ?? '*/*', maxRetryAfterMs: 90_000 }
        const [allowed, refused] = heard.map((decision) => toHttpResponse(decision, options))
        expect([allowed?.status, allowed?.body]).toEqual([undefined, undefined])
        expect([refused?.status, refused?.body]).toEqual([429, await responses[1]?.text()])
        expect(refused?.headers).toHaveProperty('Retry-After', '90')
        responses.forEach((response, i) => {
          for (const [header, value] of Object.entries([allowed, refused][i]?.headers ?? {})) {
            expect([header, response.headers.get(header)]).toEqual([header, value])
          }
        })
      },
    )

    test('with references, each body has one of its own subject, which the operator can open', async () => {
      const references = denialReferences({ secret: 'a secret of the operators' })
      const url = await start({ limit: '1/h', identify: byKey, references })
      for (const [id, accept] of [
        ['acme', '*/*'],
        ['globex', 'application/json'],
        ['initech', 'text/plain'],
      ] as const) {
        const body = await (await denied(url, { 'x-api-key': id, accept })).text()
        const [reference = ''] = /urn:tollgate:[\w-]+/.exec(body) ?? []
        expect(references.open(reference)).toMatchObject({
          subject: id,
          limit: 'hour',
          quota: 1,
          source: 'store',
        })
        const asJson = (): unknown => (JSON.parse(body) as { readonly instance: unknown }).instance
        if (accept === 'text/plain') expect(body.endsWith(` Reference: ${reference}\n`)).toBe(true)
        else expect(asJson()).toBe(reference)
      }
    })

    test('used and remaining add up to the burst of a bucket, in the decision and in the headers', async () => {
      const url = await start({ plans, identify: onPlan('bucket') })
      const response = await fetch(url, { headers: acme })
      const { decision } = (await response.json()) as { decision: Decision }
      expect(decision.limits).toMatchObject([{ quota: 7200, used: 1, remaining: 1 }])
      expect(response.headers.get('ratelimit-limit')).toBe('2')
      expect(response.headers.get('ratelimit-remaining')).toBe('1')
      expect(response.headers.get('ratelimit-policy')).toBe('"hour";q=7200;w=3600')
      expect(await statuses(await start({ plans, identify: onPlan('steady') }), 3)).toEqual([200, 200, 429])
    })
  })
}
