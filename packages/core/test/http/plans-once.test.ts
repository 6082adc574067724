import { createHttpLimiter, type HttpAdapter } from '../../src/adapter.js'
import { createLimiter } from '../../src/index.js'

/** Plans that count how often they are read. Compiling reads them once. */
function counted(): { readonly plans: Record<string, string>; readonly reads: () => number } {
  let reads = 0
  const plans = Object.defineProperty({ pro: '100/min' }, 'free', {
    enumerable: true,
    get: () => {
      reads += 1
      return '10/min'
    },
  }) as Record<string, string>
  return { plans, reads: () => reads }
}

const adapter = {} as HttpAdapter<object, object>

test('plans are compiled once, with and without HTTP', () => {
  const [http, identified, bare] = [counted(), counted(), counted()]
  createHttpLimiter(adapter, { plans: http.plans, defaultPlan: 'free' })
  createHttpLimiter(adapter, { plans: identified.plans, identify: () => 'acme' })
  createLimiter({ plans: bare.plans })
  expect([http, identified, bare].map(({ reads }) => reads())).toEqual([1, 1, 1])
})

test('client addresses need a default plan, and the error says so', () => {
  expect(() => createHttpLimiter(adapter, { plans: counted().plans })).toThrow(
    expect.objectContaining({
      path: 'defaultPlan',
      problem: expect.stringContaining('for client addresses, since there is no identify'),
    }),
  )
})
