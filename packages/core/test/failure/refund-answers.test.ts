import { createLimiter, memoryStore, type Store } from '../../src/index.js'
import { asyncStore } from '../support/stores.js'

const ANSWERS: readonly (readonly [what: string, refund: () => unknown])[] = [
  ['no list', () => 7],
  ['nothing', () => undefined],
  ['an empty list', () => []],
  ['a list of what is neither true nor false', () => ['yes']],
  ['a list of an error', () => [new Error('broken')]],
  ['a list that throws when it is read', () => Object.defineProperty([true], 0, { get: fail })],
  ['what throws', fail],
]

function fail(): never {
  throw new Error('broken')
}

const limiterOn = (store: Store): ReturnType<typeof createLimiter> =>
  createLimiter({ limit: '5/min', store, warnings: false })

describe.each(ANSWERS)("a user's own store that answers a refund with %s", (_, answer) => {
  test('as a promise: the refund resolves to false and does not reject', async () => {
    const limiter = limiterOn(asyncStore({ refund: async () => answer() as never }))
    expect(await limiter.refund(await limiter.consume('acme'))).toBe(false)
    expect((await limiter.consume('acme')).allowed).toBe(true)
    await limiter.close()
  })

  test('as a value: the same', async () => {
    const limiter = limiterOn(Object.assign(memoryStore(), { refund: () => answer() as never }))
    expect(await limiter.refund(await limiter.consume('acme'))).toBe(false)
    expect((await limiter.consume('acme')).allowed).toBe(true)
    await limiter.close()
  })
})

test('a request is answered even if reading the list of outcomes throws', async () => {
  const consume = async (): Promise<never> => ANSWERS[5]?.[1]() as never
  const limiter = limiterOn(asyncStore({ consume }))
  expect(await limiter.consume('acme')).toMatchObject({ allowed: true, source: 'local' })
  expect(limiter.stats().storeErrors).toBe(1)
  await limiter.close()
})
