// What is a subject, and what is told of what is none.
import { createHttpLimiter } from '../../src/adapter.js'
import { createLimiter, subjectForIp, type Decision, type LimiterOptions } from '../../src/index.js'

const limiterOf = (options: Partial<LimiterOptions> = {}): ReturnType<typeof createLimiter> =>
  createLimiter({ plans: { free: '5/min', pro: '9/min' }, defaultPlan: 'free', ...options })
const limiter = limiterOf()
const leftOf = (decision: unknown): number | undefined => (decision as Decision).limits[0]?.remaining

describe('a bigint is read as its digits', () => {
  const BIG = 2n ** 64n

  test.each([{ id: BIG }, { id: BIG, plan: 'free' }, BIG])(
    'by consume, peek and reset: %p',
    async (given) => {
      const own = limiterOf()
      await own.consume(String(BIG))
      expect(leftOf(await own.consume(given as never))).toBe(3)
      expect(leftOf(await own.peek([given] as never))).toBe(3)
      await own.reset(given as never)
      expect(leftOf(await own.peek(String(BIG)))).toBe(5)
    },
  )

  test('in a decision it is text, since JSON knows no bigint', async () => {
    const decision = await limiter.consume({ id: 7n, plan: 'pro' })
    expect(decision.subject).toEqual({ id: '7', plan: 'pro' })
    expect(() => JSON.stringify(decision)).not.toThrow()
  })

  test('by the cache of plans', async () => {
    const planOf = jest.fn(({ id }: { id: string }) => (id === '7' ? 'pro' : undefined))
    const own = limiterOf({ planOf })
    expect((await own.consume({ id: 7n })).plan).toBe('pro')
    await own.consume('7')
    expect(planOf).toHaveBeenCalledTimes(1)
    own.forgetPlan({ id: 7n })
    await own.consume({ id: 7 })
    expect(planOf).toHaveBeenCalledTimes(2)
  })

  test('by lists', async () => {
    const attached: Decision[] = []
    const adapter = {
      ip: () => '192.0.2.1',
      method: () => 'GET',
      header: () => undefined,
      hasLeft: () => false,
      isSent: () => true,
      attach: (_: object, decision: Decision) => void attached.push(decision),
    }
    const identify = (): { id: bigint } => ({ id: 7n })
    const options = { limiter, identify, blockList: ['7'] }
    await createHttpLimiter(adapter as never, options).admit({}, {})
    expect(attached.map(({ reason }) => reason)).toEqual(['blocked'])
  })
})

test.each<[given: unknown, message: string]>([
  [{ id: 1, plann: 'pro' }, 'subject.plann: a subject has no such property; did you mean plan?'],
  [{ id: 1, paln: 'pro' }, 'subject.paln: a subject has no such property; did you mean plan?'],
  [
    { id: 1, name: 'Acme', kind: 'company' },
    'subject: got an object with id, name, kind, expected only the properties of a subject (id, plan, kind, label, limits, anchor, timeZone): return { id: row.id, plan: row.plan }',
  ],
  [
    { id: 1, kind: 'company' },
    "subject.kind: got 'company', expected 'ip' for a client's address, 'id' for any other id, or nothing",
  ],
  [
    { id: 1, plan: { id: 2 } },
    "subject.plan: got an object with id, expected the name of a plan, such as 'pro'",
  ],
  [{ id: 1, label: '' }, "subject.label: got '', expected a name of 1 to 64 characters, such as 'user'"],
  [{ id: true }, 'subject.id: got true, expected a string, a number or a bigint'],
  [{ id: undefined }, 'subject.id: got undefined, expected an id that is not empty'],
  [undefined, "subject: got undefined, expected an id such as 'acme', or { id: 'acme', plan: 'pro' }"],
  [[], "subject: got an empty array, expected an id such as 'acme', or { id: 'acme', plan: 'pro' }"],
  [{}, "subject: got an empty object, expected an id such as 'acme', or { id: 'acme', plan: 'pro' }"],
  [
    { headers: {} },
    'subject: got an object with headers, expected who pays for the request, such as req.user?.id or subjectForIp(req.ip)',
  ],
  [Promise.resolve('a'), 'subject: got a promise, expected the value it resolves to: write await before it'],
  [Array(9).fill('a'), 'subjects: got a list of 9, expected at most 8 subjects in one request'],
  [[{ id: 'a', plan: 'free' }, { id: '' }], "subjects[1].id: got '', expected an id that is not empty"],
  [[{ id: null }, 'a'], 'subjects[0].id: got null, expected an id that is not empty'],
  [
    [
      { id: 'a', plan: 'free' },
      { id: 'a', plan: 'pro' },
    ],
    "subjects: got one id twice, on the plans 'free' and 'pro', expected each id once; if they are two subjects, write org:7 and user:7",
  ],
])('%p is refused', (given, message) => {
  for (const ask of [limiter.consume, limiter.peek]) {
    expect(() => ask.call(limiter, given as never)).toThrow(
      expect.objectContaining({ code: 'ERR_TOLLGATE_SUBJECT', message }),
    )
  }
})

test.each([
  [[undefined, 'a', null, '']],
  [[{ id: 'a', plan: null }]],
  [Object.assign(Object.create({ inherited: 1 }), { id: 'a' })],
])("what is nothing in a list is left out, and what is inherited is nobody's: %p", async (given) => {
  expect(await limiter.peek(given as never)).toMatchObject({ subject: { id: 'a' } })
})

describe('subjectForIp', () => {
  test.each(['hello', '300.1.1.1', 'acme/24', 7, null])('%p is no address', (given) => {
    expect(() => subjectForIp(given as string)).toThrow(
      expect.objectContaining({
        code: 'ERR_TOLLGATE_SUBJECT',
        message: expect.stringMatching(/^subjectForIp: got .*, expected a client's address, such as req\.ip/),
      }),
    )
  })

  test.each([
    [undefined, 'unknown'],
    ['', 'unknown'],
    ['192.0.2.1:443', '192.0.2.1'],
    ['2001:db8:1:2:3::1', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::/64', '2001:db8:1:2::/64'],
  ])('%p is %p', (given, id) => {
    expect(subjectForIp(given)).toEqual({ id, kind: 'ip' })
  })
})
