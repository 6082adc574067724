// Addresses on lists, where identify gives an address as the id.
import { createHttpLimiter, type HttpAdapter } from '../../src/adapter.js'
import { byIp, subjectForIp, type RateLimitOptions } from '../../src/index.js'

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
  ['2001:db8::1', subjectForIp('2001:db8::1'), true],
  ['2001:db8::', subjectForIp('2001:db8::1'), false],
  ['2001:db8::/32', { id: '2001:db8:1:2::/64', kind: 'ip' }, true],
  ['2001:db8:1:2::/64', { id: '2001:db8:1:2::/64', kind: 'ip' }, true],
  ['2001:db8:1:2::/64', byIp({ ipv6Prefix: 48 })({ ip: '2001:db8:1:3::1' }), false],
  ['2001:db8:1::', { id: '2001:db8:1::/64', kind: 'ip' }, false],
  ['203.0.113.5', { id: '203.0.113.5', kind: 'id' }, true],
  ['203.0.113.0/24', { id: '203.0.113.5', kind: 'id' }, false],
  ['64:ff9b::/96', '64:ff9b::cb00:7105', true],
  ['64:ff9b::/96', subjectForIp('64:ff9b::203.0.113.5'), true],
  ['64:ff9b::/96', '203.0.113.5', false],
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

const ADDRESSES: [entry: string, address: string, isListed: boolean][] = [
  // The well-known prefix of NAT64 names those who come by it. One address is one client, by whichever way.
  ['64:ff9b::/96', '64:ff9b::203.0.113.5', true],
  ['64:ff9b::/96', '64:FF9B:0:0:0:0:CB00:7105', true],
  ['64:ff9b::/96', '[64:ff9b::cb00:7105]:443', true],
  ['64:ff9b::/32', '64:ff9b::cb00:7105', true],
  ['64:ff9b::cb00:7100/120', '64:ff9b::cb00:7105', true],
  ['64:ff9b::cb00:7100/120', '64:ff9b::cb00:7205', false],
  ['64:ff9b::/96', '203.0.113.5', false],
  ['64:ff9b::/96', '::ffff:203.0.113.5', false],
  ['64:ff9b::cb00:7105', '203.0.113.5', true],
  ['203.0.113.0/24', '64:ff9b::cb00:7105', true],
  ['64:ff9b:1::/48', '64:ff9b:1::cb00:7105', true],
  // Mapped addresses are IPv4 ones, however they are written.
  ['::ffff:0:0/96', '203.0.113.5', true],
  ['::ffff:0:0/96', '::ffff:203.0.113.5', true],
  ['::ffff:0:0/96', '2001:db8::1', false],
  ['::ffff:203.0.113.0/120', '203.0.113.5', true],
  ['::ffff:203.0.113.0/120', '203.0.114.5', false],
  ['::ffff:cb00:7105', '203.0.113.5', true],
  ['0.0.0.0/0', '::ffff:203.0.113.5', true],
  ['0.0.0.0/0', '64:ff9b::203.0.113.5', true],
  ['0.0.0.0/0', '2001:db8::1', false],
  // A network of IPv6 has no IPv4 addresses in it.
  ['::/0', '2001:db8::1', true],
  ['::/0', '64:ff9b::203.0.113.5', true],
  ['::/0', '203.0.113.5', false],
  ['::/0', '::ffff:203.0.113.5', false],
  // Other forms that hold an IPv4 address are IPv6 addresses like any other.
  ['2002::/16', '2002:cb00:7105::1', true],
  ['2001::/32', '2001:0:cb00:7105::', true],
  ['::/96', '::203.0.113.5', true],
  ['203.0.113.5', '::203.0.113.5', false],
  // Zones are of this host.
  ['fe80::/10', 'fe80::1%eth0', true],
  ['fe80::1%eth0', 'fe80::1%eth1', true],
  ['fe80::%eth0/64', 'fe80::1', true],
]

test.each(ADDRESSES)('a list with %s and the client at %s: listed %p', async (entry, address, isListed) => {
  const identify = (): string => 'acme'
  expect(await askFor({ identify, blockList: [entry] }, address)).toBe(isListed ? 'blocked' : undefined)
  expect(await askFor({ identify, allowList: [entry] }, address)).toBe(isListed ? 'listed' : undefined)
})

test.each([
  ['::ffff:10.0.0.0/8', "a network of 96 to 128 bits, or the IPv4 network that is meant: '10.0.0.0/8'"],
  ['[2001:db8::]/32', "an id, an address, or a network such as '10.0.0.0/8'"],
  ['[10.0.0.0]/8', "an id, an address, or a network such as '10.0.0.0/8'"],
])('%s is refused, since it would match nobody', async (entry, expected) => {
  for (const name of ['allowList', 'blockList']) {
    const message = `${name}[0]: got '${entry}', expected ${expected}`
    await expect(askFor({ [name]: [entry] })).rejects.toThrow(message)
  }
})
