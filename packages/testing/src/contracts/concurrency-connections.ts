import { connect } from 'node:net'
import { eventually } from '../eventually.ts'
import type { AnyRequest } from './adapter-contract.ts'
import type { ConcurrencyPlace } from './concurrency-contract.ts'
import { askForUpgrade } from './visitors.ts'

const byKey = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? 'acme')
const acme = { 'x-api-key': 'acme' }

/** Upgraded sockets, and requests that wait behind others of their connection. */
export function connections({ limiterOf, start, visitors, inFlight }: ConcurrencyPlace): void {
  test('a socket that was upgraded in a handler holds its slot until it is closed', async () => {
    const limiter = limiterOf({ limit: '1 concurrent' })
    const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
    const handle: typeof visitors.handle = (req, raw) => {
      if (req.headers['x-visit'] !== undefined) return visitors.handle(req, raw)
      raw.socket?.write(switching)
      return Promise.resolve(undefined)
    }
    const url = await start({ limiter, identify: byKey }, { handle })
    const socket = await askForUpgrade(url, acme)
    await visitors.refused(url)
    socket.destroy()
    await visitors.enter(url)
    await inFlight(limiter, 1)
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
