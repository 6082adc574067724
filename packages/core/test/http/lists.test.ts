// Addresses on lists, where identify gives an address as the id.
import { createHttpLimiter, type HttpAdapter } from '../../src/adapter.js'
import { byIp, subjectOfIp, type RateLimitOptions } from '../../src/index.js'

let emitted: jest.SpyInstance
beforeEach(() => {
  emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => emitted.mockRestore())

interface Req {
  readonly ip: string
  decision?: { readonly reason: string | undefined } | undefined
}

const adapter = {
  ip: ({ ip }: Req) => ip,
  method: () => 'GET',
  header: () => undefined,
  hasLeft: () => false,
  isSent: () => true,
  attach: (req: Req, decision: Req['decision']) => void (req.decision = decision),
} as unknown as HttpAdapter<Req, object>

/** `listed`: let through without a decision; else the reason of the decision. */
async function askFor(options: Partial<RateLimitOptions<Req>>, ip = '192.0.2.1'): Promise<unknown> {
  const limit = createHttpLimiter<Req, object>(adapter, { limit: '1/min', ...options } as never)
  const req: Req = { ip }
  await limit.admit(req, {})
  await limit.limiter.close()
  return req.decision === undefined ? 'listed' : req.decision.reason
}

const SUBJECTS: [entry: string, id: unknown, isBlocked: boolean][] = [
  ['203.0.113.5', '203.0.113.5', true],
  ['203.0.113.0/24', { id: '203.0.113.5' }, true],
  ['203.0.113.5', ['acme', '::ffff:203.0.113.5'], true],
  ['203.0.113.5', '203.0.113.6', false],
  ['2001:db8::/32', '2001:db8::1', true],
  ['2001:db8::1', '2001:db8::1', true],
  ['2001:db8::1', '2001:db8::2', false],
  ['2001:db8::1', { id: '2001:db8::1', kind: 'ip' }, true],
  ['2001:db8::1', subjectOfIp('2001:db8::1'), true],
  ['2001:db8::', subjectOfIp('2001:db8::1'), false],
  ['2001:db8::/32', { id: '2001:db8:1:2::/64', kind: 'ip' }, true],
  ['2001:db8:1:2::/64', { id: '2001:db8:1:2::/64', kind: 'ip' }, true],
  ['2001:db8:1:2::/64', byIp({ ipv6Prefix: 48 })({ ip: '2001:db8:1:3::1' }), false],
  ['2001:db8:1::', { id: '2001:db8:1::/64', kind: 'ip' }, false],
  ['203.0.113.5', { id: '203.0.113.5', kind: 'id' }, true],
  ['203.0.113.0/24', { id: '203.0.113.5', kind: 'id' }, false],
]

test.each(SUBJECTS)('blockList: %s and the subject %j: blocked %p', async (entry, id, isBlocked) => {
  const options = { identify: () => id as never, blockList: [entry] }
  expect(await askFor(options)).toBe(isBlocked ? 'blocked' : undefined)
})

test.each(SUBJECTS)('allowList: %s is never matched by the subject %j', async (entry, id) => {
  expect(await askFor({ identify: () => id as never, allowList: [entry] })).toBeUndefined()
})

test('both lists match the address that the framework tells', async () => {
  const identify = (): string => 'acme'
  expect(await askFor({ identify, blockList: ['203.0.113.0/24'] }, '203.0.113.5')).toBe('blocked')
  expect(await askFor({ identify, allowList: ['203.0.113.0/24'] }, '203.0.113.5')).toBe('listed')
  expect(await askFor({ identify, allowList: ['acme'] })).toBe('listed')
})
