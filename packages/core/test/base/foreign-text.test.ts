// Texts of other programs in messages and warnings: bounded, on one line, without credentials.
import { inspect } from 'node:util'
import { foreignText } from '../../src/base/show.js'
import { storeErrorOf } from '../../src/stores/redis/wire/decode.js'

test.each([
  ['connect ECONNREFUSED 127.0.0.1:6379', 'connect ECONNREFUSED 127.0.0.1:6379'],
  ['getaddrinfo ENOTFOUND redis://:hidden@db.invalid', 'getaddrinfo ENOTFOUND redis://***@db.invalid'],
  [`lookup of redis://u:hid'd(en x@y@db failed`, 'lookup of redis://***@db failed'],
  ['lookup of user:hidden@db failed', 'lookup of ***@db failed'],
  ['(call to f_1): @user_script:9: OOM', '(call to f_1): @user_script:9: OOM'],
  ['first\nsecond\x1b[31m', 'first?second?[31m'],
])('%j', (text, shown) => {
  expect(foreignText(text)).toBe(shown)
})

test('a text that is cut before its @ shows nothing of the password', () => {
  expect(foreignText(`redis://u:hidden${'x'.repeat(1000)}@db`)).toBe('redis://***')
})

test('a text of a megabyte takes one pass', () => {
  const text = 'x'.repeat(1e6)
  expect(foreignText(text)).toHaveLength(240)
  expect(foreignText(`${text}@${text}`)).toHaveLength(240)
})

test('neither the message nor the cause of a StoreError shows a URL that was given as the host', () => {
  const thrown = Object.assign(new Error('getaddrinfo ENOTFOUND redis://:hidden@db.invalid'), {
    hostname: 'redis://:hidden@db.invalid',
  })
  const error = storeErrorOf(thrown)
  expect(error.message).toContain('redis://***@db.invalid')
  expect(inspect(error, { depth: 9 })).not.toContain('hidden')
})
