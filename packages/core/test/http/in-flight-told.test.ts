import {
  toHttpResponse,
  createLimiter,
  type HttpResponseOptions,
  type Decision,
  type PlansInput,
} from '../../src/index.js'
import type { LimitOutcome, Store, StoreRequest } from '../../src/store.js'
import { closesWithTest, endFaults } from '../support/faults.js'

afterEach(endFaults)

/** A store that says the same of every request: these limits, in their order. */
function saying(limits: readonly LimitOutcome[]): Store {
  const answers = (batch: readonly StoreRequest[]): { at: number; limits: readonly LimitOutcome[] }[] =>
    batch.map(() => ({ at: Date.now() * 1000, limits }))
  return {
    synchronous: true,
    atomic: true,
    slots: true,
    consume: answers,
    peek: answers,
    refund: (batch) => batch.map(() => false),
    reset: () => false,
  }
}

const FULL: LimitOutcome = { wait: 1_000_000, remaining: 0, reset: 0, slot: 5 }
const TWO_LEFT: LimitOutcome = { wait: 0, remaining: 2, reset: 0, slot: 3 }
const UNITS_LEFT: LimitOutcome = { wait: 0, remaining: 60, reset: 60_000_000 }
const UNITS_USED: LimitOutcome = { wait: 48_000_000, remaining: 0, reset: 48_000_000 }

const decide = async (plans: PlansInput, limits: readonly LimitOutcome[], cost = 1): Promise<Decision> =>
  closesWithTest(createLimiter({ plans, store: saying(limits) })).consume('acme', { cost })
const headersOf = (decision: Decision, headers: HttpResponseOptions['headers'] = {}): unknown =>
  toHttpResponse(decision, { headers }).headers
const detailOf = (decision: Decision, namePlan = true): unknown =>
  (JSON.parse(toHttpResponse(decision, { namePlan }).body as string) as { detail: string }).detail

test('a limit of requests in flight is told with its unit, without window and reset', async () => {
  const { limits } = await decide({ pro: '5 concurrent' }, [TWO_LEFT])
  expect(limits).toEqual([
    {
      name: 'concurrent',
      quota: 5,
      quotaUnit: 'concurrent-requests',
      windowMs: 0,
      used: 3,
      remaining: 2,
      resetMs: 0,
    },
  ])
  const [minute] = (await decide({ pro: '100/min' }, [UNITS_LEFT])).limits
  expect(Object.keys(minute ?? {})).not.toContain('quotaUnit')
})

test('headers of an allowed request: the policy has the unit, and no item says when more comes', async () => {
  expect(headersOf(await decide({ pro: '5 concurrent' }, [TWO_LEFT]))).toEqual({
    'RateLimit-Policy': '"concurrent";q=5;qu="concurrent-requests"',
    RateLimit: '"concurrent";r=2',
    'RateLimit-Limit': '5',
    'RateLimit-Remaining': '2',
    'RateLimit-Reset': '0',
  })
})

test('headers with room for one limit tell of the one that counts in time, if it denied or nothing did', async () => {
  const plans = { pro: ['5 concurrent', '100/min'] } // which is told last, wherever it is written
  expect(headersOf(await decide(plans, [UNITS_LEFT, TWO_LEFT]))).toEqual({
    'RateLimit-Policy': '"minute";q=100;w=60, "concurrent";q=5;qu="concurrent-requests"',
    RateLimit: '"minute";r=60;t=60, "concurrent";r=2',
    'RateLimit-Limit': '100',
    'RateLimit-Remaining': '60',
    'RateLimit-Reset': '60',
  })
  expect(headersOf(await decide(plans, [UNITS_USED, TWO_LEFT]))).toMatchObject({
    'RateLimit-Remaining': '0',
    'RateLimit-Reset': '48',
    'Retry-After': '48',
  })
  expect(headersOf(await decide(plans, [UNITS_USED, FULL]))).toMatchObject({
    'RateLimit-Limit': '100',
    'RateLimit-Reset': '48',
    'Retry-After': '48',
  })
})

test('if requests in flight alone denied, they tell of these, and reset when to try again', async () => {
  const decision = await decide({ pro: ['100/min', '5 concurrent'] }, [UNITS_LEFT, FULL])
  expect(decision).toMatchObject({ violated: ['concurrent'], retryAfterMs: 1000, reason: 'quota-exceeded' })
  expect(headersOf(decision, { legacy: 'delta' })).toEqual({
    'RateLimit-Policy': '"minute";q=100;w=60, "concurrent";q=5;qu="concurrent-requests"',
    RateLimit: '"minute";r=60;t=60, "concurrent";r=0',
    'RateLimit-Limit': '5',
    'RateLimit-Remaining': '0',
    'RateLimit-Reset': '1',
    'X-RateLimit-Limit': '5',
    'X-RateLimit-Remaining': '0',
    'X-RateLimit-Reset': '1',
    'Retry-After': '1',
    'Cache-Control': 'no-store',
    'Content-Type': 'application/problem+json',
  })
  const [reset] = [(headersOf(decision, { legacy: 'epoch' }) as Record<string, string>)['X-RateLimit-Reset']]
  expect(Number(reset)).toBeGreaterThan(Date.now() / 1000 - 60)
})

const COUNTS = 'allows 100 requests a minute'
test.each<[PlansInput, readonly LimitOutcome[], number, string]>([
  [{ pro: '5 concurrent' }, [FULL], 1, 'The pro plan allows 5 requests at a time; try again in 1 second.'],
  [{ pro: '1 concurrent' }, [FULL], 1, 'The pro plan allows 1 request at a time; try again in 1 second.'],
  // A request takes one slot, whatever it costs.
  [{ pro: '5 concurrent' }, [FULL], 40, 'The pro plan allows 5 requests at a time; try again in 1 second.'],
  [
    { pro: ['100/min', '5 concurrent'] },
    [UNITS_USED, FULL],
    1,
    `The pro plan ${COUNTS} and 5 requests at a time; try again in 48 seconds.`,
  ],
  [
    { pro: ['100/min', '5 concurrent'] },
    [UNITS_USED, FULL],
    40,
    'The pro plan allows 100 units a minute and 5 requests at a time, and this request takes 40 units; try again in 48 seconds.',
  ],
])('%p is told as a sentence: %#', async (plans, limits, cost, sentence) => {
  expect(detailOf(await decide(plans, limits, cost))).toBe(sentence)
})

test('without the name of the plan, and of a copied decision', async () => {
  const one = await decide({ pro: '1 concurrent' }, [FULL])
  expect(detailOf(one, false)).toBe('Only 1 request at a time is allowed; try again in 1 second.')
  const five = await decide({ pro: '5 concurrent' }, [FULL])
  const copy = { ...five, limits: five.limits.map((limit) => ({ ...limit })) }
  expect(headersOf(copy)).toEqual(headersOf(five))
  expect(detailOf(copy)).toBe('Only 5 requests at a time are allowed; try again in 1 second.')
})

test('a denial names the policy, as one of every other limit does', async () => {
  const { body } = toHttpResponse(await decide({ pro: '5 concurrent' }, [FULL]))
  expect(JSON.parse(body as string)).toMatchObject({
    status: 429,
    code: 'rate_limit_exceeded',
    'violated-policies': ['concurrent'],
  })
})

test('the hint of a limit is what a denied client is told', async () => {
  const later = { ...FULL, wait: 7_500_000 }
  const decision = await decide({ pro: { concurrent: 5, retryAfterMs: 7500 } }, [later])
  expect(headersOf(decision)).toMatchObject({ 'Retry-After': '8', 'RateLimit-Reset': '8' })
})
