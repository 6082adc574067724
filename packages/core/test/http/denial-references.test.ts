// References of denials: what they say, who can open them, and that none is made twice.
import fc from 'fast-check'
import { cases } from '@tollgate/testing'
import {
  createLimiter,
  denialReferences,
  memoryStore,
  toHttpResponse,
  type Decision,
  type DenialReferences,
  type Store,
} from '../../src/index.js'
import { failingStore } from '../../src/testing.js'

const SECRET = 'a secret of the operators'
const OLDER = 'the secret of last year'

async function denialOf(options: object, subject: unknown = 'acme', cost = 1): Promise<Decision> {
  const limiter = createLimiter({ warnings: false, ...options } as never)
  let decision = await limiter.consume(subject as string, { cost })
  for (let i = 0; i < 5 && decision.allowed; i += 1)
    decision = await limiter.consume(subject as string, { cost })
  expect(decision.allowed).toBe(false)
  await limiter.close()
  return decision
}

function down(): Store {
  const store = failingStore(memoryStore())
  store.down()
  return store
}

const thrown = (act: () => unknown): Error => {
  try {
    act()
  } catch (error) {
    return error as Error
  }
  throw new Error('nothing was thrown')
}

describe('what a reference says', () => {
  const references = denialReferences({ secret: SECRET })

  test('of several limits that deny, the one that is back last, also of a copy and of a cost that never fits', async () => {
    const denial = await denialOf({ plans: { free: ['2/min', '2/h', '9/d'] } }, { id: 'acme', plan: 'free' })
    expect(denial.violated).toEqual(['minute', 'hour'])
    expect(references.open(references.of(denial))).toMatchObject({ limit: 'hour', quota: 2 })
    expect(references.open(references.of({ ...denial }))).toMatchObject({ limit: 'minute' })
    expect(references.open(references.of({ ...denial, limits: [] }))).toMatchObject({ limit: 'minute' })
    const never = await denialOf(
      { plans: { free: ['3/h', '9/d', '3/min'] } },
      { id: 'acme', plan: 'free' },
      4,
    )
    expect(references.open(references.of(never))).toMatchObject({ limit: never.violated[0], fitsAt: null })
  })

  test('who was denied by which limit, with which cost, when, and until when', async () => {
    const before = Date.now()
    const denial = await denialOf({ plans: { free: '3/min', pro: '9/min' } }, { id: 'acme', plan: 'free' }, 2)
    const reference = references.of(denial)
    expect(reference).toMatch(/^urn:tollgate:[\w-]{60,187}$/)
    const { at, fitsAt, ...said } = references.open(reference)
    expect(said).toEqual({
      ...{ reason: 'quota-exceeded', subject: 'acme', plan: 'free', limit: 'minute' },
      ...{ cost: 2, used: 2, quota: 3, source: 'store' },
    })
    expect(Number(at)).toBeGreaterThanOrEqual(before)
    expect(Number(at)).toBeLessThanOrEqual(Date.now())
    expect(Number(fitsAt) - Number(at)).toBe(Math.ceil(denial.retryAfterMs as number))
    // Copied out of a mail.
    expect(references.open(` ${reference.replace('urn', 'URN')}\n`)).toMatchObject({ subject: 'acme' })
  })

  test.each<[string, () => Promise<Decision>, object]>([
    [
      'a cost that never fits',
      () => denialOf({ limit: '3/min' }, 'acme', 4),
      { reason: 'cost-exceeds-quota', fitsAt: null, limit: 'minute', cost: 4 },
    ],
    [
      'a plan that is blocked',
      () => denialOf({ plans: { free: '1/min', off: 'blocked' } }, { id: 'acme', plan: 'off' }),
      { reason: 'blocked', plan: 'off', source: 'blocked', fitsAt: null },
    ],
    [
      'a store that does not answer',
      () => denialOf({ limit: '3/min', store: down(), onStoreFailure: 'closed' }),
      { reason: 'store-unavailable', source: 'closed' },
    ],
    [
      'a share of this process',
      () => denialOf({ limit: '1/min', store: down(), onStoreFailure: 'local' }),
      { reason: 'quota-exceeded', source: 'local', limit: 'minute', used: 1, quota: 1 },
    ],
  ])('%s', async (_, deny, said) => {
    expect(references.open(references.of(await deny()))).toMatchObject(said)
  })

  test('limits that a rule had changed', async () => {
    const limiter = createLimiter({ limit: '4/min' })
    await limiter.override('acme', { factor: 0.5, for: '1h' })
    await limiter.consume('acme', { cost: 2 })
    const reference = references.of(await limiter.consume('acme'))
    expect(references.open(reference)).toMatchObject({ override: true, quota: 2, plan: 'default' })
    await limiter.close()
  })

  test('long and hostile names and ids: at most 200 characters, and what is cut off is marked', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.constantFrom('', '…', 'é'.repeat(99), '😀'.repeat(60)),
    )
    const amount = fc.oneof(fc.nat(), fc.constantFrom(0, 1, 127, 128, 10 ** 12, 2 ** 40 - 1))
    const isOf = (short: string | undefined, long: string): boolean =>
      short === long || (short !== undefined && short.endsWith('…') && long.startsWith(short.slice(0, -1)))
    fc.assert(
      fc.property(text, text, text, amount, amount, amount, (one, two, three, cost, used, quota) => {
        const states = quota > 0 ? [{ name: three, quota, used, windowMs: 0, remaining: 0, resetMs: 0 }] : []
        const decision = {
          allowed: false,
          subject: { id: one },
          plan: two,
          cost,
          violated: [three],
          limits: states,
        }
        // Anew, since denials of a second share one.
        const references = denialReferences({ secret: SECRET })
        const reference = references.of({
          ...decision,
          retryAfterMs: used,
          source: 'rule',
          reason: 'blocked',
        } as never)
        expect(reference.length).toBeLessThanOrEqual(200)
        const said = references.open(reference)
        expect(said).toMatchObject({
          cost,
          source: 'rule',
          reason: 'blocked',
          ...(quota > 0 && { used, quota }),
        })
        expect(Number(said.fitsAt) - Number(said.at)).toBe(used)
        expect([isOf(said.subject, one), isOf(said.plan, two), isOf(said.limit ?? '', three)]).toEqual([
          true,
          true,
          true,
        ])
      }),
      { numRuns: cases(200, 5000) },
    )
  })

  test('an id of 36 characters is not cut off', () => {
    const id = '5e1c9f0a-3a71-4b0e-9a39-0d7d3a1f2b4c'
    const limits = [{ name: 'month', quota: 5e6, used: 5e6, windowMs: 0, remaining: 0, resetMs: 0 }]
    const decision = {
      allowed: false,
      subject: { id },
      plan: 'enterprise',
      cost: 1,
      violated: ['month'],
      limits,
    }
    const reference = references.of({
      ...decision,
      retryAfterMs: 2e9,
      source: 'store',
      reason: 'quota-exceeded',
    } as never)
    expect(references.open(reference).subject).toBe(id)
  })
})

describe('one object for all limiters', () => {
  test('another limit of the same name, and another time, have a reference of their own', async () => {
    const references = denialReferences({ secret: SECRET })
    const said = async (options: object, subject?: unknown): Promise<unknown> => {
      const { used, quota } = references.open(references.of(await denialOf(options, subject)))
      return [used, quota]
    }
    expect(await said({ limit: '1/min' })).toEqual([1, 1])
    expect(await said({ limit: '3/min' })).toEqual([3, 3])
    expect(await said({ limit: '9/s' }, { id: 'acme', limits: ['2/min'] })).toEqual([2, 2])
    let now = Date.UTC(2030, 0, 1)
    const limiter = createLimiter({ limit: '1/min', store: memoryStore({ now: () => now }) })
    await limiter.consume('late')
    const first = await limiter.consume('late')
    now += 40_000
    const second = await limiter.consume('late')
    const [fits, later] = [first, second].map(
      (one) => references.open(references.of(one)).fitsAt?.getTime() ?? 0,
    )
    expect((fits ?? 0) - (later ?? 0)).toBeGreaterThan(35_000)
  })

  test.each([
    ['a promise', Promise.resolve({}), 'write await before it'],
    ['nothing', undefined, 'as in references.of(await limiter.consume(id))'],
    ['an empty object', {}, 'expected the decision that consume returned'],
    [
      'a cost below 0',
      { allowed: false, cost: -5, limits: [], violated: [], retryAfterMs: 1 },
      'expected the decision',
    ],
  ])('%s is no decision', (_, given, message) => {
    const references = denialReferences({ secret: SECRET })
    expect(() => references.of(given as never)).toThrow(message)
  })
})

describe('who can open it', () => {
  test('another text for the same bytes was changed', async () => {
    const references = denialReferences({ secret: SECRET })
    const reference = references.of(await denialOf({ limit: '1/min' }))
    const others = [
      `${reference}A`,
      ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef-_'.split('').map((last) => reference.slice(0, -1) + last),
    ]
    for (const other of others.filter((text) => text !== reference)) {
      expect(() => references.open(other)).toThrow(/reference: (?:it was changed|its end is missing)/)
    }
  })

  test('a hole in the list of secrets is refused', () => {
    // oxlint-disable-next-line no-sparse-arrays
    expect(() => denialReferences({ secret: [, SECRET] as never })).toThrow('secret[0]')
  })

  test('any process with the secret, after a restart, and after the secret was changed', async () => {
    const denial = await denialOf({ limit: '1/min' })
    const old = denialReferences({ secret: OLDER }).of(denial)
    const rotated = denialReferences({ secret: [SECRET, OLDER] })
    expect(rotated.open(old)).toMatchObject({ subject: 'acme' })
    const recent = rotated.of(denial)
    expect(denialReferences({ secret: SECRET }).open(recent)).toMatchObject({ subject: 'acme' })
    const message = thrown(() => denialReferences({ secret: OLDER }).open(recent)).message
    expect(message).toMatch(
      /^reference: it was sealed with another secret, of the key [\da-f]{8}\. Here is [\da-f]{8}: pass the secret of that time in the list, too$/,
    )
    expect(message).not.toContain(OLDER)
  })

  test('each bit that is changed is noticed', async () => {
    const references = denialReferences({ secret: SECRET })
    const reference = references.of(await denialOf({ limit: '1/min' }))
    const bytes = Buffer.from(reference.slice('urn:tollgate:'.length), 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
      const error = thrown(() => references.open(`urn:tollgate:${changed.toString('base64url')}`))
      expect(error).toMatchObject({ code: 'ERR_TOLLGATE_REFERENCE' })
    }
    const cut = thrown(() => references.open(reference.slice(0, -1)))
    expect(cut.message).toMatch(/^reference: it was changed, or somebody made it up who has no secret$/)
  })

  test.each([
    undefined,
    null,
    7,
    '',
    'urn:tollgate:',
    'urn:isbn:1',
    'urn:tollgate:a b',
    `urn:tollgate:${'A'.repeat(400)}`,
    {},
  ])('%j is no reference', (given) => {
    const error = thrown(() => denialReferences({ secret: SECRET }).open(given as string))
    expect(error).toMatchObject({ code: 'ERR_TOLLGATE_REFERENCE' })
    expect(error.message).toMatch(
      /^reference: got .*, expected one such as 'urn:tollgate:AZ\.\.\.', as in the field instance/,
    )
  })

  test('another version, and a text without its end', () => {
    const references = denialReferences({ secret: SECRET })
    expect(thrown(() => references.open('urn:tollgate:AgAAAA')).message).toContain('another version')
    expect(thrown(() => references.open('urn:tollgate:AQAAAA')).message).toContain('its end is missing')
  })

  test.each<[unknown, RegExp]>([
    [undefined, /^options: got undefined, expected an object of options, such as \{ secret: process\.env/],
    [{}, /^secret: got undefined, expected a secret string of at least 16 characters/],
    [{ secret: 'too short' }, /^secret: got a string of 9 characters/],
    [{ secret: [] }, /^secret: got an empty array/],
    [{ secret: [SECRET, 7] }, /^secret\[1\]: got 7/],
    [{ secret: SECRET, keys: [] }, /keys/],
  ])('denialReferences(%j) is refused', (options, message) => {
    const error = thrown(() => denialReferences(options as never))
    expect(error).toMatchObject({ code: 'ERR_TOLLGATE_CONFIG', message: expect.stringMatching(message) })
    expect(error.message).not.toContain('too short')
  })
})

describe('how many are made', () => {
  const denial = (id: string, more: object = {}): Decision =>
    ({
      ...{
        allowed: false,
        subject: { id },
        plan: 'free',
        cost: 1,
        violated: ['minute'],
        limits: [],
        source: 'store',
      },
      ...{ retryAfterMs: 1000, reason: 'quota-exceeded', ...more },
    }) as never

  afterEach(() => void jest.restoreAllMocks())

  test('one a second for a subject, limit and cost, and none repeats a nonce', () => {
    let now = 1_800_000_000_000
    jest.spyOn(Date, 'now').mockImplementation(() => now)
    const references = denialReferences({ secret: SECRET })
    const first = references.of(denial('acme'))
    now += 400
    expect(references.of(denial('acme'))).toBe(first)
    const others = [denial('globex'), denial('acme', { cost: 2 }), denial('acme', { violated: ['month'] })]
    const made = [first, ...others.map((one) => references.of(one))]
    now += 600
    made.push(references.of(denial('acme')))
    const salted = denialReferences({ secret: SECRET }).of(denial('acme'))
    const heads = [...made, salted].map((one) =>
      Buffer.from(one.slice('urn:tollgate:'.length), 'base64url').subarray(5, 27).toString('hex'),
    )
    expect(new Set(heads).size).toBe(heads.length)
    // Those of one call differ in the counter alone.
    expect(new Set(heads.slice(0, -1).map((head) => head.slice(0, 32))).size).toBe(1)
  })

  test('a flood of many subjects is bounded, and each gets its own', () => {
    const references = denialReferences({ secret: SECRET })
    for (let i = 0; i < 3000; i += 1) {
      expect(references.open(references.of(denial(`user-${i}`))).subject).toBe(`user-${i}`)
    }
  })

  test('an id cannot look like another key', () => {
    const references = denialReferences({ secret: SECRET })
    const ids = ['acme', 'free\nminute\n1 quota-exceeded store undefined\nacme', '\nacme']
    expect(ids.map((id) => references.open(references.of(denial(id))).subject)).toEqual(ids)
  })

  test('what was allowed has none', () => {
    const references = denialReferences({ secret: SECRET })
    expect(thrown(() => references.of(denial('acme', { allowed: true })))).toMatchObject({
      code: 'ERR_TOLLGATE_REFERENCE',
    })
  })
})

describe('in the body of a denial', () => {
  const references: DenialReferences = denialReferences({ secret: SECRET })

  test('as instance in JSON, at the end of a text, and without it all as before', async () => {
    const denial = await denialOf({ limit: '1/min' })
    const plain = toHttpResponse(denial)
    const json = toHttpResponse(denial, { references })
    const { instance, ...problem } = JSON.parse(json.body as string) as Record<string, string>
    expect(problem).toEqual(JSON.parse(plain.body as string))
    expect(references.open(instance as string)).toMatchObject({ subject: 'acme', limit: 'minute' })
    const text = toHttpResponse(denial, { references, accept: 'text/plain' }).body as string
    expect(text.replace(/ Reference: urn:tollgate:[\w-]+\n$/, '\n')).toBe(
      toHttpResponse(denial, { accept: 'text/plain' }).body,
    )
    // Nobody but the operator reads who it was.
    const hidden = Buffer.from((instance as string).slice('urn:tollgate:'.length), 'base64url')
    expect(hidden.includes(Buffer.from('acme'))).toBe(false)
  })

  test.each([null, 'urn', {}, SECRET])('references: %j is refused', async (given) => {
    const denial = await denialOf({ limit: '1/min' })
    const error = thrown(() => toHttpResponse(denial, { references: given as never }))
    expect(error.message).toMatch(
      /^references: got .*, expected what denialReferences\(\{ secret \}\) returns$/,
    )
    expect(error.message).not.toContain(SECRET)
  })
})
