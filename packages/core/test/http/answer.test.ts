import { answerOf, createLimiter, type AnswerOptions, type Decision } from '../../src/index.js'

const limiter = createLimiter({ plans: { pro: '1/min', internal: 'unlimited' } })
const decide = async (plan: string, cost = 1): Promise<Decision> =>
  limiter.consume({ id: 'acme', plan }, { cost })

test('an allowed request has headers but no status and no body; with an unlimited plan it has no headers', async () => {
  const fresh = createLimiter({ limit: '9/min' })
  expect(answerOf(await fresh.consume('a'))).toEqual({
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
  expect(answerOf(await decide('internal'))).toEqual({ status: undefined, headers: {}, body: undefined })
})

test('a denied request has status, headers and body', async () => {
  const { status, headers, body } = answerOf(await decide('pro', 2), { namePlan: false, headers: false })
  expect([status, headers]).toEqual([
    429,
    { 'Cache-Control': 'no-store', 'Content-Type': 'application/problem+json' },
  ])
  expect(JSON.parse(String(body))).toMatchObject({
    code: 'cost_exceeds_quota',
    detail: expect.stringMatching(/^This request takes 2 units, but only 1 unit a minute is allowed\. /),
  })
})

test('headers can be chosen; options can be used more than once', async () => {
  const headers = { standard: false, expose: true } as const
  const names = async (): Promise<string[]> =>
    Object.keys(answerOf(await decide('pro', 2), { headers }).headers)
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
  [null, 'answerOf'],
  [{ acept: '*/*' }, 'answerOf.acept'],
  [{ headers: true }, 'headers'],
  [{ headers: null }, 'headers'],
  [{ headers: { draft: 7 } }, 'headers.draft'],
  [{ headers: { partitionKey: true } }, 'headers.partitionKey'],
  [{ namePlan: 1 }, 'namePlan'],
  [{ retryJitterMs: -1 }, 'retryJitterMs'],
  [{ maxRetryAfterMs: 0 }, 'maxRetryAfterMs'],
])('options %p are refused', async (options, path) => {
  const decision = await decide('internal')
  expect(() => answerOf(decision, options as AnswerOptions)).toThrow(
    expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }),
  )
})
