// Units that were taken of a lease and go back: each counts once, at the time that it was used.
import { setImmediate as turn } from 'node:timers/promises'
import {
  createLimiter,
  memoryStore,
  type Decision,
  type Limiter,
  type PlanInput,
  type Rule,
  type Store,
} from '../../../src/index.js'
import { asyncStore } from '../../support/stores.js'

const QUOTA = 10_000
const LOG: PlanInput = { limits: '128/min', lease: { maxShare: 1 } }
const clock = { now: 1_769_862_896_789 }
const now = (): number => clock.now
let store = memoryStore({ now })
const limiters: Limiter[] = []

beforeEach(() => {
  store = memoryStore({ now })
})

afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})

function start(rules?: Store['rules']): Limiter {
  const plans = { big: { limits: `${QUOTA}/h`, lease: true }, small: '5/h', plain: '1000/h', exact: LOG }
  const limiter = createLimiter({
    plans,
    store: asyncStore({ testClock: now, ...(rules && { rules }) }, store),
    warnings: false,
  })
  limiters.push(limiter)
  return limiter
}

async function ask(
  limiter: Limiter,
  who: Parameters<Limiter['consume']>[0],
  cost: number,
): Promise<Decision> {
  const decision = await limiter.consume(who, { cost })
  await turn()
  clock.now += 1
  return decision
}

const tenant = { id: 'tenant', plan: 'big' }

test.each([
  ['large', 20, 1],
  ['small', 1, 20],
])('after %s requests, one of another size puts back what it took', async (_, first, second) => {
  const limiter = start()
  let used = 0
  let source
  for (let i = 0; i < 60; i += 1) {
    const decision = await ask(limiter, tenant, first)
    used += first
    source = decision.source
  }
  expect(source).toBe('lease')
  for (let i = 0; i < 20; i += 1) {
    const { allowed } = await ask(limiter, [tenant, { id: 'user', plan: 'small' }], second)
    if (allowed) used += second
  }
  await limiter.close()
  const { limits } = await start().peek(tenant)
  expect(limits[0]?.remaining).toBe(QUOTA - used)
})

test.each<[string, (limiter: Limiter, rule: Rule) => Promise<unknown>]>([
  ['set', (limiter) => limiter.override('tenant', { factor: 1, for: '1h' })],
  ['lifted', (_, rule) => rule.lift()],
  ['set for any beginning of ids', (limiter) => limiter.block('ten-*', { for: '1h' })],
])('a lease serves nothing any more once a rule is %s', async (_, change) => {
  const limiter = start(store.rules)
  const rule = await limiter.override('tenant', { factor: 1, for: '2h' })
  let source
  for (let i = 0; i < 60; i += 1) source = (await ask(limiter, tenant, 1)).source
  expect(source).toBe('lease')
  await change(limiter, rule)
  expect((await ask(limiter, tenant, 1)).source).toBe('store')
})

test('units that were reported before they came back count again when they are used again', async () => {
  const limiter = start()
  const subject = { id: 'log', plan: 'exact' }
  const made: Decision[] = []
  let reportedAt = 0
  limiter.on('lease', ({ kind }) => {
    if (kind === 'refused') reportedAt ||= clock.now
  })
  while (reportedAt === 0 && made.length < 128) made.push(await ask(limiter, subject, 1))
  const leased = made.filter(({ source }) => source === 'lease').slice(0, 20)
  for (const decision of leased) expect(await limiter.refund(decision)).toBe(true)
  clock.now += 50
  let again = 0
  for (let i = 0; i < 90; i += 1) again += Number((await ask(limiter, subject, 1)).allowed)
  // All that was used before is a minute old now, but not what was used since.
  clock.now = reportedAt + 60_040
  const { limits } = await start().peek(subject)
  expect([leased.length, again > leased.length, limits[0]?.remaining]).toEqual([20, true, 128 - again])
})

test.each([
  ['denied by another limit', 'small'],
  ['that ask a plan without leases, too', 'plain'],
])('requests %s lease nothing', async (_, plan) => {
  const limiter = start()
  for (let i = 0; i < 200; i += 1) await ask(limiter, [tenant, { id: 'user', plan }], 1)
  const { granted, refused } = limiter.stats().leases
  expect([granted, refused]).toEqual([0, 0])
})

test('while the store hangs, a lease is served until its end, and then the failure policy decides', async () => {
  let hangs = false
  const consume: Store['consume'] = (batch) =>
    hangs ? new Promise<never>(() => {}) : Promise.resolve(store.consume(batch))
  const limiter = createLimiter({
    plans: { big: { limits: `${QUOTA}/h`, lease: true } },
    store: asyncStore({ testClock: now, consume }, store),
    deadlineMs: 20,
    onStoreFailure: 'closed',
    warnings: false,
  })
  limiters.push(limiter)
  for (let i = 0; i < 40; i += 1) await ask(limiter, tenant, 1)
  hangs = true
  expect(await ask(limiter, tenant, 1)).toMatchObject({ allowed: true, source: 'lease' })
  clock.now += 500
  expect(await ask(limiter, tenant, 1)).toMatchObject({ allowed: false, source: 'closed' })
})
