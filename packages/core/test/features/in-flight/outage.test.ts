// While Redis hangs, the failure policy decides; what runs goes on, and is told when Redis is back.
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  redisStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
} from '../../../src/index.js'
import { closesWithTest, connect, DEADLINE_MS, endFaults, server } from '../../support/faults.js'

afterEach(endFaults)

interface Place {
  readonly redis: Awaited<ReturnType<typeof server>>
  /** The process that runs requests. */
  readonly limiter: Limiter
  /** How many slots another process finds free. */
  readonly left: () => Promise<number | undefined>
  readonly other: Limiter
}

async function start(limit: LimiterOptions['limit'], options: Partial<LimiterOptions>): Promise<Place> {
  const redis = await server()
  const prefix = testPrefix()
  const made = (): Limiter => {
    const store = redisStore(connect(redis.port), { prefix })
    const all = { limit, store, deadlineMs: DEADLINE_MS, warnings: false, ...options }
    return closesWithTest(createLimiter(all as LimiterOptions))
  }
  const [limiter, other] = [made(), made()] as const
  for (const one of [limiter, other]) {
    await eventually(async () => {
      const warm = await one.consume('warm')
      warm.release()
      return warm.source === 'store'
    })
  }
  return { redis, limiter, other, left: async () => (await other.peek('acme')).limits[0]?.remaining }
}

const consume = async (limiter: Limiter, count: number): Promise<Decision[]> => {
  const decisions = []
  for (let i = 0; i < count; i += 1) decisions.push(await limiter.consume('acme'))
  return decisions
}
const told = (decisions: readonly Decision[]): string[] =>
  decisions.map(({ allowed, source }) => `${source} ${allowed ? 'lets it run' : 'denies'}`)

test('local: a report of a slot that was given back says nothing of the limits in time', async () => {
  const { redis, limiter, other } = await start(['3000/min', '10 concurrent'], { local: { instances: 1 } })
  const [first] = await consume(limiter, 1)
  first?.release()
  await eventually(async () => expect((await other.peek('acme')).limits[1]?.remaining).toBe(10))
  redis.pause()
  const [local] = await consume(limiter, 1)
  expect(told([local as Decision])).toEqual(['local lets it run'])
  expect(local?.localLimits?.map(({ used }) => used)).toEqual([2, 1])
})

test('local: the process lets its share run, with what runs already', async () => {
  const { redis, limiter, left } = await start('8 concurrent', { local: { instances: 2 } })
  const held = await consume(limiter, 5)
  redis.pause()
  const denied = await consume(limiter, 1)
  expect(told(denied)).toEqual(['local denies'])
  expect(denied[0]).toMatchObject({ reason: 'quota-exceeded', retryAfterMs: 1000, limits: [] })
  for (const decision of held.slice(0, 4)) expect(decision.release()).toBe(true)
  const local = await consume(limiter, 4)
  expect(told(local)).toEqual([...Array(3).fill('local lets it run'), 'local denies'])
  expect(limiter.stats().inFlight).toBe(4)
  redis.resume()
  await eventually(async () => expect(await left()).toBe(4))
  for (const decision of [...held, ...local]) decision.release()
  await eventually(async () => expect(await left()).toBe(8))
  expect(limiter.stats().inFlight).toBe(0)
})

test('open: every request runs, and all that still run count when Redis is back', async () => {
  const { redis, limiter, other, left } = await start('2 concurrent', { onStoreFailure: 'open' })
  const changes = jest.fn()
  limiter.on('inFlight', changes)
  const [first] = await consume(limiter, 1)
  redis.pause()
  const open = await consume(limiter, 3)
  expect(told(open)).toEqual(Array(3).fill('open lets it run'))
  redis.resume()
  await eventually(async () => expect(await left()).toBe(0))
  await eventually(() => expect(changes).toHaveBeenCalledWith(expect.objectContaining({ slots: 4 })))
  // Four run where two may: none is stopped, and nobody else is let in until fewer than two do.
  open[0]?.release()
  open[1]?.release()
  await eventually(async () => expect(limiter.health().status).toBe('ok'))
  await eventually(async () => expect(other.health().status).toBe('ok'))
  expect(told(await consume(other, 1))).toEqual(['store denies'])
  open[2]?.release()
  await eventually(async () => expect(await left()).toBe(1))
  expect(first?.release()).toBe(true)
  await eventually(async () => expect(await left()).toBe(2))
})

test('closed: nothing is let in, and what ended meanwhile is told when Redis is back', async () => {
  const { redis, limiter, left } = await start('2 concurrent', { onStoreFailure: 'closed' })
  const held = await consume(limiter, 2)
  redis.pause()
  expect(told(await consume(limiter, 2))).toEqual(['closed denies', 'closed denies'])
  for (const decision of held) expect(decision.release()).toBe(true)
  redis.resume()
  await eventually(async () => expect(await left()).toBe(2))
  expect(limiter.stats().inFlight).toBe(0)
})

test('a Redis that lost its data is told again what runs', async () => {
  const { redis, limiter, left } = await start('3 concurrent', {})
  const held = await consume(limiter, 2)
  const operator = connect(redis.port)
  await operator.flushall()
  await eventually(async () => expect(await left()).toBe(1))
  for (const decision of held) decision.release()
  await eventually(async () => expect(await left()).toBe(3))
})
