// A promise in what is refused must not end the process: nobody waits for it any more.
import { createHttpLimiter, type HttpAdapter } from '../../src/adapter.js'
import { quiet } from '../../src/base/promises.js'
import { createLimiter, type Limiter, type RateLimitOptions, type Store } from '../../src/index.js'
import { asyncStore } from '../support/stores.js'

const unhandled: unknown[] = []
const note = (reason: unknown): void => void unhandled.push(reason)
beforeAll(() => process.on('unhandledRejection', note))
afterAll(() => process.off('unhandledRejection', note))

let emitted: jest.SpyInstance
beforeEach(() => {
  emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => emitted.mockRestore())

const rejected = (): Promise<never> => Promise.reject(new Error('nobody waits for me'))

/** Node tells of unhandled rejections when the microtasks are done. */
async function unhandledAfter(act: () => unknown): Promise<unknown> {
  unhandled.splice(0)
  let thrown: unknown
  try {
    await act()
  } catch (error) {
    thrown = error
  }
  await new Promise(setImmediate)
  expect(unhandled).toEqual([])
  return thrown
}

const limiter = createLimiter({ plans: { free: '100/min' }, defaultPlan: 'free' })

test.each<[what: string, act: () => unknown, code: string]>([
  ['a list of subjects', () => limiter.consume([rejected(), rejected()] as never), 'SUBJECT'],
  ['a long list', () => limiter.consume(Array.from({ length: 9 }, rejected) as never), 'SUBJECT'],
  ['id and plan', () => limiter.consume({ id: rejected(), plan: rejected() } as never), 'SUBJECT'],
  ['a listed subject', () => limiter.peek(['a', { id: 'b', plan: rejected() }] as never), 'SUBJECT'],
  ['an unknown property', () => limiter.consume({ id: 'a', x: rejected() } as never), 'SUBJECT'],
  ['no id', () => limiter.consume({ x: rejected() } as never), 'SUBJECT'],
  ['a cost', () => limiter.consume('a', { cost: rejected() } as never), 'COST'],
  ['a subject and a cost', () => limiter.consume(rejected() as never, { cost: rejected() } as never), 'COST'],
  ['a context', () => limiter.consume('a', { context: rejected() }), 'CONFIG'],
  ['reset', () => limiter.reset([rejected()] as never), 'SUBJECT'],
  ['forgetPlan', () => limiter.forgetPlan({ id: rejected() } as never), 'SUBJECT'],
  ['refund', () => limiter.refund(rejected() as never), 'DECISION'],
  ['settle', async () => limiter.settle(await limiter.consume('a'), rejected() as never), 'COST'],
])('%s', async (_, act, code) => {
  expect(await unhandledAfter(act)).toMatchObject({ code: `ERR_TOLLGATE_${code}` })
})

test('a promise of another library is silenced by its own then, and getters are not called', () => {
  const then = jest.fn()
  const getter = jest.fn()
  quiet([{ id: { then } }, Object.defineProperty({}, 'id', { get: getter, enumerable: true })])
  expect(then).toHaveBeenCalledTimes(1)
  expect(getter).not.toHaveBeenCalled()
})

test('an async eventContext is refused', async () => {
  const adapter = {
    ip: () => '192.0.2.1',
    method: () => 'GET',
    header: () => undefined,
    hasLeft: () => false,
  }
  const options: RateLimitOptions<object> = { limiter, eventContext: rejected }
  const admit = (): unknown =>
    createHttpLimiter(adapter as unknown as HttpAdapter<object, object>, options).admit({}, {})
  expect(await unhandledAfter(admit)).toMatchObject({
    code: 'ERR_TOLLGATE_CONFIG',
    message: expect.stringContaining('what eventContext returned: got a promise'),
  })
})

test('planOf that gives an object with a promise', async () => {
  const planOf = (): never => ({ plan: rejected() }) as never
  const own = createLimiter({ plans: { free: '1/min' }, defaultPlan: 'free', planOf })
  const errors: unknown[] = []
  own.on('planError', (error) => errors.push(error))
  await unhandledAfter(() => own.consume('a'))
  expect(errors).toHaveLength(1)
})

describe('a store that answers with promises', () => {
  const answers = (): never => [rejected(), rejected()] as never
  const stores: [string, () => Partial<Store>][] = [
    ['asynchronous', () => asyncStore({ consume: async () => answers(), peek: async () => answers() })],
    ['not a list', () => asyncStore({ consume: async () => ({ a: rejected() }) as never })],
    ['synchronous', () => asyncStore({ synchronous: true, consume: answers, peek: answers })],
    ['claims to be synchronous', () => asyncStore({ synchronous: true, consume: rejected })],
  ]
  test.each(stores)('%s', async (_, make) => {
    const own: Limiter = createLimiter({ limit: '5/min', store: make() as Store })
    await unhandledAfter(async () => {
      expect((await own.consume('a')).source).toBe('local')
      await own.peek('a')
      await own.close()
    })
  })

  test('to a refund', async () => {
    const own = createLimiter({ limit: '5/min', store: asyncStore({ refund: async () => answers() }) })
    await unhandledAfter(async () => {
      expect(await own.refund(await own.consume('a'))).toBe(false)
    })
    await own.close()
  })
})
