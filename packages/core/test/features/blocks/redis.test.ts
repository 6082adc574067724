// Blocks on a real Redis, with real time and several processes that remember denials.
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, redisStore, type Limiter, type SubjectBlocked } from '../../../src/index.js'
import { toHttpResponse } from '../../../src/index.js'
import { subjectKey } from '../../../src/requests/key.js'
import { closeBenches, redisOfAnotherProcess } from '../../support/benches.js'
import { outcomeOf, setOf } from '../../support/store-requests.js'

const blockAfter = { denials: 50, within: '1min', for: ['5min'] } as const
const options = { deadlineMs: 10_000, onStoreFailure: 'closed', local: { instances: 1 } } as const
const limiters: Limiter[] = []

afterAll(async () => {
  await Promise.all(limiters.map((limiter) => limiter.close()))
  await closeBenches()
})

/** As many processes with the same counters. */
function processes(count: number): { all: Limiter[]; prefix: string; blocked: SubjectBlocked[] } {
  const prefix = testPrefix()
  const blocked: SubjectBlocked[] = []
  const all = Array.from({ length: count }, () => {
    const store = redisStore(redisOfAnotherProcess(), { prefix })
    const limiter = createLimiter({ plans: { free: { limits: '5/min', blockAfter } }, store, ...options })
    limiter.on('blocked', (one) => void blocked.push(one))
    limiters.push(limiter)
    return limiter
  })
  return { all, prefix, blocked }
}

test('denials of all processes count together, also those from memory, and one of them emits the event', async () => {
  const { all, blocked } = processes(3)
  await eventually(async () => {
    for (const limiter of all) for (let i = 0; i < 3; i += 1) await limiter.consume('acme')
    const decisions = await Promise.all(all.map((limiter) => limiter.consume('acme')))
    expect(decisions.map(({ reason }) => reason)).toEqual(['blocked', 'blocked', 'blocked'])
  })
  expect(blocked).toMatchObject([{ subject: { id: 'acme' }, plan: 'free', level: 1 }])
  const told = all.reduce((sum, limiter) => sum + limiter.stats().decisions.store.denied, 0)
  expect(told).toBeLessThan(blockAfter.denials)
})

test('what lifts a block in one process takes effect in the others', async () => {
  const { all, prefix } = processes(2)
  const [limiter] = all as [Limiter]
  await Promise.all(Array.from({ length: 80 }, () => limiter.consume('acme')))
  expect((await limiter.consume('acme')).reason).toBe('blocked')
  expect(await limiter.consume('acme')).toMatchObject({ source: 'cache', reason: 'blocked' })
  const store = redisStore(redisOfAnotherProcess(), { prefix })
  const part = { key: subjectKey({ id: 'acme' }), set: setOf('5/min'), cost: 1 }
  expect(await outcomeOf(store, { shard: 0, grant: 'unblock', parts: [part] })).toMatchObject({
    wasBlocked: true,
  })
  const began = performance.now()
  await eventually(async () => expect((await limiter.consume('acme')).reason).toBe('quota-exceeded'))
  expect(performance.now() - began).toBeLessThan(10_000)
})

test('over HTTP it is 403 with Retry-After', async () => {
  const { all } = processes(1)
  const [limiter] = all as [Limiter]
  await Promise.all(Array.from({ length: 80 }, () => limiter.consume('acme')))
  const { status, headers, body } = toHttpResponse(await limiter.consume('acme'))
  expect(status).toBe(403)
  const detail = 'This client is blocked for 5 minutes.'
  expect(JSON.parse(String(body))).toMatchObject({ code: 'blocked', detail })
  const seconds = Number(headers['Retry-After'] ?? headers['retry-after'])
  expect(seconds).toBeGreaterThan(290)
  expect(seconds).toBeLessThanOrEqual(300)
})
