// Clients see the `pk` of the RateLimit headers. By hashing all short ids they could find the id in it.
import { createHash } from 'node:crypto'
import { createHttpLimiter, type HttpAdapter } from '../../src/adapter.js'
import { createLimiter, type RateLimitOptions, type Store } from '../../src/index.js'
import { asyncStore } from '../support/stores.js'

const secret = 'a secret that all instances share'

/** The header of one request to a middleware with these options. */
function header(options: Partial<RateLimitOptions<object>>): string {
  const headers: Record<string, string> = {}
  const adapter = {
    framework: 'test',
    method: () => 'GET',
    header: () => undefined,
    ip: () => '127.0.0.1',
    attach: () => {},
    isSent: () => false,
    getHeader: (_: object, name: string) => headers[name],
    setHeader: (_: object, name: string, value: string) => void (headers[name] = value),
  } as unknown as HttpAdapter<object, object>
  const http = createHttpLimiter(adapter, {
    identify: () => '42',
    headers: { partitionKey: true },
    ...options,
  } as RateLimitOptions<object>)
  void http.admit({}, {})
  return headers['RateLimit'] ?? ''
}
const keysOf = (options: Partial<RateLimitOptions<object>>): string[] =>
  [...header(options).matchAll(/;pk=:([\w+/]{12}):/g)].map(([, key = '']) => key)

const unsalted = createHash('sha256').update('id:42').digest().subarray(0, 9).toString('base64')

test('without hashIds, pk is a plain hash', () => {
  expect(keysOf({ limit: '9/min' })).toEqual([unsalted])
})

test('with hashIds, pk is made with the secret, and is the same on every instance', () => {
  const keys = keysOf({ limit: '9/min', hashIds: secret })
  expect(keys).toEqual(keysOf({ limit: '9/min', hashIds: secret }))
  expect(keys).not.toEqual([unsalted])
  expect(keys).not.toEqual(keysOf({ limit: '9/min', hashIds: `${secret}.` }))
  expect(keysOf({ limit: '9/min', hashIds: secret, identify: () => '43' })).not.toEqual(keys)
})

test('pk also uses the secret with a shared limiter, in a group, and for several subjects', () => {
  const own = keysOf({ limit: '9/min', hashIds: secret })
  const limiter = createLimiter({ limit: '9/min', hashIds: secret })
  expect(keysOf({ limiter })).toEqual(own)
  expect(keysOf({ limiter, group: 'search' })).toEqual(own)
  const both = keysOf({ limiter, identify: () => ['42', { id: '43', label: 'user' }] })
  expect([both[0], new Set(both).size]).toEqual([own[0], 2])
})

test('pk is not part of a store key', async () => {
  const keys: string[] = []
  const see = (requests: Parameters<Store['consume']>[0]): Promise<never> => {
    keys.push(...requests.flatMap(({ parts }) => parts.map(({ key }) => key)))
    return Promise.reject(new Error('down'))
  }
  const store = asyncStore({ consume: see, peek: see })
  const [pk = ''] = keysOf({ limit: '9/min', hashIds: secret })
  const limiter = createLimiter({ limit: '9/min', hashIds: secret, store })
  await limiter.consume('42')
  expect(keys).toEqual([expect.stringMatching(/^#[\w-]{43}$/)])
  expect(keys[0]).not.toContain(Buffer.from(pk, 'base64').toString('base64url'))
  await limiter.close()
})
