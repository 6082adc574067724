// Requests that wait in line on a real Redis: over several limiters, in great numbers, and while it fails.
import { eventually } from '@tollgate/testing'
import {
  createLimiter,
  redisStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type Subject,
} from '../../../src/index.js'
import { closesWithTest, connect, endFaults, server } from '../../support/faults.js'

afterEach(endFaults)

/** A second is long enough that all of a test is in line before the first place comes. */
const PLANS = {
  drip: { limits: '20/s burst 1', wait: { maxDelay: '1s' } },
  crowd: { limits: '2000/10s', wait: { maxDelay: '10s', maxWaiting: 1000 } },
}

type Redis = Awaited<ReturnType<typeof server>>

/** A limiter as in a process of its own. */
async function start(redis: Redis, options: Partial<LimiterOptions> = {}): Promise<Limiter> {
  const limiter = createLimiter({
    plans: PLANS,
    store: redisStore(connect(redis.port)),
    deadlineMs: 2000,
    local: { instances: 1 },
    warnings: false,
    ...options,
  })
  closesWithTest(limiter)
  await eventually(async () => (await limiter.peek({ id: 'warm', plan: 'crowd' })).source === 'store')
  return limiter
}

const drip = { id: 'acme', plan: 'drip' }
const crowd = { id: 'acme', plan: 'crowd' }
const leftOf = async (limiter: Limiter): Promise<number> =>
  (await limiter.peek(crowd)).limits[0]?.remaining ?? -1
const waitingOf = (...all: Limiter[]): number =>
  all.reduce((sum, limiter) => sum + limiter.stats().waiting.now, 0)

/** Twelve requests, by two limiters in turns. Resolves with the order in which they were let in, and how many were late. */
async function inTurns(
  both: readonly [Limiter, Limiter],
  subject: Subject,
): Promise<{ order: number[]; late: number }> {
  const before = both.map((limiter) => limiter.stats().waiting.late)
  const order: number[] = []
  const all: Promise<unknown>[] = []
  for (let i = 0; i < 12; i += 1) {
    const limiter = both[i % 2] as Limiter
    const { booked } = limiter.stats().waiting
    all.push(Promise.resolve(limiter.consume(subject)).then(() => order.push(i)))
    // The next one comes when this one is in line, or has passed.
    await eventually(() => limiter.stats().waiting.booked > booked || order.includes(i))
  }
  await Promise.all(all)
  const late = both.map((limiter, i) => limiter.stats().waiting.late - (before[i] ?? 0))
  return { order, late: late.reduce((sum, n) => sum + n, 0) }
}

test('two limiters on one Redis: nobody of a subject is admitted before those who came earlier', async () => {
  const redis = await server()
  const both = [await start(redis), await start(redis)] as const
  // Where a busy machine lets a process come late to a place, that request asks again, and stands behind the others.
  let turns = await inTurns(both, { ...drip, id: 'first' })
  for (let i = 0; turns.late > 0 && i < 10; i += 1) turns = await inTurns(both, { ...drip, id: `again ${i}` })
  const wanted = Array.from({ length: 12 }, (_, i) => i)
  expect(turns.late > 0 ? turns.order.toSorted((a, b) => a - b) : turns.order).toEqual(wanted)
})

test('1000 who leave at once: no unit is lost, and all of them can be taken by others', async () => {
  const redis = await server()
  const [limiter, other] = [await start(redis), await start(redis)]
  await limiter.consume(crowd, { cost: 2000 })
  const leaving = new AbortController()
  const subjects = Array.from({ length: 4 }, (_, i) => ({ id: `crowd-${i}`, plan: 'crowd' }))
  await Promise.all(subjects.map((subject) => limiter.consume(subject, { cost: 1995 })))
  const sent = subjects.flatMap((subject) =>
    Array.from({ length: 250 }, () => limiter.consume(subject, { cost: 6, signal: leaving.signal })),
  )
  const settled = Promise.allSettled(sent)
  await eventually(() => waitingOf(limiter) === 1000)
  leaving.abort(new Error('gone'))
  const results = await settled
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1000)
  expect(limiter.stats().waiting).toMatchObject({ now: 0, booked: 1000, left: 1000 })
  // What is left beside the limits would be missing here.
  await eventually(async () => {
    const left = await Promise.all(
      subjects.map(async (subject) => (await other.peek(subject)).limits[0]?.remaining),
    )
    expect(left).toEqual([5, 5, 5, 5])
  })
})

test('a place that was given back goes to the next newcomer, in whatever process', async () => {
  const redis = await server()
  const [limiter, other] = [await start(redis), await start(redis)]
  await limiter.consume(crowd, { cost: 2000 })
  const leaving = new AbortController()
  const first = limiter.consume(crowd, { cost: 2000, signal: leaving.signal })
  await eventually(() => waitingOf(limiter) === 1)
  expect((await other.consume(crowd)).allowed).toBe(false)
  leaving.abort(new Error('gone'))
  await expect(first).rejects.toThrow('gone')
  // Units go back a moment after the one that left knows it.
  let next: Decision | undefined | Promise<Decision>
  await eventually(async () => {
    next = other.consume(crowd)
    await Promise.race([next, eventually(() => waitingOf(other) === 1)])
    expect(waitingOf(other)).toBe(1)
  })
  await other.close()
  expect(await next).toMatchObject({ allowed: false, source: 'place' })
})

test('close answers all who wait, and their units go back', async () => {
  const redis = await server()
  const [limiter, other] = [await start(redis), await start(redis)]
  await limiter.consume(crowd, { cost: 1000 })
  const sent = Array.from({ length: 100 }, () => limiter.consume(crowd, { cost: 1001 }))
  await eventually(() => waitingOf(limiter) + limiter.stats().waiting.refused === 100)
  const waiting = waitingOf(limiter)
  expect(waiting).toBeGreaterThan(0)
  await limiter.close()
  const decisions = await Promise.all(sent)
  expect(decisions.filter(({ source }) => source === 'place')).toHaveLength(waiting)
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(0)
  expect(limiter.stats().waiting).toMatchObject({ closed: waiting, now: 0 })
  expect(await leftOf(other)).toBe(1000)
})

test('requests that are asking for a place as the limiter closes are answered, too', async () => {
  const redis = await server()
  const [limiter, other] = [await start(redis), await start(redis)]
  await limiter.consume(crowd, { cost: 2000 })
  const sent = Array.from({ length: 50 }, () => limiter.consume(crowd))
  await limiter.close()
  const decisions = await Promise.all(sent)
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(0)
  const late = other.consume(crowd, { cost: 2000 })
  await eventually(() => waitingOf(other) === 1)
  await other.close()
  expect(await late).toMatchObject({ source: 'place', allowed: false })
})

describe.each(['killed', 'hanging'])('a Redis that is %s', (how) => {
  const fail = async (redis: Redis): Promise<void> => (how === 'killed' ? redis.kill() : redis.pause())

  test('does not keep those who wait, and nobody waits anew: the failure policy decides', async () => {
    const redis = await server()
    const limiter = await start(redis, { onStoreFailure: 'closed' })
    await limiter.consume(drip)
    const sent = Array.from({ length: 8 }, () => limiter.consume(drip))
    await eventually(() => limiter.stats().waiting.booked === 8)
    await fail(redis)
    const new_ = await Promise.all(Array.from({ length: 5 }, () => limiter.consume(drip)))
    expect(new_.map(({ source, allowed }) => [source, allowed])).toEqual(Array(5).fill(['closed', false]))
    const decisions = await Promise.all(sent)
    const sources = decisions.map(({ source, allowed }: Decision) => `${source} ${allowed}`)
    // One that was late asked again, and the store did not answer.
    expect(sources.filter((source) => source === 'place true' || source === 'closed false')).toHaveLength(8)
    expect(limiter.stats().waiting).toMatchObject({ now: 0, booked: 8 })
  })
})
