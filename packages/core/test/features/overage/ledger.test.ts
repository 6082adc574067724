// What exceeds a quota equals a ledger that is kept outside, over several processes, and within bounds over an outage.
import { cases, eventually, startRedis, testPrefix, type RedisServer } from '@tollgate/testing'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import {
  createLimiter,
  redisStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
} from '../../../src/index.js'

const QUOTA = 10
const PROCESSES = 4
const limit = { quota: QUOTA, window: 'd', overage: true } as const

let server: RedisServer
const clients: Redis[] = []

beforeAll(async () => {
  server = await startRedis()
  for (let i = 0; i < PROCESSES; i += 1) clients.push(new Redis(server.port, { retryStrategy: () => 50 }))
})

afterAll(async () => {
  for (const client of clients) client.disconnect()
  await server.kill()
})

function processes(options: Partial<LimiterOptions>): Limiter[] {
  const prefix = testPrefix()
  return clients.map((client) =>
    createLimiter({
      limit,
      store: redisStore(client, { prefix }),
      warnings: false,
      ...options,
    } as LimiterOptions),
  )
}

const act = fc.record({
  by: fc.nat({ max: PROCESSES - 1 }),
  cost: fc.constantFrom(1, 1, 2, 7, 30),
  then: fc.constantFrom('nothing', 'nothing', 'nothing', 'refund', 'settle', 'reserve'),
})
const rounds = fc.array(fc.array(act, { minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 8 })
type Act = typeof act extends fc.Arbitrary<infer T> ? T : never

/** Does one thing. Returns the units that it used in the end. */
async function used(limiters: readonly Limiter[], { by, cost, then }: Act): Promise<number> {
  const limiter = limiters[by] as Limiter
  if (then === 'reserve') {
    const reservation = await limiter.reserve('acme', { cost, for: '1min' })
    return reservation.commit(cost + 1)
  }
  const decision = await limiter.consume('acme', { cost })
  expect(decision).toMatchObject({ allowed: true, source: 'store' })
  if (then === 'refund') return (await limiter.refund(decision)) ? 0 : cost
  return then === 'settle' ? limiter.settle(decision, cost + 3) : cost
}

async function overOf(limiter: Limiter | undefined): Promise<number | undefined> {
  return (await limiter?.peek('acme'))?.limits[0]?.over
}

test('over four processes at once, it is exact', async () => {
  await fc.assert(
    fc.asyncProperty(rounds, async (all) => {
      const limiters = processes({ deadlineMs: 30_000, onStoreFailure: 'closed' })
      let ledger = 0
      for (const round of all) {
        const units = await Promise.all(round.map(async (one) => used(limiters, one)))
        ledger += units.reduce((sum, one) => sum + one, 0)
        const over = await Promise.all(limiters.map(overOf))
        expect(over).toEqual(limiters.map(() => Math.max(ledger - QUOTA, 0)))
      }
      await Promise.all(limiters.map(async (limiter) => limiter.close()))
    }),
    { numRuns: cases(15, 150) },
  )
})

test('over an outage it lacks nothing, and has at most the lost replies too much', async () => {
  const limiters = processes({ deadlineMs: 200, local: { instances: PROCESSES } })
  const all: Decision[] = []
  const ask = async (): Promise<void> => {
    all.push(...(await Promise.all(limiters.map(async (limiter) => limiter.consume('acme', { cost: 3 })))))
  }
  for (let i = 0; i < 5; i += 1) await ask()
  server.pause()
  // The first of these are sent and not answered in time, so the store may count them again.
  await eventually(async () => {
    await ask()
    return limiters.every((limiter) => limiter.health().status !== 'ok')
  })
  for (let i = 0; i < 20; i += 1) await ask()
  server.resume()
  await eventually(async () => limiters.every((limiter) => limiter.health().status === 'ok'))
  expect(all.every(({ allowed }) => allowed)).toBe(true)
  const ledger = all.length * 3 - QUOTA
  const alone = all.filter(({ source }) => source === 'local')
  expect(alone.length).toBeGreaterThan(60)
  await eventually(async () => ((await overOf(limiters[0])) ?? 0) >= ledger)
  const [over = 0] = await Promise.all(limiters.map(overOf))
  expect(over).toBeGreaterThanOrEqual(ledger)
  expect(over).toBeLessThanOrEqual(ledger + alone.length * 3)
  await Promise.all(limiters.map(async (limiter) => limiter.close()))
})
