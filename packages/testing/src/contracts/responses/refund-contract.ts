import { connect } from 'node:net'
import type { Limiter, Store } from '@tollgate/core'
import { eventually } from '../../eventually.ts'
import type { AnyRequest, Serve } from '../adapter-contract.ts'
import { httpBench, whenGone } from '../http-bench.ts'

const byKey = (req: AnyRequest): string => String(req.headers['x-api-key'] ?? '')
const acme = { 'x-api-key': 'acme' }

/** Refunds when a response is over, and which clients count as having left. */
export function refundContract(name: string, serve: Serve, makeStore: () => Store | undefined): void {
  describe(`refund contract: ${name}`, () => {
    const { limiterOf, start, statuses } = httpBench(serve, makeStore, { headers: acme })
    const remaining = async (limiter: Limiter, id = 'acme'): Promise<number | undefined> =>
      (await limiter.peek(id)).limits[0]?.remaining
    const becomes = (limiter: Limiter, expected: number): Promise<void> =>
      eventually(async () => expect(await remaining(limiter)).toBe(expected))
    /** An identify that resolves only once the client has left. */
    const lateIdentify = (): jest.Mock<Promise<string>, [AnyRequest]> =>
      jest.fn(async (req: AnyRequest) => {
        await whenGone(req)
        return 'acme'
      })

    test('units go back once when refundWhen says so', async () => {
      const limiter = limiterOf({ limit: '5/min' })
      const refundWhen = jest.fn(({ status = 0 }: { status: number | undefined }) => status >= 500)
      const url = await start({ limiter, identify: byKey, refundWhen })
      await fetch(`${url}error`, { headers: acme })
      await becomes(limiter, 5)
      await fetch(url, { headers: acme })
      // Both responses are over by then; only the first gave its unit back.
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(2))
      expect(await remaining(limiter)).toBe(4)
      expect(refundWhen.mock.calls.map(([end]) => end)).toEqual([
        { status: 500, isAborted: false },
        { status: 200, isAborted: false },
      ])
    })

    test('refundWhen also works for a client that left before the decision', async () => {
      const limiter = limiterOf({ limit: '5/min' })
      const refundWhen = jest.fn(({ isAborted }: { isAborted: boolean }) => isAborted)
      const identify = lateIdentify()
      const url = await start({ limiter, identify, refundWhen })
      const abort = new AbortController()
      const left = fetch(url, { signal: abort.signal })
      await eventually(() => expect(identify).toHaveBeenCalledTimes(1))
      abort.abort()
      await expect(left).rejects.toThrow('abort')
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(1))
      await becomes(limiter, 5)
      expect(refundWhen.mock.results).toEqual([{ type: 'return', value: true }])
    })

    test('refundWhen also works for every pipelined request of a client that left', async () => {
      const limiter = limiterOf({ limit: '5/min' })
      const refundWhen = jest.fn(({ isAborted }: { isAborted: boolean }) => isAborted)
      const identify = lateIdentify()
      const url = await start({ limiter, identify, refundWhen })
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3))
      // Only once all three have arrived is it certain that the client leaves all of them.
      await eventually(() => expect(identify).toHaveBeenCalledTimes(3))
      socket.destroy()
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(3))
      await becomes(limiter, 5)
      expect(refundWhen.mock.results).toEqual(Array(3).fill({ type: 'return', value: true }))
    })

    test('refundWhen also works for responses held up behind an earlier one when the client left', async () => {
      const limiter = limiterOf({ limit: '5/min' })
      const refundWhen = jest.fn(({ isAborted }: { isAborted: boolean }) => isAborted)
      const late = lateIdentify()
      let arrived = 0
      const identify = (req: AnyRequest): Promise<string> | string =>
        (arrived += 1) === 1 ? late(req) : 'acme'
      const url = await start({ limiter, identify, refundWhen })
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3))
      // Responses go out in the order of the requests, so these two wait for the first.
      await eventually(() => expect(limiter.stats().decisions.store.allowed).toBe(2))
      expect(refundWhen).not.toHaveBeenCalled()
      socket.destroy()
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(3))
      await becomes(limiter, 5)
      expect(refundWhen.mock.results).toEqual(Array(3).fill({ type: 'return', value: true }))
    })

    test('a refundWhen that throws causes a warning, and no request fails', async () => {
      const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
      const limiter = limiterOf({ limit: '5/min' })
      const refundWhen = jest.fn(() => Promise.reject(new Error('no')))
      const url = await start({ limiter, identify: byKey, refundWhen })
      expect(await statuses(url, 2)).toEqual([200, 200])
      await eventually(() => expect(refundWhen).toHaveBeenCalledTimes(2))
      await eventually(() => expect(warn).toHaveBeenCalled())
      expect(await remaining(limiter)).toBe(3)
      expect(String(warn.mock.calls[0]?.[0])).toContain('refundWhen threw: no')
      warn.mockRestore()
    })
  })
}
