import { toHttpResponse, createLimiter, type HttpResponseOptions, type Decision } from '../../src/index.js'
import { DenialBodies } from '../../src/http/answers/denial-answers.js'
import { mediaTypeFor, renderProblem } from '../../src/http/answers/denial.js'

const limiter = createLimiter({ plans: { pro: '1/min', internal: 'unlimited' } })
const decide = async (plan: string, cost = 1): Promise<Decision> =>
  limiter.consume({ id: 'acme', plan }, { cost })

test('an allowed request has headers but no status and no body; with an unlimited plan it has no headers', async () => {
  const fresh = createLimiter({ limit: '9/min' })
  expect(toHttpResponse(await fresh.consume('a'))).toEqual({
    status: undefined,
    headers: {
      'RateLimit-Policy': '"minute";q=9;w=60',
      RateLimit: '"minute";r=8;t=60',
      'RateLimit-Limit': '9',
      'RateLimit-Remaining': '8',
      'RateLimit-Reset': '60',
    },
    body: undefined,
  })
  expect(toHttpResponse(await decide('internal'))).toEqual({
    status: undefined,
    headers: {},
    body: undefined,
  })
})

test('a denied request has status, headers and body', async () => {
  const { status, headers, body } = toHttpResponse(await decide('pro', 2), {
    namePlan: false,
    headers: false,
  })
  expect([status, headers]).toEqual([
    429,
    { 'Cache-Control': 'no-store', 'Content-Type': 'application/problem+json' },
  ])
  expect(JSON.parse(String(body))).toMatchObject({
    code: 'cost_exceeds_quota',
    detail: expect.stringMatching(/^This request takes 2 units, but only 1 unit a minute is allowed\. /),
  })
})

test('without the name of a plan in the text, a label hides it in the names of limits', async () => {
  const guarded = createLimiter({ plans: { pro: '9/min', trial: '1/min' } })
  const denied = async (label: object): Promise<string> => {
    const decision = await guarded.consume(
      [
        { id: 'acme', plan: 'pro' },
        { id: 'ann', plan: 'trial', ...label },
      ],
      { cost: 2 },
    )
    return JSON.stringify(toHttpResponse(decision, { namePlan: false }))
  }
  expect(await denied({})).toContain('trial.minute')
  const hidden = await denied({ label: 'user' })
  expect(hidden).toContain('user.minute')
  expect(hidden).not.toContain('trial')
})

test('headers can be chosen; options can be used more than once', async () => {
  const headers = { standard: false, expose: true } as const
  const names = async (): Promise<string[]> =>
    Object.keys(toHttpResponse(await decide('pro', 2), { headers }).headers)
  const expected = [
    'Access-Control-Expose-Headers',
    'RateLimit-Limit',
    'RateLimit-Remaining',
    'RateLimit-Reset',
  ]
  expect(await names()).toEqual([...expected, 'Cache-Control', 'Content-Type'])
  expect(await names()).toEqual([...expected, 'Cache-Control', 'Content-Type'])
})

test.each<[unknown, string]>([
  [null, 'toHttpResponse'],
  [{ acept: '*/*' }, 'toHttpResponse.acept'],
  [{ headers: true }, 'headers'],
  [{ headers: null }, 'headers'],
  [{ headers: { draft: 7 } }, 'headers.draft'],
  [{ headers: { partitionKey: true } }, 'headers.partitionKey'],
  [{ namePlan: 1 }, 'namePlan'],
  [{ retryJitterMs: -1 }, 'retryJitterMs'],
  [{ maxRetryAfterMs: 0 }, 'maxRetryAfterMs'],
  [{ accept: ['text/plain'] }, 'accept'],
  [{ accept: 5 }, 'accept'],
])('options %p are refused', async (options, path) => {
  const decision = await decide('internal')
  expect(() => toHttpResponse(decision, options as HttpResponseOptions)).toThrow(
    expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }),
  )
})

test('a promise of a decision wants await', () => {
  const rejected = Promise.reject(new Error('down'))
  for (const pending of [decide('internal'), rejected]) {
    expect(() => toHttpResponse(pending as never)).toThrow(
      'decision: got a promise, expected the decision that consume returned: write await before it',
    )
  }
})

const unreadable = new Proxy(
  {},
  {
    get() {
      throw new Error('trap')
    },
  },
)

test.each([
  undefined,
  null,
  'acme',
  {},
  { allowed: false, limits: [], violated: [] },
  { allowed: false, limits: [], violated: [], cost: 1, retryAfterMs: NaN },
  { allowed: true, limits: [{}], violated: [], cost: 1, retryAfterMs: 0 },
  unreadable,
])('no decision is refused, case %#', (given) => {
  expect(() => toHttpResponse(given as never)).toThrow(
    expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path: 'decision' }),
  )
})

test('a copy of a decision is answered as the decision, also when it names a limit that it does not have', async () => {
  const denied = await createLimiter({ limit: '1/min' }).consume('a', { cost: 2 })
  const copy = JSON.parse(JSON.stringify(denied)) as Decision
  expect(toHttpResponse(copy)).toEqual(toHttpResponse(denied))
  const { status, headers } = toHttpResponse({ ...copy, violated: ['other'] })
  expect([status, headers['RateLimit-Limit']]).toEqual([429, '1'])
})

test('bodies of denials that are kept are those that are made anew', () => {
  const three = createLimiter({
    plans: { free: ['3/min', '4/h'], pro: '3/min', team: '3/min' },
  })
  const bodies = new DenialBodies({})
  const seen = new Map<string, object>()
  for (let i = 0; i < 180; i += 1) {
    const plan = ['free', 'pro', 'team'][i % 3] as string
    const first = { id: i % 8 > 5 ? `new${i}` : `${plan}${i % 9}`, plan }
    const second = { id: i % 8 > 5 ? 'spent' : `new${i}`, plan: 'pro' }
    const decision = three.consume(i % 4 > 1 ? [first, second] : first, { cost: 1 + (i % 2) }) as Decision
    if (decision.allowed) continue
    for (const waitMs of [1, 1001, 61_000, 7 * 3_600_000]) {
      for (const accept of [undefined, 'application/json', 'text/*']) {
        const retry = decision.retryAfterMs === null ? undefined : { waitMs, seconds: 1 }
        const made = bodies.render(decision, retry, accept)
        expect(made).toEqual(renderProblem(decision, mediaTypeFor(accept), { retry, namePlan: true }))
        const isKept = retry !== undefined && waitMs < 6 * 3_600_000 && decision.violated.length === 1
        const key = [plan, i % 4 > 1, ...decision.violated, made.contentType, made.body].join()
        if (isKept) expect(seen.get(key) ?? made).toBe(made)
        if (isKept) seen.set(key, made)
      }
    }
  }
  expect(seen.size).toBeGreaterThan(9)
})
