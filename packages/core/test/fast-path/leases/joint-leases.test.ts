// Requests of several subjects, of which not all are on lease: units that were taken of one go back to its lease.
import { setImmediate as turn } from 'node:timers/promises'
import {
  createLimiter,
  memoryStore,
  type Decision,
  type LeaseChange,
  type Limiter,
} from '../../../src/index.js'
import { asyncStore } from '../../support/stores.js'

const QUOTA = 10_000
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

function start(): { limiter: Limiter; changes: LeaseChange[] } {
  const plans = { big: { limits: `${QUOTA}/h`, lease: true }, small: '5/h' }
  const limiter = createLimiter({ plans, store: asyncStore({ testClock: now }, store), warnings: false })
  const changes: LeaseChange[] = []
  limiter.on('lease', (change) => changes.push(change))
  limiters.push(limiter)
  return { limiter, changes }
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
  const { limiter } = start()
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
  const { limits } = await start().limiter.peek(tenant)
  expect(limits[0]?.remaining).toBe(QUOTA - used)
})
