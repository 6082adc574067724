import { byBearerToken, byJwtClaim } from '../../src/index.js'

const request = (authorization?: string, rest: object = {}): { headers: Record<string, string> } => ({
  headers: authorization === undefined ? {} : { authorization },
  ...rest,
})

describe('byBearerToken', () => {
  test('the id is a hash, the same for the same token', () => {
    const identify = byBearerToken({ plan: (token) => (token === 'abc' ? 'pro' : undefined) })
    const subject = identify(request('Bearer abc'))
    expect(subject).toEqual({ id: expect.stringMatching(/^bearer:[\w-]{43}$/), plan: 'pro' })
    expect(identify(request('bearer   abc '))).toEqual(subject)
    expect(identify(request('Bearer abd'))?.id).not.toBe(subject?.id)
  })

  test.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Basic abc',
    'Bearer a b',
    'Bearer \u0000',
    `Bearer ${'x'.repeat(9000)}`,
  ])('a header of %p is nobody', (authorization) => {
    expect(byBearerToken()(request(authorization))).toBeUndefined()
  })

  test('wrong options are refused', () => {
    expect(() => byBearerToken({ plan: 5 as never })).toThrow('byBearerToken.plan')
    expect(() => byBearerToken({ plans: 'a' } as never)).toThrow('byBearerToken.plans')
  })
})

describe('byJwtClaim', () => {
  test.each([
    ['express-jwt', { auth: { sub: 'acme', tier: 'pro' } }],
    ['@fastify/jwt', { user: { sub: 'acme', tier: 'pro' } }],
    ['koa-jwt', { state: { user: { sub: 'acme', tier: 'pro' } } }],
  ])('reads what %s has verified', (_, verified) => {
    const identify = byJwtClaim('sub', { planClaim: 'tier' })
    expect(identify(request('Bearer e30.e30.sig', verified))).toEqual({ id: 'acme', plan: 'pro' })
  })

  test('never reads a token that nobody has verified, and warns once', () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const identify = byJwtClaim('sub')
    const forged = `Bearer e30.${Buffer.from('{"sub":"acme"}').toString('base64url')}.x`
    expect([identify(request(forged)), identify(request(forged)), identify(request())]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(warn).toHaveBeenCalledTimes(1)
    warn.mockRestore()
  })

  test('a missing claim, or one called like an inherited property, gives no subject; a raw token is an error', () => {
    expect(byJwtClaim('org')(request(undefined, { auth: { sub: 'a' } }))).toBeUndefined()
    expect(byJwtClaim('constructor')(request(undefined, { auth: {} }))).toBeUndefined()
    expect(() => byJwtClaim('sub')(request(undefined, { auth: 'e30.e30.sig' }))).toThrow('got a string')
  })

  test('the option token can read the token from elsewhere', () => {
    const identify = byJwtClaim('sub', { token: (req: { headers: object; claims?: unknown }) => req.claims })
    expect(identify({ headers: {}, claims: { sub: 7 } } as never)).toEqual({ id: 7, plan: undefined })
  })

  test.each([
    ['', {}, 'byJwtClaim(claim)'],
    ['sub', { planClaim: 5 }, 'byJwtClaim.planClaim'],
    ['sub', { token: 'auth' }, 'byJwtClaim.token'],
    ['sub', { plan: 'a' }, 'byJwtClaim.plan'],
    ['sub', null, 'byJwtClaim'],
  ])('%p with %p is refused', (claim, options, path) => {
    expect(() => byJwtClaim(claim, options as never)).toThrow(expect.objectContaining({ path }))
  })
})
