import { needOptions } from '../../src/base/options.js'
import { createLimiter } from '../../src/index.js'

const fail = (): never => {
  throw new Error('trap')
}
const revoked = Proxy.revocable({}, {})
revoked.revoke()

test.each<[string, object]>([
  ['throws when it is read', new Proxy({}, { get: fail })],
  ['throws when its class is read', new Proxy({}, { getPrototypeOf: fail })],
  ['was revoked', revoked.proxy],
])('options that are a proxy which %s are refused', (_, options) => {
  const refusal = expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG' }) as Error
  expect(() => needOptions(options, ['limit'])).toThrow(refusal)
  expect(() => createLimiter(options as never)).toThrow(refusal)
  expect(() => createLimiter({ plans: options as never })).toThrow(refusal)
})
