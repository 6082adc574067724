import { once, type EventEmitter } from 'node:events'
import { ServerResponse, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { eventually } from '../../eventually.ts'
import type { AnyRequest } from '../adapter-contract.ts'
import type { ConcurrencyPlace } from './concurrency-contract.ts'
import type { Visitors } from '../requests/visitors.ts'

const byKey = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? 'acme')
/** A socket that was taken over gets no answer of HTTP. */
const UNANSWERED = { status: undefined, isAborted: true }
const ANY: unknown = expect.anything()

/** How a socket leaves HTTP: what the client asks, what the handler does, and what the server hands to the application. */
interface Takeover {
  readonly method?: 'CONNECT'
  readonly take: (raw: ServerResponse) => void
  readonly hand?: (server: EventEmitter) => void
}

const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

/** As packages do that pass upgrades to the routes of an application. */
const handing =
  (event: 'upgrade' | 'connect', isAssigned: boolean): NonNullable<Takeover['hand']> =>
  (server) =>
    server.on(event, (req: IncomingMessage, socket: Socket) => {
      const res = new ServerResponse(req)
      if (isAssigned) res.assignSocket(socket)
      server.emit('request', Object.assign(req, { method: 'GET', url: '/' }), res)
    })
/** As a package for WebSockets does: it answers, reads, and closes when the client does. */
function onSocket({ req: { socket } }: ServerResponse): void {
  socket.write(SWITCHING)
  socket.resume().once('end', () => socket.end())
}

const TAKEOVERS: [how: string, Takeover][] = [
  ['written to in a handler', { take: onSocket }],
  [
    'detached from its response',
    {
      take: (raw) => {
        raw.detachSocket(raw.socket as Socket)
        onSocket(raw)
      },
    },
  ],
  [
    'detached from its response, which is then ended',
    {
      take: (raw) => {
        raw.detachSocket(raw.socket as Socket)
        onSocket(raw)
        raw.end()
      },
    },
  ],
  ['of an upgrade that has a response', { take: onSocket, hand: handing('upgrade', true) }],
  ['of an upgrade whose response has no socket', { take: onSocket, hand: handing('upgrade', false) }],
  ['of a tunnel', { method: 'CONNECT', take: onSocket, hand: handing('connect', true) }],
]

/** Asks for an upgrade. Resolves when the application has taken the connection over. */
async function takenOver(url: string, method = 'GET'): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`${method} / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 101 /)
  return socket
}

/** Sockets that are taken over, and requests that wait behind others of their connection. */
export function connections({ limiterOf, start, server, visitors, inFlight }: ConcurrencyPlace): void {
  test.each(TAKEOVERS)('a socket %s holds its slot until it is closed', async (_, { method, take, hand }) => {
    const limiter = limiterOf({ limit: '1 concurrent' })
    const refundWhen = jest.fn(() => false)
    const sockets: Socket[] = []
    const handle: Visitors['handle'] = (req, raw) => {
      if (req.headers['x-visit'] !== undefined) return visitors.handle(req, raw)
      sockets.push(req.socket)
      take(raw)
      return Promise.resolve(undefined)
    }
    const url = await start({ limiter, identify: byKey, refundWhen }, { handle })
    hand?.(server())
    try {
      // First the client leaves, then the server closes the socket.
      for (const close of [(client: Socket) => client.destroy(), () => sockets[1]?.destroy()]) {
        const client = await takenOver(url, method)
        await visitors.refused(url)
        expect(refundWhen).not.toHaveBeenCalled()
        close(client)
        await inFlight(limiter, 0)
        await eventually(() => expect(refundWhen.mock.calls).toEqual([[UNANSWERED, ANY, ANY]]))
        refundWhen.mockClear()
      }
      await visitors.enter(url)
      await inFlight(limiter, 1)
    } finally {
      // No server closes these.
      for (const socket of sockets) socket.destroy()
    }
  })

  test('of pipelined requests each has a slot; all are free when the client leaves', async () => {
    const limiter = limiterOf({ limit: '2 concurrent' })
    const decided: boolean[] = []
    limiter.on('decision', ({ allowed }) => void decided.push(allowed))
    const url = await start({ limiter, identify: byKey }, { handle: visitors.handle })
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3))
    await eventually(() => expect(decided.toSorted()).toEqual([false, true, true]))
    await inFlight(limiter, 2)
    socket.destroy()
    await inFlight(limiter, 0)
    await visitors.enter(url)
    await visitors.enter(url)
  })
}

/** Requests that pass more than one limiter. */
export function severalLimiters({ limiterOf, start, visitors, inFlight }: ConcurrencyPlace): void {
  test('six limiters on a route all hear of its end, and Node sees no leak of listeners', async () => {
    const limiters = Array.from({ length: 6 }, () => limiterOf({ limit: ['9/min', '1 concurrent'] }))
    const refundWhen = jest.fn(() => true)
    const [first, ...more] = limiters.map((limiter) => ({ limiter, identify: byKey, refundWhen, shed: {} }))
    const url = await start(first as (typeof more)[0], { more, handle: visitors.handle })
    const visit = await visitors.enter(url)
    // Above that Node warns of a leak.
    const most = visit.raw.getMaxListeners()
    for (const event of ['finish', 'close']) expect(visit.raw.listenerCount(event)).toBeLessThan(most)
    visit.answer({ ok: true })
    await visit.response
    for (const limiter of limiters) await inFlight(limiter, 0)
    await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(6))
  })

  test('of two limiters on a route each counts its own; what the second denies frees a slot of the first', async () => {
    const guard = limiterOf({ limit: '3 concurrent' })
    const plan = limiterOf({ limit: '1 concurrent' })
    const url = await start(
      { limiter: guard, identify: () => 'everyone' },
      { more: [{ limiter: plan, identify: byKey }], handle: visitors.handle },
    )
    const visit = await visitors.enter(url)
    await visitors.refused(url)
    await inFlight(guard, 1)
    await visitors.enter(url, { headers: { 'x-api-key': 'globex' } })
    await visitors.enter(url, { headers: { 'x-api-key': 'initech' } })
    const denied = await visitors.refused(url, { headers: { 'x-api-key': 'hooli' } })
    expect(await denied.json()).toMatchObject({ 'violated-policies': ['concurrent'] })
    expect([guard, plan].map((limiter) => limiter.stats().inFlight)).toEqual([3, 3])
    visit.answer({ ok: true })
    await inFlight(guard, 2)
    await inFlight(plan, 2)
  })

  test('a group and a stacked limit have slots of their own', async () => {
    const limiter = limiterOf({ limit: '9 concurrent' })
    const url = await start(
      { limiter, identify: byKey, group: 'exports', stacked: { heavy: '1 concurrent' } },
      { handle: visitors.handle },
    )
    const visit = await visitors.enter(url)
    const denied = await visitors.refused(url)
    expect(await denied.json()).toMatchObject({
      'violated-policies': ['heavy.concurrent'],
      detail: 'Only 1 request at a time is allowed for heavy; try again in 1 second.',
    })
    expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(9)
    visit.answer({ ok: true })
    await inFlight(limiter, 0)
    await visitors.enter(url)
  })
}
