// What HTTP tells of a request that was served from a lease: the policy, which is certain, and no numbers.
import {
  toHttpResponse,
  createLimiter,
  decisionsOf,
  subjectForIp,
  type Decision,
  type Subjects,
} from '../../src/index.js'
import { noteDecision } from '../../src/http/decisions.js'
import { createHeaderWriter, type HeaderAccess } from '../../src/http/headers.js'
import { limitsOf, ownersOf } from '../../src/limiter/settle/settlement.js'
import { asServedFromLease } from '../support/leased.js'

type Headers = Record<string, string>
const onRecord: HeaderAccess<Headers> = {
  getHeader: (headers, name) => headers[name],
  setHeader: (headers, name, value) => void (headers[name] = value),
}
const limiter = createLimiter({ plans: { pro: ['500/s', '6000/min'], team: '900/min' }, defaultPlan: 'pro' })
const served = async (subjects: Subjects): Promise<Decision> =>
  asServedFromLease(await limiter.consume(subjects))
const POLICY = '"second";q=500;w=1, "minute";q=6000;w=60'
const BOTH: Subjects = ['acme', { id: 'ann', plan: 'team', label: 'user' }]

test('a decision from a lease tells who, which plan and the cost, and no numbers', async () => {
  expect({ ...(await served({ id: 'acme', plan: 'pro' })) }).toEqual({
    allowed: true,
    subject: { id: 'acme', plan: 'pro' },
    plan: 'pro',
    cost: 1,
    limits: [],
    violated: [],
    retryAfterMs: 0,
    source: 'lease',
  })
})

test('its limits and their owners are those of the request', async () => {
  const decision = await served(BOTH)
  expect(limitsOf(decision)?.map(({ name }) => name)).toEqual(['second', 'minute', 'user.minute'])
  expect(ownersOf(decision).map(({ id }) => id)).toEqual(['acme', 'acme', 'ann'])
  expect([limitsOf({ ...decision }), ownersOf({ ...decision })]).toEqual([undefined, []])
})

test.each([
  [{}, { 'RateLimit-Policy': POLICY }],
  [{ legacy: 'delta' }, { 'RateLimit-Policy': POLICY }],
  [{ legacy: 'epoch', standard: false }, {}],
  [{ standard: false }, {}],
  [false, {}],
] as const)('with the headers %j it has %j', async (headers, expected) => {
  expect(toHttpResponse(await served('acme'), { headers })).toEqual({
    status: undefined,
    headers: expected,
    body: undefined,
  })
})

test('the policy is made once for decisions of the store and of leases', async () => {
  const write = createHeaderWriter<Headers>({ single: false })
  const headersOf = (decision: Decision): Headers => {
    const headers: Headers = {}
    write(decision, onRecord, headers)
    return headers
  }
  const store = await limiter.consume('globex')
  const lease = asServedFromLease(store)
  for (const order of [
    [lease, store, lease],
    [store, lease, store],
  ]) {
    for (const decision of order) {
      const { 'RateLimit-Policy': policy, RateLimit: numbers } = headersOf(decision)
      expect(policy).toBe(POLICY)
      expect(numbers === undefined).toBe(decision === lease)
    }
  }
})

test('a limiter in front keeps its headers: its numbers never stand beside another policy', async () => {
  const write = createHeaderWriter<Headers>()
  const guard = await createLimiter({ limit: '9/min' }).consume(subjectForIp('192.0.2.1'))
  const [before, after]: [Headers, Headers] = [{}, {}]
  write(guard, onRecord, before)
  for (const decision of [guard, await served('acme')]) write(decision, onRecord, after)
  expect(after).toEqual(before)
  write(await limiter.consume('acme'), onRecord, after)
  expect(after['RateLimit-Policy']).toBe(POLICY)
})

test('partition keys are those of the subjects', async () => {
  const write = createHeaderWriter<Headers>({ partitionKey: true })
  const policyOf = (decision: Decision): string | undefined => {
    const headers: Headers = {}
    write(decision, onRecord, headers)
    return headers['RateLimit-Policy']
  }
  const store = await limiter.consume(BOTH)
  expect(policyOf(asServedFromLease(store))).toBe(policyOf(store))
  expect(policyOf(store)).toContain(';pk=:')
})

test('scripts of other origins are told that they may read the policy', async () => {
  const { headers } = toHttpResponse(await served('acme'), { headers: { expose: true } })
  expect(headers).toEqual({
    'Access-Control-Expose-Headers': expect.stringContaining('RateLimit-Policy'),
    'RateLimit-Policy': POLICY,
  })
})

test('a copy has no policy, since only the decision itself knows its request', async () => {
  const copy = { ...(await served('acme')) }
  expect(toHttpResponse(copy)).toEqual({ status: undefined, headers: {}, body: undefined })
})

test('a request that was counted by a lease and by the store was counted twice', async () => {
  const by = { limiter, group: undefined, consumer: limiter, family: {}, isOfRoute: false }
  const note = (req: object, decision: Decision): boolean =>
    noteDecision(req, { decision, by, subjects: [decision.subject] })
  const store = await limiter.consume('acme')
  for (const first of [store, asServedFromLease(store)]) {
    const req = {}
    expect(note(req, first)).toBe(false)
    expect(note(req, await served('acme'))).toBe(true)
    expect(decisionsOf(req)).toHaveLength(2)
  }
})
