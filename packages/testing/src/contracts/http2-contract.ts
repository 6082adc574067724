import { once } from 'node:events'
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { PassThrough } from 'node:stream'
import { eventually } from '../eventually.ts'
import type { Serve } from './serve.ts'
import { endsOf, type Ended } from './responses/end-contract.ts'
import { httpBench } from './http-bench.ts'
import { Visitors } from './requests/visitors.ts'

interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** The same limits over HTTP/2, whose streams end in ways of their own. For frameworks that can. */
export function http2Contract(name: string, serve: Serve): void {
  describe(`HTTP/2 contract: ${name}`, () => {
    const { limiterOf, start } = httpBench(serve, () => undefined)
    const identify = (): string => 'acme'
    const visitors = new Visitors()
    const sessions: ClientHttp2Session[] = []
    const open = (url: string): ClientHttp2Session => {
      const session = connect(url)
      session.on('error', () => {})
      sessions.push(session)
      return session
    }
    afterEach(() => {
      for (const session of sessions.splice(0)) session.destroy()
    })

    const ask = (session: ClientHttp2Session, headers: Record<string, string> = {}): ClientHttp2Stream => {
      const stream = session.request({ ':path': '/', ...headers })
      stream.on('error', () => {})
      return stream
    }
    const toHttpResponse = async (stream: ClientHttp2Stream): Promise<Answered> => {
      const [{ ':status': status, ...headers }] = await once(stream, 'response')
      const chunks: Buffer[] = []
      for await (const chunk of stream) chunks.push(chunk as Buffer)
      return { status, headers, body: Buffer.concat(chunks).toString() }
    }
    /** Sends a request that stays in the application. */
    const enter = async (
      session: ClientHttp2Session,
    ): Promise<Awaited<ReturnType<Visitors['expected']>['reached']> & { stream: ClientHttp2Stream }> => {
      const { id, reached } = visitors.expected()
      const stream = ask(session, { 'x-visit': id })
      return { ...(await reached), stream }
    }

    test('a request passes with the headers, and is denied with the same answer as over HTTP/1', async () => {
      const session = open(await start({ limit: '1/min', identify }))
      const passed = await toHttpResponse(ask(session))
      expect([passed.status, passed.headers['ratelimit']]).toEqual([200, '"minute";r=0;t=60'])
      const denied = await toHttpResponse(ask(session))
      expect([denied.status, denied.headers['retry-after']]).toEqual([
        429,
        expect.stringMatching(/^(59|60)$/),
      ])
      expect(denied.headers['content-type']).toBe('application/problem+json')
      expect(JSON.parse(denied.body)).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    })

    test('a response has a status where one was sent, and none where its stream was cancelled before', async () => {
      const refundWhen: Ended = jest.fn(({ status }) => status === 404)
      const limiter = limiterOf({ limit: '9/min' })
      const url = await start({ limiter, identify, refundWhen }, { handle: visitors.handle })
      const session = open(url)
      const whole = await enter(session)
      whole.answer({ ok: true })
      expect((await toHttpResponse(whole.stream)).status).toBe(200)
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(1))
      const cancelled = await enter(session)
      cancelled.stream.close(constants.NGHTTP2_CANCEL)
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(2))
      cancelled.answer({ ok: true })
      const cut = await enter(session)
      const body = new PassThrough()
      body.write('one')
      cut.answer(body)
      await once(cut.stream, 'response')
      cut.stream.close(constants.NGHTTP2_CANCEL)
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(3))
      await enter(session)
      session.destroy()
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(4))
      expect(endsOf(refundWhen)).toEqual([
        { status: 200, isAborted: false },
        { status: undefined, isAborted: true },
        { status: 200, isAborted: true },
        { status: undefined, isAborted: true },
      ])
      expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(5)
    })

    test('a handler that answers by the stream itself has the status that it sent', async () => {
      const refundWhen: Ended = jest.fn((_end) => false)
      const url = await start({ limit: '9/min', identify, refundWhen }, { handle: visitors.handle })
      const visit = await enter(open(url))
      const { stream } = visit.raw as unknown as { stream: { respond(headers: object): void; end(): void } }
      visit.answer(undefined)
      stream.respond({ ':status': 410 })
      stream.end()
      expect((await toHttpResponse(visit.stream)).status).toBe(410)
      await eventually(() => expect(endsOf(refundWhen)).toEqual([{ status: 410, isAborted: false }]))
    })

    test('streams of one connection hold a slot each, until they end, are cancelled, or the client leaves', async () => {
      const limiter = limiterOf({ limit: '2 concurrent' })
      const url = await start({ limiter, identify }, { handle: visitors.handle })
      const inFlight = (expected: number): Promise<void> =>
        eventually(() => expect(limiter.stats().inFlight).toBe(expected))
      const session = open(url)
      const [one, two] = [await enter(session), await enter(session)]
      expect((await toHttpResponse(ask(session))).status).toBe(429)
      one.answer({ ok: true })
      await inFlight(1)
      two.stream.close(constants.NGHTTP2_CANCEL)
      await inFlight(0)
      await enter(session)
      await enter(session)
      await inFlight(2)
      session.destroy()
      await inFlight(0)
    })
  })
}
