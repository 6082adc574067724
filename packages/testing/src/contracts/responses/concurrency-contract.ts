import { PassThrough } from 'node:stream'
import type { Limiter, Store } from '@tollgate/core'
import { eventually } from '../../eventually.ts'
import type { AnyRequest, Serve } from '../adapter-contract.ts'
import { httpBench, whenGone, type HttpBench } from '../http-bench.ts'
import { connections, severalLimiters } from './concurrency-connections.ts'
import { Visitors } from '../requests/visitors.ts'

const byKey = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? 'acme')
const acme = { 'x-api-key': 'acme' }

/** What each test has: a limiter, an application that holds requests until it is told, and how many are in flight. */
export interface ConcurrencyPlace extends HttpBench {
  readonly visitors: Visitors
  readonly inFlight: (limiter: Limiter, expected: number) => Promise<void>
}

/** Limits of requests in flight: who is let in, and when a slot is free again. */
export function concurrencyContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`concurrency contract: ${name}`, () => {
    const place: ConcurrencyPlace = {
      ...httpBench(serve, makeStore, { headers: acme }),
      visitors: new Visitors(),
      inFlight: (limiter, expected) => eventually(() => expect(limiter.stats().inFlight).toBe(expected)),
    }
    answers(place)
    releases(place)
    connections(place)
    severalLimiters(place)
  })
}

function answers({ limiterOf, start, statuses, visitors, inFlight }: ConcurrencyPlace): void {
  test('as many run as the limit allows; the next gets 429, and one more runs when one is over', async () => {
    const limiter = limiterOf({ plans: { pro: '2 concurrent' } })
    const url = await start({ limiter, identify: byKey }, { handle: visitors.handle })
    const [first] = [await visitors.enter(url), await visitors.enter(url)]
    const denied = await visitors.refused(url)
    const told = [
      'ratelimit-policy',
      'ratelimit',
      'ratelimit-limit',
      'ratelimit-remaining',
      'ratelimit-reset',
    ]
    expect(told.map((header) => denied.headers.get(header))).toEqual([
      '"concurrent";q=2;qu="concurrent-requests"',
      '"concurrent";r=0',
      '2',
      '0',
      '1',
    ])
    expect(denied.headers.get('retry-after')).toBe('1')
    expect(await denied.json()).toMatchObject({
      code: 'rate_limit_exceeded',
      detail: 'The pro plan allows 2 requests at a time; try again in 1 second.',
      'violated-policies': ['concurrent'],
    })
    first.answer({ ok: true })
    const { headers } = await first.response
    expect(headers.get('ratelimit')).toBe('"concurrent";r=1')
    await visitors.enter(url)
    await visitors.refused(url)
    // Another subject has slots of its own.
    await visitors.enter(url, { headers: { 'x-api-key': 'globex' } })
    await inFlight(limiter, 3)
  })

  test('a denied request holds nothing, whichever limit denied it', async () => {
    const limiter = limiterOf({ limit: ['3/min', '2 concurrent'] })
    const url = await start({ limiter, identify: byKey }, { handle: visitors.handle })
    const [first, second] = [await visitors.enter(url), await visitors.enter(url)]
    expect((await visitors.refused(url)).headers.get('retry-after')).toBe('1')
    await inFlight(limiter, 2)
    for (const visit of [first, second]) visit.answer({ ok: true })
    await inFlight(limiter, 0)
    // Neither did the denied one take a unit: one of three is left.
    const third = await visitors.enter(url)
    third.answer({ ok: true })
    await inFlight(limiter, 0)
    const denied = await visitors.refused(url)
    expect(denied.headers.get('ratelimit-limit')).toBe('3')
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(30)
    await inFlight(limiter, 0)
  })

  test('requests one after another need one slot, also by HEAD and if the handler throws', async () => {
    const limiter = limiterOf({ limit: '1 concurrent' })
    const url = await start({ limiter, identify: byKey }, { onError: () => {} })
    for (const [path, method, status] of [
      ['', 'GET', 200],
      ['', 'HEAD', 200],
      ['error', 'GET', 500],
      ['', 'GET', 200],
    ] as const) {
      expect((await fetch(`${url}${path}`, { headers: acme, method })).status).toBe(status)
      await inFlight(limiter, 0)
    }
    expect(await statuses(url, 1)).toEqual([200])
  })

  test('what is not limited takes no slot', async () => {
    const limiter = limiterOf({ plans: { free: '1 concurrent', staff: 'unlimited' } })
    const identify = (req: AnyRequest): object => ({ id: 'acme', plan: byKey(req) })
    const skip = (req: AnyRequest): boolean => req.headers['x-skip'] !== undefined
    const url = await start({ limiter, identify: identify as never, skip }, { handle: visitors.handle })
    await visitors.enter(url, { headers: { 'x-api-key': 'free' } })
    await visitors.enter(url, { headers: { 'x-api-key': 'staff' } })
    await visitors.enter(url, { headers: { 'x-api-key': 'free', 'x-skip': '1' } })
    await visitors.refused(url, { headers: { 'x-api-key': 'free' } })
    expect(limiter.stats().inFlight).toBe(1)
  })
}

function releases({ limiterOf, start, visitors, inFlight }: ConcurrencyPlace): void {
  test('a client that leaves frees its slot, though the handler goes on', async () => {
    const limiter = limiterOf({ limit: '1 concurrent' })
    const url = await start({ limiter, identify: byKey }, { handle: visitors.handle })
    const visit = await visitors.enter(url)
    await visitors.refused(url)
    visit.abort()
    await visitors.enter(url)
    await inFlight(limiter, 1)
    // It answers nobody, and frees no slot that is another's by now.
    visit.answer({ ok: true })
    await visitors.refused(url)
  })

  test('a client that left before the decision holds nothing', async () => {
    const limiter = limiterOf({ limit: '1 concurrent' })
    let decided = 0
    limiter.on('decision', () => void (decided += 1))
    const identify = jest.fn(async (req: AnyRequest) => {
      await whenGone(req)
      return 'acme'
    })
    const url = await start({ limiter, identify })
    const leaving = new AbortController()
    const left = fetch(url, { signal: leaving.signal })
    await eventually(() => expect(identify).toHaveBeenCalledTimes(1))
    leaving.abort()
    await expect(left).rejects.toThrow('abort')
    await eventually(() => expect(decided).toBe(1))
    await inFlight(limiter, 0)
  })

  test('a stream holds its slot to its end', async () => {
    const limiter = limiterOf({ limit: '1 concurrent' })
    const url = await start({ limiter, identify: byKey }, { handle: visitors.handle })
    const visit = await visitors.enter(url)
    const stream = new PassThrough()
    stream.write('one')
    visit.answer(stream)
    const response = await visit.response
    await visitors.refused(url)
    stream.end('two')
    expect(await response.text()).toBe('onetwo')
    await visitors.enter(url)
  })

  test('a stream that its client cancels, or that the server breaks off, frees its slot', async () => {
    const limiter = limiterOf({ limit: '1 concurrent' })
    const url = await start({ limiter, identify: byKey }, { handle: visitors.handle })
    const cancelled = await visitors.enter(url)
    const endless = new PassThrough()
    endless.write('one')
    cancelled.answer(endless)
    await cancelled.response
    cancelled.abort()
    const broken = await visitors.enter(url)
    const other = new PassThrough()
    other.write('one')
    broken.answer(other)
    const response = await broken.response
    await visitors.refused(url)
    broken.raw.destroy()
    await expect(response.text()).rejects.toThrow()
    await visitors.enter(url)
    await inFlight(limiter, 1)
  })
}
