// An id that is an IP address is the client at that address, wherever a subject is given.
import { byIp, createLimiter, subjectForIp, type Limiter, type LimiterOptions } from '../../src/index.js'
import { isAddress } from '../../src/requests/subject/address.js'

let emitted: jest.SpyInstance
beforeEach(() => {
  emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => emitted.mockRestore())

const limiterOf = (options: Partial<LimiterOptions> = {}): Limiter =>
  createLimiter({
    plans: { free: '3/min', pro: '50/min' },
    defaultPlan: 'free',
    ...options,
  } as LimiterOptions)
const left = async (limiter: Limiter, ...ids: Parameters<Limiter['peek']>): Promise<unknown> =>
  (await limiter.peek(...ids)).limits[0]?.remaining

test('all addresses of an IPv6 network are one subject, as a text and as an object, and as subjectForIp has it', async () => {
  const limiter = limiterOf()
  await limiter.consume('2001:db8:1:2::1')
  await limiter.consume({ id: '2001:DB8:1:2:ffff::9' })
  const decision = await limiter.consume('2001:db8:1:2:a:b:c:d%eth0')
  expect(decision.subject).toEqual({ id: '2001:db8:1:2::/64', kind: 'ip' })
  expect([decision.allowed, (await limiter.consume(subjectForIp('2001:db8:1:2::5'))).allowed]).toEqual([
    true,
    false,
  ])
  expect(await left(limiter, '2001:db8:1:3::1')).toBe(3)
  await limiter.reset('2001:db8:1:2::7')
  expect(await left(limiter, '2001:db8:1:2::1')).toBe(3)
})

test('an IPv4 address is the same in every spelling; with kind: id a text stays what it is', async () => {
  const limiter = limiterOf()
  await limiter.consume('203.0.113.7')
  await limiter.consume('::ffff:203.0.113.7')
  await limiter.scope({ group: 'g' }).consume('203.0.113.7')
  expect(await left(limiter, subjectForIp('203.0.113.7'))).toBe(1)
  await limiter.consume({ id: '203.0.113.7', kind: 'id' })
  await limiter.consume({ id: '2001:db8::1', kind: 'id' })
  expect(await left(limiter, subjectForIp('203.0.113.7'))).toBe(1)
  expect(await left(limiter, { id: '203.0.113.7', kind: 'id' })).toBe(2)
  expect(await left(limiter, { id: '2001:db8::2', kind: 'id' })).toBe(3)
})

test('planOf is asked for the id as it was written, each for itself, and forgets by it', async () => {
  const plans: Record<string, string> = {
    '203.0.113.7': 'pro',
    '::ffff:192.0.2.9': 'pro',
    '2001:db8::2': 'pro',
  }
  const asked: unknown[] = []
  const limiter = limiterOf({
    planOf: (subject) => {
      asked.push([subject.id, subject.kind])
      return plans[subject.id]
    },
  })
  const planOf = async (id: string): Promise<string> => (await limiter.consume(id)).plan
  const ids = [...Object.keys(plans), '2001:db8::1']
  expect(await Promise.all(ids.map(planOf))).toEqual(['pro', 'pro', 'pro', 'free'])
  expect(asked).toEqual(ids.map((id) => [id, undefined]))
  plans['203.0.113.7'] = 'free'
  limiter.forgetPlan('203.0.113.7')
  expect(await planOf('203.0.113.7')).toBe('free')
  expect((await limiter.consume({ id: '203.0.113.7', plan: 'pro' })).plan).toBe('pro')
  // Nobody asks for what is known to be an address.
  asked.splice(0)
  await limiter.consume(subjectForIp('198.51.100.1'))
  expect(asked).toEqual([])
})

test('is said once a limiter, with what to type; not of addresses that are given as such', async () => {
  const limiter = limiterOf()
  await limiter.consume([subjectForIp('203.0.113.7'), { id: '203.0.113.8', kind: 'id' }])
  expect(emitted).not.toHaveBeenCalled()
  for (const id of ['203.0.113.7', '2001:db8::1']) await limiter.consume(['acme', id])
  expect(emitted.mock.calls).toEqual([
    [expect.stringContaining('identify: byIp()'), { type: 'TollgateWarning', code: 'TOLLGATE_ADDRESS' }],
  ])
  await limiterOf({ warnings: false }).consume('203.0.113.7')
  expect(emitted).toHaveBeenCalledTimes(1)
})

test.each([
  ['203.0.113.7', true],
  ['::', true],
  ['::1', true],
  ['ABCD::1', true],
  ['fe80::1%eth0', true],
  ['::ffff:1.2.3.4', true],
  ['', false],
  ['acme', false],
  ['7', false],
  ['1.2.3', false],
  ['1.2.3.4:80', false],
  ['a:b', false],
  ['10.0.0.0/8', false],
  ['2001:db8::/64', false],
  ['0.5', false],
  ['x'.repeat(1e6), false],
  [`${'1:'.repeat(1e5)}1`, false],
])('%.30p is an address: %p', (text, expected) => {
  expect(isAddress(text)).toBe(expected)
})

describe('with kind: ip', () => {
  test('an address counts as subjectForIp has it, and without a word', async () => {
    const limiter = limiterOf()
    for (const id of ['2001:db8::1', '2001:DB8::2%eth0', '[2001:db8::3]:443']) {
      const { subject } = await limiter.consume({ id, kind: 'ip' })
      expect(subject).toEqual({ id: '2001:db8:0:0::/64', kind: 'ip' })
    }
    expect((await limiter.consume({ id: '2001:db8::4', kind: 'ip' })).allowed).toBe(false)
    await limiter.consume({ id: '::ffff:192.0.2.1', kind: 'ip', plan: 'pro' })
    expect(await left(limiter, subjectForIp('192.0.2.1'))).toBe(2)
    expect(emitted).not.toHaveBeenCalled()
  })

  test.each(['2001:db8::/64', '2001:db8:1::/48', '192.0.2.1', '::1', 'unknown', '/run/app.sock'])(
    '%s stays as it is',
    async (id) => {
      expect((await limiterOf().consume({ id, kind: 'ip' })).subject).toEqual({ id, kind: 'ip' })
    },
  )

  test('byIp keeps its own prefix', async () => {
    const limiter = limiterOf()
    const subject = byIp({ ipv6Prefix: 48 })({ ip: '2001:db8:1:2::3' })
    expect((await limiter.consume(subject)).subject.id).toBe('2001:db8:1::/48')
  })
})

test('an address with a zone of any length or kind is still that client', async () => {
  const limiter = limiterOf()
  for (const zone of ['a', 'b'.repeat(100), 'c'.repeat(1e5), '%', ' d']) {
    const { subject } = await limiter.consume(`2001:db8::1%${zone}`)
    expect(subject).toEqual({ id: '2001:db8:0:0::/64', kind: 'ip' })
  }
})
