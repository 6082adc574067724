// Every spelling of a credential gives the same subject, and no secret leaves the process.
import { createHmac, createHash } from 'node:crypto'
import { byBearerToken, byHeader, createLimiter, type Decision } from '../../src/index.js'

const bearer = (token: string): { headers: Record<string, string> } => ({
  headers: { authorization: `Bearer ${token}` },
})
const idOf = (token: string): unknown => byBearerToken()(bearer(token))?.id

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
/** All spellings that decode to the same bytes: they differ in the unused bits of the last character. */
function spellingsOf(text: string): string[] {
  const bytes = Buffer.from(text, 'base64url')
  return ALPHABET.split('')
    .map((last) => text.slice(0, -1) + last)
    .filter((one) => Buffer.from(one, 'base64url').equals(bytes))
}

describe('byBearerToken makes one subject of all spellings of a token', () => {
  const json = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${json({ alg: 'HS512' })}.${json({ sub: 'acme' })}`

  test.each([
    ['sha256', 4],
    ['sha512', 16],
  ])('a JWT with a %s signature has %i spellings', (hash, count) => {
    const signature = createHmac(hash, 'secret').update(signed).digest('base64url')
    const spellings = spellingsOf(signature).map((one) => `${signed}.${one}`)
    expect(spellings).toHaveLength(count)
    expect(new Set(spellings.map(idOf)).size).toBe(1)
  })

  test('padding, the other alphabet of base64, and characters that decoders skip make no difference', () => {
    const signature = Buffer.from([0xfb, 0xff, 0xbf, 0xfe]).toString('base64url')
    const standard = signature.replaceAll('-', '+').replaceAll('_', '/')
    expect(standard).not.toBe(signature)
    const spellings = [signature, `${signature}=`, `${signature}==`, standard, `~${signature}`].map(
      (one) => `${signed}.${one}`,
    )
    expect(new Set(spellings.map(idOf)).size).toBe(1)
  })

  test('an encrypted token has five parts, all but the first of which have spare bits', () => {
    const part = createHash('sha512').update('x').digest('base64url')
    const parts = [json({ enc: 'A256GCM' }), part, part, part, part]
    const other = spellingsOf(part).find((one) => one !== part)
    const respelled = [parts[0], other, part, other, other].join('.')
    expect(idOf(respelled)).toBe(idOf(parts.join('.')))
  })

  test('tokens of other kinds lose their padding, but keep the bits of their last character', () => {
    expect(idOf('c2VjcmV0LTEyMw==')).toBe(idOf('c2VjcmV0LTEyMw'))
    expect(idOf('abc')).not.toBe(idOf('abd'))
    expect(idOf('v1.a.x')).not.toBe(idOf('v1.a.y'))
    expect(idOf('a.b')).not.toBe(idOf('a.c'))
  })

  test('different tokens are different subjects', () => {
    const [one, two] = ['a', 'b'].map((key) => createHmac('sha512', key).update(signed).digest('base64url'))
    expect(idOf(`${signed}.${one}`)).not.toBe(idOf(`${signed}.${two}`))
  })

  test('`plan` is called with the token as the client sent it', () => {
    const plan = jest.fn(() => 'pro')
    byBearerToken({ plan })(bearer('c2VjcmV0=='))
    expect(plan).toHaveBeenCalledWith('c2VjcmV0==')
  })
})

describe('byHeader keeps a secret in the process', () => {
  const secret = 'sk_live_51H8xN'
  const request = { headers: { 'x-api-key': secret } }

  test('store keys, events and decisions do not contain it', async () => {
    const keys: string[] = []
    const outcome = { limits: [{ remaining: 0, reset: 1e6, wait: 1e6, receipt: undefined }], now: 0 }
    const see = (given: unknown): Promise<never> => {
      keys.push(JSON.stringify(given))
      return Promise.resolve(outcome as never)
    }
    const store = { synchronous: false, consume: see, peek: see, refund: see, reset: see }
    const limiter = createLimiter({ limit: '1/min', store: store as never })
    const told: Decision[] = []
    limiter.on('limited', (decision) => told.push(decision))
    const subject = byHeader('X-API-Key')(request)
    const decision = await limiter.consume(subject ?? '')
    expect(keys.length).toBeGreaterThan(0)
    expect(JSON.stringify([keys, told, decision])).not.toContain(secret)
    await limiter.close()
  })

  test('the id is a hash that differs by header; `plan` is called with the value itself', () => {
    const plan = jest.fn(() => 'pro')
    const subject = byHeader('X-API-Key', { plan })(request)
    const hash = createHash('sha256').update(secret).digest('base64url')
    expect(subject).toEqual({ id: `x-api-key:${hash}`, plan: 'pro' })
    expect(plan).toHaveBeenCalledWith(secret)
    expect(byHeader('x-other')({ headers: { 'x-other': secret } })?.id).not.toBe(subject?.id)
  })

  test('plain: true uses the value as the id', () => {
    expect(byHeader('x-org', { plain: true })({ headers: { 'x-org': ' acme ' } })).toEqual({ id: 'acme' })
    expect(() => byHeader('x-org', { plain: 'yes' as never })).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path: 'byHeader.plain' }),
    )
  })
})
