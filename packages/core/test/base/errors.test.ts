import { toError } from '../../src/adapter.js'
import { ConfigError, StoreError } from '../../src/index.js'
import { reasonOf, show, toStoreError } from '../../src/base/errors.js'

const boom = (): never => {
  throw new Error('boom')
}
const revoked = Proxy.revocable({}, {})
revoked.revoke()
const revokedError = Proxy.revocable(new Error('gone'), {})
revokedError.revoke()

const unreadable: [what: string, value: unknown][] = [
  ['a revoked proxy', revoked.proxy],
  ['a revoked proxy of an error', revokedError.proxy],
  ['a proxy whose traps throw', new Proxy({}, { get: boom, ownKeys: boom, getPrototypeOf: boom })],
  ['an error whose name throws', Object.defineProperty(new Error('x'), 'name', { get: boom })],
  ['an error whose name is no text', Object.assign(new Error('x'), { name: Symbol('x') })],
  ['an error whose name and message are objects', Object.assign(new Error('x'), { name: {}, message: {} })],
  ['an error whose message throws', Object.defineProperty(new Error('x'), 'message', { get: boom })],
  ['an object without a prototype', Object.create(null)],
  ['an object that throws as text', { toString: boom, [Symbol.toPrimitive]: boom }],
]

test.each(unreadable)('%s can be shown in every error', (_, value) => {
  for (const text of [show(value), reasonOf(value), ConfigError.wrong('x', value, 'y').message]) {
    expect(typeof text).toBe('string')
  }
  expect(toError(value)).toBeInstanceOf(Error)
  expect(toStoreError(value)).toBeInstanceOf(StoreError)
})

test.each([
  ['a\nb', "'a?b'"],
  [5, '5'],
  [Symbol('s'), 'Symbol(s)'],
  [[], 'an empty array'],
  [[1], 'an array'],
  [{}, 'an empty object'],
  [{ a: 1, b: 2 }, 'an object with a, b'],
  [boom, 'a function'],
  [Promise.resolve(), 'a promise'],
  [new RangeError('x'), 'RangeError'],
])('%p is shown as %s', (value, text) => {
  expect(show(value)).toBe(text)
})

test('a value that cannot be read is shown as such', () => {
  expect(show(revoked.proxy)).toBe('something that cannot be read')
})

test('a StoreError stays as it is; any other thrown value becomes one', () => {
  const fault = new StoreError('down')
  expect(toStoreError(fault)).toBe(fault)
  const cause = new Error('socket closed')
  expect(toStoreError(cause)).toMatchObject({ message: 'the store failed: socket closed', cause })
})
