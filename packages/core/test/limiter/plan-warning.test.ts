// A plan that does not exist is said once a name, with the one that was meant.
import { createLimiter, type LimiterOptions, type Subject } from '../../src/index.js'

let emitted: jest.SpyInstance
beforeEach(() => {
  emitted = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
})
afterEach(() => emitted.mockRestore())

/** What is said when these ask. */
async function said(options: Partial<LimiterOptions>, ...subjects: (Subject | string)[]): Promise<unknown[]> {
  const limiter = createLimiter({ plans: { free: '5/min', pro: '9/min' }, ...options } as LimiterOptions)
  const told: unknown[] = []
  limiter.on('unknownPlan', (subject) => told.push(subject.plan))
  for (const subject of subjects) await limiter.consume(subject)
  await limiter.close()
  // The event is told each time.
  expect(told).toHaveLength(subjects.length)
  expect(
    emitted.mock.calls.every(([, { code }]: [string, { code: string }]) => code === 'TOLLGATE_PLAN'),
  ).toBe(true)
  return emitted.mock.calls.map(([text]: [string]) => text)
}

const defaultPlan = 'free'

test.each(['Pro', 'PRO ', 'por', 'pros'])('%p for pro', async (plan) => {
  const subject = { id: 'acme', plan }
  expect(await said({ defaultPlan }, subject, subject, { id: 'globex', plan })).toEqual([
    `The subject 'acme' has the plan '${plan}', which is not in plans; it is held to 'free'. Did you mean 'pro'?`,
  ])
})

test('a name that is like none lists those there are', async () => {
  expect(await said({ defaultPlan }, { id: 7, plan: 'enterprise' })).toEqual([
    "The subject '7' has the plan 'enterprise', which is not in plans; it is held to 'free'. Plans are: free, pro",
  ])
})

test('what planOf gives, and no plan where there is no default', async () => {
  expect(await said({ defaultPlan, planOf: () => 'Pro' }, 'acme')).toEqual([
    expect.stringContaining("has the plan 'Pro', which is not in plans"),
  ])
  emitted.mockClear()
  expect(await said({}, 'acme', 'globex')).toEqual([
    "The subject 'acme' has no plan, and there is no defaultPlan; it is held to 'free'. Set defaultPlan.",
  ])
})

test('ids are short, and hidden where they are hashed', async () => {
  const [text] = await said({ defaultPlan }, { id: `a\n${'x'.repeat(1e6)}`, plan: `b\n${'y'.repeat(1e6)}` })
  expect(text).toMatch(/^The subject 'a\?x{1,80}\.\.\.' has the plan 'b\?y{1,80}\.\.\.', which/)
  emitted.mockClear()
  const hashIds = 'a secret of many characters'
  expect(await said({ defaultPlan, hashIds }, { id: 'acme', plan: 'Pro' })).toEqual([
    expect.stringMatching(/^A subject has the plan 'Pro'/),
  ])
})

test('names that clients make up fill no log; with warnings: false nothing is said', async () => {
  const many = Array.from({ length: 50 }, (_, i) => ({ id: 'acme', plan: `plan ${i}` }))
  expect(await said({ defaultPlan }, ...many)).toHaveLength(20)
  emitted.mockClear()
  expect(await said({ defaultPlan, warnings: false }, ...many)).toEqual([])
})
