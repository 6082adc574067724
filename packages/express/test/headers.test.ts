// The headers, read by an independent parser of structured fields.
import { request as httpRequest } from 'node:http'
import { cases, serveHandler, type Served } from '@tollgate/testing'
import express from 'express'
import fc from 'fast-check'
import { isInnerList, parseList, type Item, type Parameters } from 'structured-headers'
import { createLimiter, rateLimit, type Decision, type RateLimitOptions } from '../src/index.js'

type Options = RateLimitOptions<express.Request, express.Response>

let served: Served | undefined
afterEach(async () => {
  await served?.close()
  served = undefined
})

interface Read {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly policies: readonly [string, Parameters][]
  readonly limits: readonly [string, Parameters][]
  readonly body: string
}

/** Uses Node's own client, which gives every header line exactly as received. */
async function ask(options: Options, times = 1): Promise<Read & { readonly decision: Decision }> {
  await served?.close()
  let decision: Decision | undefined
  const app = express()
  app.use((req, res, next) => {
    res.on('finish', () => (decision = req.rateLimit))
    next()
  })
  app.use(rateLimit(options))
  app.get('/', (_req, res) => void res.send('ok'))
  served = await serveHandler(app)
  let read: Read | undefined
  for (let i = 0; i < times; i += 1) read = await readAnswer(served.url)
  return { ...(read as Read), decision: decision as Decision }
}

function readAnswer(url: string): Promise<Read> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { agent: false }, (response) => {
      const headers = response.headersDistinct
      let body = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
      response.on('end', () => {
        const single = Object.entries(headers).map(([name, values]) => {
          expect([name, values]).toEqual([name, [expect.any(String)]])
          return [name, values?.[0] as string]
        })
        const all = Object.fromEntries(single) as Record<string, string>
        resolve({
          status: response.statusCode as number,
          headers: all,
          policies: itemsOf(all['ratelimit-policy']),
          limits: itemsOf(all['ratelimit']),
          body,
        })
      })
    })
    request.on('error', reject).end()
  })
}

function itemsOf(field: string | undefined): [string, Parameters][] {
  return parseList(field ?? '').map((member) => {
    expect(isInnerList(member)).toBe(false)
    const [value, parameters] = member as Item
    expect(typeof value).toBe('string')
    return [value as string, parameters]
  })
}

/** Requirements for every response with rate limit headers. */
function expectTruth({ policies, limits, headers, decision }: Awaited<ReturnType<typeof ask>>): void {
  expect(policies.map(([name]) => name)).toEqual(limits.map(([name]) => name))
  expect(policies.map(([name]) => decodeURIComponent(name.replace(/%(?![0-9A-F]{2})/g, '%25')))).toEqual(
    decision.limits.map(({ name }) => name),
  )
  decision.limits.forEach(({ quota, windowMs, remaining, resetMs }, i) => {
    const [, policy] = policies[i] as [string, Parameters]
    const [, limit] = limits[i] as [string, Parameters]
    expect([policy.get('q'), policy.get('w')]).toEqual([quota, Math.ceil(windowMs / 1000)])
    expect(limit.get('r')).toBe(remaining)
    expect(limit.get('t')).toBe(resetMs === 0 ? undefined : Math.ceil(resetMs / 1000))
    for (const number of [quota, remaining, policy.get('w')]) expect(Number.isSafeInteger(number)).toBe(true)
    expect(policy.get('w')).toBeGreaterThan(0)
  })
  const closest = decision.limits.map(({ quota, remaining }) => `${quota} ${remaining}`)
  expect(closest).toContain(`${headers['ratelimit-limit']} ${headers['ratelimit-remaining']}`)
  expect(headers['ratelimit-reset']).toMatch(/^\d+$/)
}

const named = (name: string): Options => ({ limit: { quota: 3, window: 'min', name } })

describe('headers, read by an independent parser', () => {
  test.each<[string, Options]>([
    ['one limit', { limit: '100/min' }],
    ['several limits', { limit: ['10/s burst 20', '120/min', '5000000/month', '7/2500ms'] }],
    ['the smallest and the longest window', { limit: ['5/1ms', { quota: 1, window: '3000 d' }] }],
    ['a stacked limit', { limit: '9/min', stacked: { export: ['3/min', '5/h'] } }],
    ['several subjects', { limit: '9/min', identify: () => ['acme', { id: 'u', label: 'user "x"\\' }] }],
    ['the largest quota', { limit: { quota: 1e12, window: 'd', algorithm: 'token-bucket' } }],
    ['a billing month', { limit: { quota: 10, window: 'month', anchor: 31, timeZone: 'Asia/Tokyo' } }],
  ])('%s, allowed', async (_, options) => {
    const answer = await ask(options)
    expect(answer.status).toBe(200)
    expectTruth(answer)
  })

  test('pk is a byte sequence, the same in both fields', async () => {
    const answer = await ask({ limit: '9/min', identify: () => ['a', 'b'], headers: { partitionKey: true } })
    expectTruth(answer)
    const keys = [answer.policies, answer.limits].map((items) =>
      items.map(([, parameters]) => parameters.get('pk')),
    )
    expect(keys[0]).toEqual(keys[1])
    expect(new Set(keys[0]?.map((key) => Buffer.from(key as ArrayBuffer).toString('hex'))).size).toBe(2)
  })

  test.each([
    'quo"te',
    'back\\slash',
    'new\r\nX-Injected: 1',
    'größe',
    '限制',
    '🚦',
    '\u0000\u007f',
    'a, "b";q=1',
    '100%25',
    'x'.repeat(64),
  ])('a limit called %j', async (name) => {
    let options: Options
    try {
      options = named(name)
      createLimiter({ limit: options.limit as never })
    } catch (error) {
      // The limiter may refuse the name at construction. It must not send a broken header.
      expect(error).toMatchObject({ code: 'ERR_TOLLGATE_CONFIG', path: 'limit.name' })
      return
    }
    const answer = await ask(options, 4)
    expect(answer.headers).not.toHaveProperty('x-injected')
    expect(answer.status).toBe(429)
    expect(answer.policies.map(([given]) => given)).toEqual([
      name.replace(/[^\x20-\x24\x26-\x7e]+/gu, (part) =>
        encodeURIComponent(part).replace(/%[0-9a-f]{2}/g, (hex) => hex.toUpperCase()),
      ),
    ])
    expect(JSON.parse(answer.body)['violated-policies']).toEqual(answer.policies.map(([given]) => given))
  })

  test('headers parse with any name that a limit may have', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }), async (name) => {
        let options
        try {
          createLimiter({ limit: { quota: 3, window: 'min', name } })
          options = named(name)
        } catch {
          return
        }
        const { policies, limits, headers } = await ask(options)
        expect([policies.length, limits.length]).toEqual([1, 1])
        expect(Object.keys(headers).sort()).toEqual([
          'connection',
          'content-length',
          'content-type',
          'date',
          'etag',
          'ratelimit',
          'ratelimit-limit',
          'ratelimit-policy',
          'ratelimit-remaining',
          'ratelimit-reset',
          'x-powered-by',
        ])
      }),
      { numRuns: cases(50, 1000) },
    )
  })
})
