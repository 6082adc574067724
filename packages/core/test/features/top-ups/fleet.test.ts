// Top-ups and renewals over four processes, whose calls are repeated, whose replies are lost, and whose server hangs: each counts once.
import { cases, eventually, startRedis, testPrefix, type RedisServer } from '@tollgate/testing'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import { createLimiter, redisStore, type Limiter } from '../../../src/index.js'
import { clusterOf } from '../../roads/road.js'

const QUOTA = 5
const PROCESSES = 4
const LATER = { until: '2100-01-01T00:00:00Z' } as const

let server: RedisServer
const clients: Redis[] = []
let cluster: Awaited<ReturnType<typeof clusterOf>>

beforeAll(async () => {
  server = await startRedis()
  cluster = await clusterOf(PROCESSES)
  for (let i = 0; i < PROCESSES; i += 1) clients.push(new Redis(server.port, { retryStrategy: () => 50 }))
})

afterAll(async () => {
  for (const client of clients) client.disconnect()
  await server.kill()
  await cluster.stop()
})

function processes(options: object = {}, of: readonly unknown[] = clients): Limiter[] {
  const prefix = testPrefix()
  return of.map((client) =>
    createLimiter({
      limit: { quota: QUOTA, window: 'month' },
      store: redisStore(client as never, { prefix }),
      ...{ warnings: false, deadlineMs: 30_000, onStoreFailure: 'closed', denials: false, ...options },
    } as never),
  )
}

/** Consumes one unit at a time until that is denied. */
async function unitsLeft(limiter: Limiter): Promise<number> {
  for (let units = 0; ; units += 1) if (!(await limiter.consume('acme')).allowed) return units
}

const by = fc.nat({ max: PROCESSES - 1 })
const act = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('consume'), by, units: fc.constantFrom(1, 2, 3) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('topUp'), by, key: fc.nat({ max: 5 }) }) },
)
const rounds = fc.array(fc.array(act as fc.Arbitrary<Act>, { minLength: 1, maxLength: 25 }), {
  minLength: 1,
  maxLength: 6,
})
interface Act {
  readonly do: 'consume' | 'topUp'
  readonly by: number
  readonly units: number
  readonly key: number
}

test.each(['one server', 'a cluster'])(
  'at once, and repeated by every process, the sum is exact on %s',
  async (where) => {
    await fc.assert(
      fc.asyncProperty(rounds, async (all) => {
        const limiters = processes({}, where === 'a cluster' ? cluster.clients : clients)
        let admitted = 0
        const booked = new Map<number, number>()
        const play = async (one: Act): Promise<void> => {
          const limiter = limiters[one.by] as Limiter
          if (one.do === 'topUp') {
            const call = { limit: 'month', units: 3, key: `order ${one.key}`, ...LATER }
            const { isRepeated } = await limiter.topUp('acme', call)
            if (!isRepeated) booked.set(one.key, (booked.get(one.key) ?? 0) + 1)
          } else if ((await limiter.consume('acme', { cost: one.units })).allowed) admitted += one.units
        }
        for (const round of all) await Promise.all(round.map(play))
        expect([...booked.values()].every((times) => times === 1)).toBe(true)
        const left = await unitsLeft(limiters[0] as Limiter)
        expect(admitted + left).toBe(QUOTA + 3 * booked.size)
        await Promise.all(limiters.map(async (limiter) => limiter.close()))
      }),
      { numRuns: cases(20, 200) },
    )
  },
)

test('while the server hangs, calls reject, and count once when they are repeated', async () => {
  const limiters = processes({ deadlineMs: 100 })
  for (let round = 1; round <= 3; round += 1) {
    const book = async (limiter: Limiter): Promise<boolean> => {
      const { isRepeated } = await limiter.topUp('acme', {
        limit: 'month',
        units: 2,
        key: `order ${round}`,
        ...LATER,
      })
      return isRepeated
    }
    const renew = async (limiter: Limiter): Promise<boolean> => {
      return (await limiter.renew('acme', { limit: 'month', key: `invoice ${round}` })).isRepeated
    }
    server.pause()
    const failed = await Promise.allSettled(limiters.flatMap((limiter) => [book(limiter), renew(limiter)]))
    for (const one of failed) {
      expect(one).toMatchObject({
        status: 'rejected',
        reason: { name: 'StoreError', code: expect.stringMatching(/STORE/) },
      })
    }
    server.resume()
    const repeated = async (call: (limiter: Limiter) => Promise<boolean>): Promise<void> => {
      for (const limiter of limiters) {
        await eventually(
          async () =>
            call(limiter).then(
              () => true,
              () => false,
            ),
          'the call is answered',
        )
      }
    }
    await repeated(book)
    await repeated(renew)
    const [limiter] = limiters as [Limiter]
    // A busy machine can take longer than the deadline, which denies nothing for good.
    await eventually(
      async () => (await limiter.peek('acme')).limits[0]?.remaining === QUOTA + 2 * round,
      'all count once',
    )
  }
  await Promise.all(limiters.map(async (limiter) => limiter.close()))
})
