// When an `identify` that is asked too early is told, and how often it is asked for that at most. Over real HTTP the contract
// of adapters tries it: packages/testing/src/contracts/requests/identity-contract.ts.
import { createHttpLimiter, watchIdentity, type ResponseEnd } from '../../src/adapter.js'
import { byHeader, byIp, createLimiter, type RateLimitOptions } from '../../src/index.js'
import { httpAdapter } from '../support/http-adapter.js'

interface Req {
  readonly originalUrl: string
  readonly headers: Readonly<Record<string, string>>
  /** Who it turns out to be, once it is over. */
  readonly user?: unknown
  isOver?: boolean
}
/** How its response ends. */
type Res = Partial<ResponseEnd>

const adapter = httpAdapter<Req, Res>({
  onEnd: (res, listener) =>
    void ends.push(() => listener({ status: 200, isAborted: false, ...res } as ResponseEnd)),
})
let ends: (() => void)[] = []
const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
// One of five requests is drawn: here the fifth.
const { random } = Math
const drawn = jest.spyOn(Math, 'random')
const rejected = jest.fn()
beforeAll(() => void process.on('unhandledRejection', rejected))
beforeEach(() => {
  ends = []
  warn.mockClear()
  drawn.mockReturnValue(0.99)
})
afterAll(() => {
  warn.mockRestore()
  drawn.mockRestore()
  process.off('unhandledRejection', rejected)
  expect(rejected).not.toHaveBeenCalled()
})

const LATE = 'TOLLGATE_LATE_IDENTITY'
const told = (): unknown[] =>
  warn.mock.calls.map(([, options]) => (options as unknown as { code: string }).code)
const late = (req: Req): unknown => (req.isOver ? req.user : undefined)

/** Sends a request to a limiter and ends its response. */
type Send = (url: string, user?: unknown, res?: Res) => Promise<void>

function sender(identify: (req: Req) => unknown, options: object = {}): { send: Send; asked: jest.Mock } {
  const asked = jest.fn(identify)
  const limit = 'limiter' in options ? {} : { limit: '100000/min' }
  const all = { ...limit, identify: asked, ...options } as RateLimitOptions<Req, Res>
  const http = createHttpLimiter(adapter, all)
  const send: Send = async (url, user, res = {}) => {
    const req: Req = { originalUrl: url, headers: {}, user }
    await http.admit(req, res)
    req.isOver = true
    for (const end of ends.splice(0)) end()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { send, asked }
}

/** Sends five requests for each sample, of which the fifth is the sample. */
const samples = async (
  send: Send,
  all: readonly (readonly [url: string, user?: unknown, res?: Res])[],
): Promise<void> => {
  for (const sample of all) {
    for (let i = 1; i < 5; i += 1) await send('/', undefined)
    await send(...sample)
  }
}

const named = (...urls: string[]): [string, string][] => urls.map((url) => [url, 'acme'])
const nobody = (count: number): [string][] => Array.from({ length: count }, () => ['/'])

test.each<[what: string, isLate: boolean, all: [url: string, user?: unknown, res?: Res][]]>([
  ['all of three routes', true, named(...'abcabcabca'.split(''))],
  ['six of ten, over three routes', true, [...named('/a', '/a', '/b', '/b', '/c', '/a'), ...nobody(4)]],
  [
    'an id that is a subject',
    true,
    [['/a', { id: 7 }], ['/b', { id: 7 }], ...named(...'cabcabca'.split(''))],
  ],
  [
    'a list with a user behind an address',
    true,
    named(...'abcabcabc'.split('')).concat([['/c', [undefined, 'acme'] as never]]),
  ],
  ['nine samples', false, named(...'abcabcabc'.split(''))],
  ['five of ten', false, [...named('/a', '/b', '/c', '/a', '/b'), ...nobody(5)]],
  ['one route', false, named(...Array<string>(10).fill('/login'))],
  ['two routes', false, named(...'ababababab'.split(''))],
  ['one route with more than half, such as to log in', false, named(...'aaaaaabcde'.split(''))],
  [
    'one route with ids in it',
    false,
    named(...Array.from({ length: 10 }, (_, i) => `/items/${i}/x?y=${'abcdefghij'[i]}`)),
  ],
  [
    'one route with long parts',
    false,
    named(...'abcdefghij'.split('').map((one) => `/login/${one.repeat(21)}`)),
  ],
  ['addresses', false, 'abcabcabca'.split('').map((url) => [url, { id: '192.0.2.1', kind: 'ip' }])],
  ['what is no subject', false, 'abcabcabca'.split('').map((url) => [url, { name: 'acme' }])],
  [
    'a list with a promise that rejects',
    false,
    'abcabcabca'.split('').map((url) => [url, [Promise.reject(new Error('no'))]]),
  ],
  ['denied requests', false, 'abcabcabca'.split('').map((url) => [url, 'acme', { status: 429 }])],
  ['failed requests', false, 'abcabcabca'.split('').map((url) => [url, 'acme', { status: 401 }])],
  ['aborted requests', false, 'abcabcabca'.split('').map((url) => [url, 'acme', { isAborted: true }])],
  [
    'requests that nothing answered',
    false,
    'abcabcabca'.split('').map((url) => [url, 'acme', { status: undefined as never }]),
  ],
])('%s: %s', async (_, isLate, all) => {
  const { send } = sender(late)
  await samples(send, all)
  expect(told()).toEqual(isLate ? [LATE] : [])
})

test.each([[5], [10], [15]])('%i routes that a client calls in turn', async (count) => {
  drawn.mockImplementation(random)
  const { send, asked } = sender(late)
  for (let i = 0; i < 250; i += 1) await send(`/${'abcdefghijklmnopqrstuvwxyz'[i % count]}`, 'acme')
  expect(told()).toEqual([LATE])
  expect(asked.mock.calls.length).toBeLessThanOrEqual(250 + 50)
})

test('the last ten count, so that many visitors at first do not hide it', async () => {
  const { send, asked } = sender(late)
  await samples(send, [...nobody(20), ...named(...'abcabc'.split(''))])
  expect(told()).toEqual([LATE])
  const count = asked.mock.calls.length
  await samples(send, named(...'abcabcabca'.split('')))
  expect([asked.mock.calls.length - count, told()]).toEqual([50, [LATE]])
})

test('it is asked again for 50 requests in all, one in five, however many there are and whenever they end', async () => {
  const { send, asked } = sender(late)
  await samples(send, nobody(49))
  expect(asked).toHaveBeenCalledTimes(49 * 6)
  for (let i = 0; i < 500; i += 1) await send('/')
  expect(asked).toHaveBeenCalledTimes(49 * 5 + 500 + 50)
})

test('requests for which somebody is named are not asked again, nor do they end the watch', async () => {
  const identify = (req: Req): unknown => (req.user === 'key' ? 'key' : late(req))
  const { send, asked } = sender(identify)
  for (let i = 0; i < 100; i += 1) await send('/', 'key')
  expect(asked).toHaveBeenCalledTimes(100)
  await samples(send, named(...'abcabcabca'.split('')))
  expect(told()).toEqual([LATE])
})

test('a list with somebody behind an address is not asked again', async () => {
  const { send, asked } = sender(() => [{ id: '192.0.2.7', kind: 'ip' }, 'acme'])
  for (let i = 0; i < 100; i += 1) await send('/')
  expect(asked).toHaveBeenCalledTimes(100)
})

test('places with one identify share its watch, and the number of looks', async () => {
  const asked = jest.fn(() => undefined)
  const limiter = createLimiter({ limit: '100000/min' })
  const http = createHttpLimiter(adapter, { limiter, identify: asked })
  const places = [
    http,
    http.route({ cost: 2 }),
    createHttpLimiter(adapter, { limiter, identify: asked, group: 'a' }),
  ]
  for (let i = 0; i < 600; i += 1) await places[i % 3]?.admit({ originalUrl: '/', headers: {} }, {})
  expect(ends).toHaveLength(50)
})

test.each<[what: string, options: object]>([
  ['by address', { identify: byIp() }],
  ['by nothing', { identify: undefined }],
  ['with warnings: false', { warnings: false }],
  ['a limiter without warnings', { limiter: createLimiter({ limit: '5000/min', warnings: false }) }],
])('%s: there is nothing to look at', async (_, options) => {
  const { send } = sender(() => undefined, options)
  const onEnd = jest.spyOn(adapter, 'onEnd')
  for (let i = 0; i < 1010; i += 1) await send('/')
  expect([onEnd.mock.calls.length, told()]).toEqual([0, []])
  onEnd.mockRestore()
})

describe('an identify that never gave anything', () => {
  const many = async (send: Send, count: number, user?: unknown): Promise<void> => {
    for (let i = 0; i < count; i += 1) await send('/', user)
  }

  test('is told after a thousand requests, once', async () => {
    const { send } = sender(byHeader('x-api-key') as (req: Req) => unknown)
    await many(send, 999)
    expect(told()).toEqual([])
    await many(send, 1500)
    expect(told()).toEqual(['TOLLGATE_NO_IDENTITY'])
    expect(String(warn.mock.calls[0]?.[0])).toContain('identify returned nothing for its first 1000 requests')
  })

  test.each<[gave: unknown]>([['acme'], [{ id: '192.0.2.7', kind: 'ip' }]])(
    'not after it gave %p once',
    async (gave) => {
      const { send } = sender(({ user }) => user)
      await many(send, 500)
      await many(send, 1, gave)
      await many(send, 1500)
      expect(told()).toEqual([])
    },
  )

  test('not where it was told that it is late', async () => {
    const { send } = sender(late)
    await samples(send, named(...'abcabcabca'.split('')))
    await many(send, 1500)
    expect(told()).toEqual([LATE])
  })
})

test('an adapter that looks at a better moment: nothing is looked at here, and only one of the two warns', async () => {
  const limiter = createLimiter({ limit: '5000/min' })
  const { send, asked } = sender(late, { limiter })
  const watch = watchIdentity(adapter, asked as never, limiter)
  watch?.lookElsewhere()
  await samples(send, named(...'abcabcabca'.split('')))
  expect([asked.mock.calls.length, told()]).toEqual([50, []])
  watch?.isLate('in this stage')
  watch?.isLate('in this stage')
  for (let i = 0; i < 1000; i += 1) await send('/')
  expect(warn.mock.calls.map(([text]) => text)).toEqual(['in this stage'])
})

test('a response without events, and requests that cannot be read any more', async () => {
  const onEnd = jest.spyOn(adapter, 'onEnd').mockImplementation(() => {
    throw new Error('a mock')
  })
  const { send, asked } = sender(late)
  await samples(send, named(...'abcabcabca'.split('')))
  expect([asked.mock.calls.length, told()]).toEqual([50, []])
  onEnd.mockRestore()
  const other = sender(late)
  const method = jest.spyOn(adapter, 'method')
  for (let i = 1; i <= 50; i += 1) {
    if (i % 5 === 0)
      method.mockReturnValueOnce('GET').mockImplementationOnce(() => {
        throw new Error('recycled')
      })
    await other.send(`/${i}`, 'acme')
  }
  method.mockRestore()
  expect([other.asked.mock.calls.length, told()]).toEqual([60, []])
})
