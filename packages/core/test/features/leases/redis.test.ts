import { eventually, startRedis, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import {
  createLimiter,
  redisStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type PlanInput,
} from '../../../src/index.js'
import type { LeaseChange } from '../../../src/features/leases/lease-reporter.js'
import { scriptCallsOf } from '../../support/script-calls.js'

let server: RedisServer
const clients: Redis[] = []
const limiters: Limiter[] = []
/** Units that ended with their lease, in this test: on a slow machine a lease can end before it is given back. */
let lost = 0

beforeEach(() => {
  lost = 0
})

beforeAll(async () => {
  server = await startRedis()
})

afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})

afterAll(async () => {
  for (const client of clients) client.disconnect()
  await server.stop()
})

/** A limiter as in a process of its own. */
function start(big: PlanInput, options: Partial<LimiterOptions> = {}): Limiter {
  const client = new Redis(server.port, '127.0.0.1', {
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
  })
  client.on('error', () => {})
  clients.push(client)
  const limiter = createLimiter({
    plans: { big },
    store: redisStore(client),
    onStoreFailure: 'closed',
    deadlineMs: 10_000,
    local: { instances: 1 },
    warnings: false,
    ...options,
  })
  limiters.push(limiter)
  limiter.on('lease', ({ kind, units }) => {
    if (kind === 'lost') lost += units
  })
  return limiter
}

const MONTHLY: PlanInput = { limits: '1000000/month', lease: true }
const LOG: PlanInput = { limits: '6000/h', lease: true }

/** Asks until a lease answers. Returns how many units were taken. */
async function untilLeased(limiter: Limiter, id: string): Promise<number> {
  let taken = 0
  await eventually(async () => {
    for (let i = 0; i < 20; i += 1) {
      const { allowed, source } = await limiter.consume(id)
      taken += Number(allowed)
      if (source === 'lease') return
    }
    throw new Error('no lease yet')
  })
  return taken
}

async function consumeMany(limiter: Limiter, id: string, times: number): Promise<Decision[]> {
  const decisions: Decision[] = []
  while (decisions.length < times) {
    const some = Array.from({ length: Math.min(50, times - decisions.length) }, () => limiter.consume(id))
    decisions.push(...(await Promise.all(some)))
  }
  return decisions
}

const allowedOf = (decisions: readonly Decision[]): number =>
  decisions.filter(({ allowed }) => allowed).length

/** Units that are left, as the store says. */
async function remaining(limiter: Limiter, id: string): Promise<number | undefined> {
  return (await limiter.peek(id)).limits[0]?.remaining
}

async function scriptCalls(): Promise<number> {
  return scriptCallsOf(clients[0] as Redis)
}

test('limits that a subject brings anew at each request are leased', async () => {
  const limiter = start('100/min')
  const ask = async (): Promise<Decision> =>
    limiter.consume({ id: 'contract', limits: [{ quota: 6000, window: 'h', lease: true }] })
  let taken = 0
  await eventually(async () => {
    const { allowed, source } = await ask()
    taken += Number(allowed)
    if (source !== 'lease') throw new Error('no lease yet')
  })
  const many = await Promise.all(Array.from({ length: 50 }, ask))
  expect(allowedOf(many)).toBe(50)
  await limiter.close()
  const other = start('100/min')
  const left = (await other.peek({ id: 'contract', limits: '6000/h' })).limits[0]?.remaining ?? 0
  expect(left).toBe(6000 - taken - 50 - lost)
})

test('a busy subject is decided in memory, and Redis is asked for far fewer', async () => {
  const limiter = start(MONTHLY)
  await untilLeased(limiter, 'busy')
  await eventually(async () => {
    const before = await scriptCalls()
    const decisions = await consumeMany(limiter, 'busy', 2000)
    const calls = (await scriptCalls()) - before
    expect(allowedOf(decisions)).toBe(2000)
    const leased = decisions.filter(({ source }) => source === 'lease')
    expect(leased[0]).toMatchObject({ allowed: true, limits: [], violated: [], retryAfterMs: 0, plan: 'big' })
    // Without leases each 50 that ask at once are a call, so 40.
    expect(calls).toBeLessThan(10)
  })
})

test('a subject with few requests is never leased, and decided as without leases', async () => {
  const limiter = start(MONTHLY)
  for (let i = 0; i < 10; i += 1) {
    const { source, limits } = await limiter.consume('small')
    expect([source, limits[0]?.remaining]).toEqual(['store', 999_999 - i])
  }
  expect(limiter.stats().decisions.lease).toEqual({ allowed: 0, denied: 0 })
})

test('close gives back what was not used', async () => {
  const limiter = start(MONTHLY)
  const taken = await untilLeased(limiter, 'closing')
  await limiter.close()
  expect(await remaining(start(MONTHLY), 'closing')).toBe(1_000_000 - taken)
})

test('a subject that falls idle gives back what was not used', async () => {
  const limiter = start(MONTHLY)
  const taken = await untilLeased(limiter, 'idle')
  await eventually(async () => expect(await remaining(limiter, 'idle')).toBe(1_000_000 - taken))
})

test('two processes together admit the quota, no more, and all of it', async () => {
  const pair = [start(LOG), start(LOG)] as const
  let admitted = 0
  await eventually(async () => {
    const all = await Promise.all(pair.map((limiter) => consumeMany(limiter, 'shared', 1000)))
    admitted += allowedOf(all.flat())
    // What a process reports as lost, because it was late, may have reached the store and come back.
    expect(admitted + lost).toBeGreaterThanOrEqual(6000)
  })
  expect(admitted).toBeLessThanOrEqual(6000)
  for (const limiter of pair) expect(limiter.stats().decisions.lease.allowed).toBeGreaterThan(0)
})

test('the last units are decided by the store, one by one', async () => {
  const limiter = start(LOG)
  const last: Decision[] = []
  let isDenied = false
  while (!isDenied) {
    const decision = await limiter.consume('last')
    last.push(decision)
    isDenied = !decision.allowed
  }
  expect(allowedOf(last)).toBeLessThanOrEqual(6000)
  expect(allowedOf(last) + lost).toBeGreaterThanOrEqual(6000)
  const tail = last.slice(-10).map(({ source, limits }) => [source, limits[0]?.remaining])
  expect(tail).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0].slice(1).map((left) => ['store', left]))
})

test('a refund of a leased decision makes room for one more', async () => {
  const limiter = start(LOG)
  const decisions: Decision[] = []
  await eventually(async () => {
    decisions.push(...(await consumeMany(limiter, 'refunded', 2000)))
    expect(allowedOf(decisions)).toBeLessThanOrEqual(6000)
    expect(allowedOf(decisions) + lost).toBeGreaterThanOrEqual(6000)
  })
  const leased = decisions.filter(({ source }) => source === 'lease').slice(0, 20)
  let count = 0
  for (const decision of leased) count += Number(await limiter.refund(decision))
  expect(count).toBeGreaterThan(0)
  expect(await limiter.refund(leased[0] as Decision)).toBe(false)
  expect(await remaining(limiter, 'refunded')).toBe(count)
})

test('a reset ends the lease: what is used afterwards is counted anew', async () => {
  const limiter = start(MONTHLY)
  await untilLeased(limiter, 'reset')
  await limiter.reset('reset')
  expect((await limiter.consume('reset')).source).toBe('store')
  await eventually(async () => expect(await remaining(limiter, 'reset')).toBe(999_999))
})

test('new plans hold from the next request, and units that were on lease come back', async () => {
  const limiter = start(MONTHLY)
  const taken = await untilLeased(limiter, 'moved')
  limiter.setPlans({ big: '2000000/month' })
  const next = await limiter.consume('moved')
  expect(next.source).toBe('store')
  await eventually(async () => expect(await remaining(limiter, 'moved')).toBe(2_000_000 - taken - 1))
})

test('several subjects are served when all have a lease, and by the store otherwise', async () => {
  const limiter = start(MONTHLY)
  const ids = ['tenant', 'user']
  let leased = 0
  let admitted = 0
  await eventually(async () => {
    for (let i = 0; i < 200; i += 1) {
      const { allowed, source } = await limiter.consume(ids)
      admitted += Number(allowed)
      leased += Number(source === 'lease')
    }
    expect(leased).toBeGreaterThan(0)
  })
  await limiter.close()
  const other = start(MONTHLY)
  for (const id of ids) expect(await remaining(other, id)).toBe(1_000_000 - admitted)
})

test('units on lease here are given back before a request that needs them', async () => {
  const limiter = start({ limits: '100/h', lease: true })
  const taken = await untilLeased(limiter, 'large')
  const cost = 100 - taken - lost
  expect(await limiter.consume('large', { cost })).toMatchObject({ allowed: true, source: 'store' })
})

test.each([{ overage: true }, { mode: 'observe' }] as const)(
  'they are also given back beside a subject whose limit is used up and denies nothing: %j',
  async (lenient) => {
    const plans = { big: { limits: '100/h', lease: true }, org: { quota: 1, window: 'month', ...lenient } }
    const limiter = start(plans.big, { plans, defaultPlan: 'big' })
    const org = { id: `org-${Object.keys(lenient)[0]}`, plan: 'org' }
    for (let i = 0; i < 2; i += 1) await limiter.consume(org)
    const taken = await untilLeased(limiter, `beside-${org.id}`)
    const cost = 100 - taken - lost
    const both = [{ id: `beside-${org.id}` }, org]
    expect(await limiter.consume(both as never, { cost })).toMatchObject({ allowed: true, source: 'store' })
  },
)

test('a rule with overage ends the leases of a plan, and begins no other', async () => {
  const limiter = start(MONTHLY)
  const taken = await untilLeased(limiter, 'ruled')
  const limits = [{ quota: 1_000_000, window: 'month', overage: true }, '1000000/d'] as const
  await limiter.override('ruled', { limits, for: '1h' })
  const decisions = await consumeMany(limiter, 'ruled', 1000)
  expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['store']))
  await eventually(async () => {
    const [month] = (await limiter.peek('ruled')).limits
    expect(month?.used).toBe(taken + 1000)
  })
})

test('a busy subject is not leased for requests with another that is not', async () => {
  const changes: LeaseChange[] = []
  const limiter = start(MONTHLY)
  limiter.on('lease', (change) => changes.push(change))
  for (let i = 0; i < 100; i += 1) await limiter.consume(['busy-tenant', `user-${i}`])
  expect(changes).toEqual([])
})

test('costs are taken whole, from one lease or from the store', async () => {
  const limiter = start(MONTHLY)
  let units = 0
  let leased = 0
  await eventually(async () => {
    for (let cost = 1; cost <= 200; cost += 1) {
      const { allowed, source } = await limiter.consume('costly', { cost })
      if (allowed) units += cost
      leased += Number(source === 'lease')
    }
    expect(leased).toBeGreaterThan(0)
  })
  await limiter.close()
  expect(await remaining(start(MONTHLY), 'costly')).toBe(1_000_000 - units)
})

test('events tell what became of the units, and they add up', async () => {
  const changes: LeaseChange[] = []
  const limiter = start(MONTHLY)
  limiter.on('lease', (change) => changes.push(change))
  await untilLeased(limiter, 'told')
  const decisions = await consumeMany(limiter, 'told', 2000)
  await limiter.close()
  const sum = (kind: LeaseChange['kind']): number =>
    changes.filter((change) => change.kind === kind).reduce((total, { units }) => total + units, 0)
  const leased = 1 + decisions.filter(({ source }) => source === 'lease').length
  expect(changes[0]).toMatchObject({ kind: 'granted', plan: 'big', subject: { id: 'told' } })
  expect(sum('granted')).toBe(leased + sum('returned') + sum('lost'))
})
