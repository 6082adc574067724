// `refundWhen` is asked once for a request, also where its client leaves while a route asks for more.
import { eventually } from '@tollgate/testing'
import { createHttpLimiter, type ResponseEnd } from '../../src/adapter.js'
import { createLimiter, memoryStore } from '../../src/index.js'
import { httpAdapter } from '../support/http-adapter.js'
import { asyncStore } from '../support/stores.js'

interface Res {
  readonly ends: ((end: ResponseEnd) => void)[]
}
const adapter = httpAdapter<object, Res>({ onEnd: (res, listener) => void res.ends.push(listener) })
const LEFT = { status: undefined, isAborted: true } as unknown as ResponseEnd

test.each([
  ['asks for more', 10],
  ['asks for too much', 200],
  ['asks for nothing more', 1],
])('its client leaves while a route %s', async (_, cost) => {
  const inner = memoryStore()
  let answer: (() => void) | undefined
  let isHeld = false
  const store = asyncStore(
    {
      consume: async (batch) => {
        if (isHeld) await new Promise<void>((resolve) => (answer = resolve))
        isHeld = false
        return inner.consume(batch)
      },
    },
    inner,
  )
  const limiter = createLimiter({ limit: '100/min', store, deadlineMs: 20_000, local: { instances: 1 } })
  const refundWhen = jest.fn(async () => true)
  const http = createHttpLimiter<object, Res>(adapter, { limiter, identify: () => 'acme', refundWhen })
  const route = http.route({ cost })
  const [req, res]: [object, Res] = [{}, { ends: [] }]
  expect(await http.admit(req, res)).toBe(true)
  isHeld = cost > 1
  const going = route.admit(req, res)
  if (isHeld) await eventually(() => expect(answer).toBeDefined())
  for (const end of res.ends) end(LEFT)
  answer?.()
  await going
  await eventually(async () => expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(100))
  expect(refundWhen).toHaveBeenCalledTimes(cost > 100 ? 0 : 1)
  await limiter.close()
})
