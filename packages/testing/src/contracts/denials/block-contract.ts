import { once } from 'node:events'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  refuseUpgrade,
  toHttpResponse,
  type Decision,
  type HttpResponseOptions,
  type Limiter,
  type Store,
} from '@tollgate/core'
import { httpBench } from '../http-bench.ts'
import { respond } from '../respond.ts'
import type { AnyRequest, Serve, ServeOptions } from '../serve.ts'

type Options = ServeOptions['options']

const identify = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? '')
const acme = { 'x-api-key': 'acme' }
const hour = { for: '1h', reason: 'unpaid since May', by: 'ops' } as const
const DETAIL = 'This client is blocked for 1 hour.'
const FORBIDDEN = { type: 'about:blank', title: 'Forbidden', status: 403, detail: DETAIL, code: 'blocked' }
const TOO_MANY = { ...FORBIDDEN, title: 'Too Many Requests', status: 429 }

/** Answers to subjects that `limiter.block` blocks. A part of `adapterContract`. */
export function blockContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`block contract: ${name}`, () => {
    const { limiterOf, start } = httpBench(serve, makeStore, { headers: acme })

    /** Serves an application whose tenant `acme` is blocked. */
    const startBlocked = async (
      options: Options = {},
      block: Parameters<Limiter['block']>[1] = hour,
    ): Promise<{ limiter: Limiter; ask: (headers?: Record<string, string>) => Promise<Response> }> => {
      const limiter = limiterOf({ limit: '2/min' })
      const url = await start({ limiter, identify, ...options })
      await limiter.block('acme', block)
      const ask = (headers: Record<string, string> = {}): Promise<Response> =>
        fetch(url, { headers: { ...acme, ...headers } })
      return { limiter, ask }
    }

    test.each<[string, Options, object]>([
      ['403', {}, FORBIDDEN],
      ['429 with blockedStatus: 429', { blockedStatus: 429 }, TOO_MANY],
      ['the reason with nameReason', { nameReason: true }, { ...FORBIDDEN, reason: hour.reason }],
    ])('a blocked subject gets %s, and Retry-After', async (_, options, problem) => {
      const { limiter, ask } = await startBlocked(options)
      const response = await ask()
      expect(await response.json()).toEqual(problem)
      const { status, headers } = response
      expect(problem).toMatchObject({ status })
      expect(headers.get('retry-after')).toMatch(/^(3600|35\d\d)$/)
      expect(headers.get('content-type')).toBe('application/problem+json')
      expect(headers.get('cache-control')).toBe('no-store')
      expect([headers.get('ratelimit'), headers.get('ratelimit-policy')]).toEqual([null, null])
      expect((await ask({ 'x-api-key': 'globex' })).status).toBe(200)
      await limiter.unblock('acme')
      expect((await ask()).status).toBe(200)
      await limiter.close()
    })

    test('the same as text, with the reason only if it may be named', async () => {
      const plain = { accept: 'text/plain' }
      const { ask } = await startBlocked()
      expect(await (await ask(plain)).text()).toBe(`Forbidden. ${DETAIL}\n`)
      const { ask: askNamed } = await startBlocked({ nameReason: true, blockedStatus: 429 })
      const response = await askNamed(plain)
      expect([response.status, response.headers.get('content-type')]).toEqual([
        429,
        'text/plain; charset=utf-8',
      ])
      expect(await response.text()).toBe(`Too Many Requests. ${DETAIL} Reason: ${hour.reason}\n`)
    })

    test('a long block names its day, and Retry-After is cut as for limits', async () => {
      const until = new Date(Date.now() + 100 * 86_400_000)
      const { ask } = await startBlocked({}, { until })
      const response = await ask()
      const { detail } = (await response.json()) as { detail: string }
      const [, day] = /^This client is blocked until (.+), \d\d:\d\d \(UTC\)\.$/.exec(detail) ?? []
      expect(Math.abs(Date.parse(`${day} UTC`) - Number(until))).toBeLessThan(2 * 86_400_000)
      expect(response.headers.get('retry-after')).toBe('2147483')
      const { ask: askCut } = await startBlocked({ maxRetryAfterMs: 90_000 })
      expect((await askCut()).headers.get('retry-after')).toBe('90')
    })

    test.each([403, 429] as const)(
      'onDenied and body answer with the status %i, and get the block',
      async (blockedStatus) => {
        const { ask } = await startBlocked({
          blockedStatus,
          onDenied: (_req, res, { block }) => respond(res, `blocked: ${block?.reason}`),
        })
        const left = await ask()
        expect([left.status, await left.text()]).toEqual([blockedStatus, `blocked: ${hour.reason}`])
        expect(left.headers.get('retry-after')).toMatch(/^3\d{3}$/)
        const { ask: askBody } = await startBlocked({
          blockedStatus,
          body: ({ reason, source, block }) => ({ reason, source, of: block?.of }),
        })
        const made = await askBody()
        expect([made.status, await made.json()]).toEqual([
          blockedStatus,
          { reason: 'blocked', source: 'rule', of: 'acme' },
        ])
      },
    )

    test('the block list and blocked plans get the same status, but no Retry-After', async () => {
      const plans = { free: '2/min', suspended: 'blocked' } as const
      const cases: Options[] = [
        { limit: '2/min', blockList: ['acme'], identify },
        { plans, identify: (req) => ({ id: identify(req), plan: 'suspended' }) },
      ]
      for (const options of cases) {
        const response = await fetch(await start({ ...options, blockedStatus: 429, nameReason: true }), {
          headers: acme,
        })
        expect([response.status, response.headers.get('retry-after')]).toEqual([429, null])
        expect(await response.json()).toEqual({ ...TOO_MANY, detail: 'This client is blocked.' })
      }
    })

    test.each(['application/problem+json', 'text/plain'])(
      'toHttpResponse says the same, for a client that accepts %s',
      async (accept) => {
        const heard: Decision[] = []
        const said = { blockedStatus: 429, nameReason: true } as const
        const { limiter, ask } = await startBlocked(said)
        limiter.on('limited', (decision) => heard.push(decision))
        const response = await ask({ accept })
        const [decision] = heard as [Decision]
        const { status, headers, body } = toHttpResponse(decision, { accept, ...said })
        expect([status, body]).toEqual([response.status, await response.text()])
        for (const [header, value] of Object.entries(headers)) {
          expect([header, response.headers.get(header)]).toEqual([header, value])
        }
        expect(toHttpResponse(decision).status).toBe(403)
        expect(toHttpResponse(decision).body).not.toContain(hour.reason)
      },
    )

    test.each<[string, HttpResponseOptions, object]>([
      ['403', {}, FORBIDDEN],
      ['429 and the reason', { blockedStatus: 429, nameReason: true }, { ...TOO_MANY, reason: hour.reason }],
    ])('refuseUpgrade answers %s', async (_, options, problem) => {
      const limiter = limiterOf({ limit: '2/min' })
      await limiter.block('acme', hour)
      const { response, body } = await upgradeRefusedBy(limiter, options)
      expect(JSON.parse(body)).toEqual(problem)
      expect(problem).toMatchObject({ status: response.statusCode })
      expect(response.headers).toMatchObject({
        'retry-after': expect.stringMatching(/^(3600|35\d\d)$/),
        'cache-control': 'no-store',
        connection: 'close',
      })
      await limiter.close()
    })
  })
}

/** What a server that knows no WebSockets answers to an upgrade by the subject `acme`. */
async function upgradeRefusedBy(
  limiter: Limiter,
  options: HttpResponseOptions,
): Promise<{ response: IncomingMessage; body: string }> {
  const server = createServer().listen(0, '127.0.0.1')
  server.on('upgrade', async (_req, socket) => refuseUpgrade(socket, await limiter.consume('acme'), options))
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const headers = { connection: 'Upgrade', upgrade: 'websocket' }
  const asked = request({ host: '127.0.0.1', port, headers }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  const parts: Buffer[] = []
  for await (const part of response) parts.push(part as Buffer)
  server.close()
  return { response, body: Buffer.concat(parts).toString() }
}
