import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import type { Limiter, Store } from '@tollgate/core'
import type { ResponseEnd } from '@tollgate/core/adapter'
import { eventually } from '../../eventually.ts'
import type { AnyRequest, Serve } from '../serve.ts'
import { httpBench, whenGone } from '../http-bench.ts'
import { Visitors } from '../requests/visitors.ts'

const UNANSWERED = { status: undefined, isAborted: true }

/** How a response ended, as `refundWhen` gets it. */
export type Ended = jest.Mock<boolean, [ResponseEnd]>

/** The ends that it got. */
export function endsOf(refundWhen: Ended): unknown[] {
  return refundWhen.mock.calls.map(([end]) => end)
}

/** The status with which a response ended, and that there is none where the client got none. */
export function endContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`end contract: ${name}`, () => {
    const { limiterOf, start } = httpBench(serve, makeStore)
    const identify = (): string => 'acme'
    const visitors = new Visitors()
    /** Frameworks preset a status, such as 404. A client that leaves must not be paid for it. */
    const paysFor404 = (): Ended => jest.fn(({ status }) => status === 404)
    const remaining = async (limiter: Limiter): Promise<number | undefined> =>
      (await limiter.peek('acme')).limits[0]?.remaining

    test('clients that leave before an answer get nothing back for it, by a status that nobody sent', async () => {
      const refundWhen = paysFor404()
      const url = await start({ limit: '3/min', identify, refundWhen }, { handle: visitors.handle })
      const visits = []
      for (let left = 1; left <= 3; left += 1) {
        const visit = await visitors.enter(url)
        visit.abort()
        visits.push(visit)
        await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(left))
      }
      expect(endsOf(refundWhen)).toEqual(Array(3).fill(UNANSWERED))
      await visitors.refused(url)
      // What their handlers answer later reaches nobody.
      for (const visit of visits) visit.answer({ ok: true })
      await visitors.refused(url)
      expect(refundWhen).toHaveBeenCalledTimes(3)
    })

    test('an error that a handler throws once its client has left is no answer', async () => {
      const refundWhen = paysFor404()
      const limiter = limiterOf({ limit: '3/min' })
      const onHandled = jest.fn()
      const handle = async (req: AnyRequest): Promise<undefined> => {
        await whenGone(req)
        throw new Error('too late')
      }
      const rest = { handle, onHandled, onError: (): void => {} }
      const url = await start({ limiter, identify, refundWhen }, rest)
      const leaving = new AbortController()
      const left = fetch(url, { signal: leaving.signal })
      await eventually(() => expect(onHandled).toHaveBeenCalledTimes(1))
      leaving.abort()
      await expect(left).rejects.toThrow('abort')
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(1))
      expect([endsOf(refundWhen), await remaining(limiter)]).toEqual([[UNANSWERED], 2])
    })

    test('a client that leaves while it is decided gets no status either', async () => {
      const refundWhen = paysFor404()
      const limiter = limiterOf({ limit: '3/min' })
      const late = jest.fn(async (req: AnyRequest) => {
        await whenGone(req)
        return 'acme'
      })
      const url = await start({ limiter, identify: late, refundWhen }, { onError: () => {} })
      const leaving = new AbortController()
      const left = fetch(url, { signal: leaving.signal, method: 'HEAD' })
      await eventually(() => expect(late).toHaveBeenCalledTimes(1))
      leaving.abort()
      await expect(left).rejects.toThrow('abort')
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(1))
      expect([endsOf(refundWhen), await remaining(limiter)]).toEqual([[UNANSWERED], 2])
    })

    test('an answer has its status: sent to its end, by HEAD, or cut off in the middle of its body', async () => {
      const refundWhen = paysFor404()
      const url = await start({ limit: '9/min', identify, refundWhen }, { handle: visitors.handle })
      const whole = await visitors.enter(url)
      whole.answer({ ok: true })
      await whole.response
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(1))
      const head = await visitors.enter(url, { method: 'HEAD' })
      head.answer({ ok: true })
      await head.response
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(2))
      const cut = await visitors.enter(url)
      const stream = new PassThrough()
      stream.write('one')
      cut.answer(stream)
      await cut.response
      cut.abort()
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(3))
      expect(endsOf(refundWhen)).toEqual([
        { status: 200, isAborted: false },
        { status: 200, isAborted: false },
        { status: 200, isAborted: true },
      ])
    })

    test('of pipelined requests only those that were answered have a status', async () => {
      const refundWhen = paysFor404()
      const limiter = limiterOf({ limit: '9/min' })
      const url = await start({ limiter, identify, refundWhen }, { handle: visitors.handle })
      const first = jest.fn()
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.on('error', () => {})
      socket.once('data', first)
      const all = [visitors.expected(), visitors.expected(), visitors.expected()]
      socket.write(all.map(({ id }) => `GET / HTTP/1.1\r\nHost: x\r\nX-Visit: ${id}\r\n\r\n`).join(''))
      const [one] = await Promise.all(all.map(({ reached }) => reached))
      one?.answer({ ok: true })
      await eventually(() => expect(first).toHaveBeenCalledTimes(1))
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(1))
      socket.destroy()
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(3))
      expect(endsOf(refundWhen)).toEqual([{ status: 200, isAborted: false }, UNANSWERED, UNANSWERED])
      expect(await remaining(limiter)).toBe(6)
    })
  })
}
